"""Kills, lost connections and changed files: nothing is lost, nothing is sent twice under one mask."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from client_cable import Cable
from client_trials import Member, Trial, ended

from tests.patience import PATIENCE, until
from unpooled_client.state import ledger
from unpooled_client.state.events import (
    Accepted,
    Event,
    Exit,
    Failed,
    Finished,
    Joined,
    PanelAgreed,
    Paused,
    Reachable,
    Unreachable,
    Waiting,
)

MakeStudy = Callable[..., Trial]


def lines(member: Member) -> Iterator[dict[str, object]]:
    """The events of a client process, to be killed by leaving the loop."""
    process = member.process()
    clock = threading.Timer(PATIENCE, process.kill)
    clock.start()
    assert process.stdout is not None
    try:
        for line in process.stdout:
            yield json.loads(line)
    finally:
        process.kill()
        process.communicate()
        clock.cancel()


def kill_after(member: Member, event: str) -> None:
    """Run a client process and kill it (-9) right after an event."""
    for line in lines(member):
        assert line["event"] != "failed", line
        if line["event"] == event:
            return
    raise AssertionError(f"the client ended before {event}")


def test_a_client_killed_again_and_again_never_uses_a_nonce_twice(
    study: MakeStudy, pooled: dict[str, bytes], cable: Cable
) -> None:
    trial = study(chunk_size=40)
    victim, *others = trial.members
    cable.through(victim)
    threads = [member.beside() for member in others]
    for _ in range(3):
        kill_after(victim, "step-progress")
    assert isinstance(victim.run(), Finished), victim.events[-1]
    assert victim.told(Joined)[0].again
    ended(*threads)
    assert victim.results() == pooled
    masked = [entry for entry in ledger.read(victim.state.ledger) if entry.form == "masked"]
    assert len({entry.sha256 for entry in masked}) == len(masked)
    nonces = [
        head.split(b"Unpooled-Nonce: ")[1][:32]
        for request in cable.requests
        if b"Unpooled-Nonce: " in (head := request.split(b"\r\n\r\n")[0])
    ]
    assert len(nonces) >= len(set(nonces)) >= 13


def test_a_lost_reply_is_asked_for_again_with_the_same_bytes(
    trial: Trial, pooled: dict[str, bytes], cable: Cable
) -> None:
    member = cable.through(trial.members[0])
    cable.lose = [b"PUT /api/v1/cohort/shares", b"PUT /api/v1/cohort/shares", b"POST /api/v1/cohort/accept"]
    trial.run_all()
    assert not cable.lose
    assert member.results() == pooled
    entries = list(ledger.read(member.state.ledger))
    rounds = [entry.round for entry in entries if entry.round]
    assert len(rounds) == len(set(rounds))
    links = [link for link in trial.call("GET", "traffic")["links"] if link["party"] == member.name]
    assert sum(link["messages"] for link in links) == len(entries) + 3  # the server got these twice


def test_a_server_that_does_not_answer_is_waited_for(
    trial: Trial, pooled: dict[str, bytes], cable: Cable
) -> None:
    member, *others = trial.members
    cable.through(member)
    thread = member.beside()
    await_event(member, Waiting)
    cable.cut()
    await_event(member, Unreachable)
    trouble = member.told(Unreachable)[0]
    assert trouble.server == cable.url
    assert "no connection" in trouble.reason or "broke" in trouble.reason
    cable.mend()
    await_event(member, Reachable)
    threads = [other.beside() for other in others]
    ended(thread, *threads)
    assert member.results() == pooled


def test_a_file_that_changed_since_acceptance_stops_the_client(
    trial: Trial, pooled: dict[str, bytes], tmp_path: Path
) -> None:
    victim, *others = trial.members
    victim.bfile = copied(victim.bfile, tmp_path)
    threads = [member.beside() for member in others]
    kill_after(victim, "step-progress")
    fam = victim.bfile.with_suffix(".fam")
    before = fam.read_bytes()
    fam.write_bytes(before.replace(b" 2\n", b" 1\n", 1))
    last = victim.run()
    assert isinstance(last, Failed)
    assert (last.exit, last.told_server) == (Exit.DATA, "data-changed")
    assert "fam" in last.message
    trial.await_log("changed after they were accepted")
    assert str(fam) not in trial.log()
    fam.write_bytes(before)  # another time, the same content
    assert isinstance(victim.run(), Finished), victim.events[-1]
    ended(*threads)
    assert victim.results() == pooled


def test_a_file_that_changes_while_the_client_runs_stops_it(trial: Trial, tmp_path: Path) -> None:
    victim, *others = trial.members
    victim.bfile = copied(victim.bfile, tmp_path)
    thread = victim.beside()
    others[0].beside()
    await_event(victim, Waiting)
    others[1].beside()
    await_event(victim, Accepted)
    bim = victim.bfile.with_suffix(".bim")
    bim.write_bytes(bim.read_bytes() + b"1 another 0 1 A C\n")
    thread.join(PATIENCE)
    last = victim.events[-1]
    assert isinstance(last, Failed | Finished)  # the change may come after the last answer
    assert isinstance(last, Finished) or last.told_server == "data-changed"
    if isinstance(last, Failed):
        trial.call("POST", "abort")


def test_other_options_than_accepted_are_refused(study: MakeStudy, tmp_path: Path) -> None:
    from unpooled_client.data.options import DataOptions

    trial = study()
    victim = trial.members[0]
    for member in trial.members[1:]:
        member.beside()
    kill_after(victim, "accepted")
    last = victim.run(victim.engine(options=DataOptions(bfile=victim.bfile, one=True)))
    assert isinstance(last, Failed)
    assert last.exit == Exit.DATA
    assert "--1" in last.message
    trial.call("POST", "abort")


def test_a_pause_is_told_and_ends(study: MakeStudy, pooled: dict[str, bytes]) -> None:
    trial = study(chunk_size=10)
    member = trial.members[0]
    threads = [each.beside() for each in trial.members]
    await_event(member, PanelAgreed)
    trial.call("POST", "pause")
    await_event(member, Paused)
    trial.call("POST", "resume")
    ended(*threads)
    assert isinstance(member.events[-1], Finished)
    assert member.results() == pooled


def copied(prefix: Path, folder: Path) -> Path:
    copy = folder / "copy"
    for suffix in (".bed", ".bim", ".fam"):
        copy.with_suffix(suffix).write_bytes(prefix.with_suffix(suffix).read_bytes())
    return copy


def await_event(member: Member, kind: type[Event]) -> None:
    until(lambda: member.told(kind) or member.told(Failed), lambda: str(member.events))
    assert not member.told(Failed), member.events[-1]
