"""Joining: keys, rosters, second clients, lost states, compensators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from client_cable import Cable
from client_trials import Trial, ended
from test_engine_faults import await_event, kill_after

from unpooled_client.network import api
from unpooled_client.state.events import Exit, Failed, Finished, Joined, ReviewNeeded, Sent, Waiting
from unpooled_client.study import joining


def test_two_clients_never_share_a_state(trial: Trial) -> None:
    member = trial.members[0]
    thread = member.beside()
    await_event(member, Waiting)
    second = list(member.engine().run())
    assert isinstance(second[-1], Failed)
    assert second[-1].exit == Exit.USAGE
    assert "another client is running" in second[-1].message
    trial.abort(thread)


def test_a_second_client_of_a_cohort_is_refused_while_the_first_lives(
    trial: Trial, tmp_path: Path, monkeypatch: object
) -> None:
    member = trial.members[0]
    thread = member.beside()
    await_event(member, Waiting)
    joining._PATIENCE_WITH_OTHERS, patience = 1.0, joining._PATIENCE_WITH_OTHERS
    try:
        other = replace(member, folder=tmp_path / "other", events=[])
        last = other.run()
    finally:
        joining._PATIENCE_WITH_OTHERS = patience
    assert isinstance(last, Failed)
    assert last.exit == Exit.REFUSED
    assert "Another client" in last.message
    assert not other.told(Sent)
    trial.abort(thread)


def test_a_lost_state_joins_anew_only_when_told_to(trial: Trial, pooled: dict[str, bytes]) -> None:
    first, *others = trial.members
    threads = [member.beside() for member in others[:1]]
    kill_after(first, "waiting")
    instance = first.state.load().instance
    first.state.file.unlink()
    refused = first.run(as_instance(first.engine(), instance))
    assert isinstance(refused, Failed)
    assert "--join-anew" in refused.remedy
    third = others[1].beside()
    await_event(others[0], ReviewNeeded)
    again = as_instance(first.engine(join_anew=True), instance)
    assert isinstance(first.run(again), Finished), first.events[-1]
    ended(*threads, third)
    reviews = others[0].told(ReviewNeeded)
    assert len({review.roster_hash for review in reviews}) == 2
    assert reviews[-1].roster_hash == first.told(ReviewNeeded)[-1].roster_hash
    assert first.results() == others[0].results() == pooled


def as_instance(engine: object, instance: str) -> object:
    """The server takes a new instance for a second client for a minute; a test need not wait so long."""
    begin = engine._begin  # type: ignore[attr-defined]

    def begin_as_before() -> object:
        session = begin()
        session.api._client.headers["Unpooled-Client"] = instance
        return session

    engine._begin = begin_as_before  # type: ignore[attr-defined]
    return engine


def test_an_invitation_with_another_compensator_joins_nothing(trial: Trial) -> None:
    member = trial.members[0]
    member.invitation = replace(member.invitation, compensator=" ".join(["abcd"] * 8))
    last = member.run()
    assert isinstance(last, Failed)
    assert last.exit == Exit.REFUSED
    assert "fingerprint" in last.message
    assert not member.told(Joined)
    assert not member.state.exists()
    assert "joined" not in trial.log()


def test_an_unknown_token_is_refused(trial: Trial) -> None:
    member = trial.members[0]
    member.invitation = replace(member.invitation, token="x" * 43)
    last = member.run()
    assert isinstance(last, Failed)
    assert last.exit == Exit.REFUSED
    assert "token" in last.message
    assert not member.state.exists()


def test_polls_pass_through_a_cable(trial: Trial, cable: Cable) -> None:
    """The traffic that is counted is what goes over the wire."""
    member = cable.through(trial.members[0])
    connection = api.Api(member.invitation, "ab" * 16)
    connection.study()
    assert connection.traffic.sent == sum(map(len, cable.requests))
