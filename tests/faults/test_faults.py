"""`kill -9`, lost replies and late messages at every phase of a study: it ends with the same bytes.

Every party is a process of its own. A party is held where a kill hurts most, between two lines that must not
come apart (tests/launch.py); meanwhile the others are killed one after the other, and then it is. Each is
started again with the same command.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from unpooled_client.state.events import Exit

from .. import launch, services
from ..federation import SMALL_CHUNK, Cohort, Federation, Trial, UnpooledUp, federation
from ..parties import Party
from ..relay import Relay
from ..services import Stores
from ..starting import Program, run
from .holds import Hold, assert_as_undisturbed, run_through

SHARES = "PUT /api/v1/cohort/shares/"


# Kills


def joining(trial: Trial) -> bool:
    return trial.states() == ["joined", "joined", "invited"]


def accepting(trial: Trial) -> bool:
    return trial.states() == ["ready", "ready", "joined"]


def agreeing_on_variants(trial: Trial) -> bool:
    return trial.state == "open"


def counting_people(trial: Trial) -> bool:
    return trial.rounds() == {"open": 1} and len(trial.shares()) == 2


def counting_genotypes(trial: Trial) -> bool:
    return trial.rounds().get("open", 0) > 2 and trial.rounds()["aggregated"] > 2


def adding_up(trial: Trial) -> bool:
    return trial.rounds().get("released", 0) > 0


def writing_files(trial: Trial) -> bool:
    return set(trial.rounds()) == {"aggregated"} and trial.state == "running"


def delivering(trial: Trial) -> bool:
    return trial.state == "done"


EMBEDDED, SERVICES = "SQLite and the embedded worker", "PostgreSQL, Redis and Celery"


@pytest.fixture(params=[EMBEDDED, SERVICES])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Federation]:
    """A federation all of whose parties may be killed."""
    with contextlib.ExitStack() as stack:
        stores, parties = Stores(), list[Party]()
        if request.param == SERVICES:
            services.skip_where_missing()
            postgres = stack.enter_context(services.postgresql())
            redis = stack.enter_context(services.redis())
            stores = Stores(postgres.create_database("own"), redis.url())
            parties = [postgres.party, redis.party]
        yield stack.enter_context(federation(tmp_path / "federation", stores, parties))


def test_each_party_is_killed_at_each_phase(
    own: Federation, small: tuple[Path, ...], undisturbed: dict[str, bytes]
) -> None:
    trial = own.study(small, chunk_size=SMALL_CHUNK)
    worker = own.worker
    middle, last = (cohort.party for cohort in trial.cohorts[1:])
    holds = [
        Hold(last, launch.JOIN, is_at=joining),
        Hold(last, launch.ACCEPT, is_at=accepting),
        Hold(worker, launch.SETTLE_PANEL, is_at=agreeing_on_variants),
        Hold(last, launch.PUT_SHARE, is_at=counting_people),
        Hold(middle, launch.PUT_SHARE, passing=4, is_at=counting_genotypes),
        Hold(worker, launch.TOTAL, passing=2, is_at=adding_up),
        Hold(worker, launch.WRITE_RESULT, passing=2, is_at=writing_files),
        Hold(last, launch.FETCH, passing=2, is_at=delivering),
    ]
    try:
        run_through(trial, holds, all_parties=True)
        assert_as_undisturbed(trial, undisturbed)
    finally:
        trial.stop()


@pytest.mark.services
def test_each_party_is_killed_between_two_lines_that_must_not_come_apart(
    trial: Trial, undisturbed: dict[str, bytes]
) -> None:
    client, compensator = trial.cohorts[0].party, trial.federation.compensator
    web, worker = trial.federation.web, trial.federation.worker
    holds = [
        Hold(client, launch.DELIVER_SEED),  # the seed is drawn, and not yet delivered
        Hold(worker, launch.KEEP_WITNESS),  # the compensator has the seeds, and the server does not know
        Hold(worker, launch.KEEP_WITNESS, "after"),
        Hold(compensator, launch.RECORD_RELEASE, "after"),  # the release is recorded, and not answered
        Hold(web, launch.ENTER),  # the bytes are on disk, the row is not
        Hold(web, launch.COMMIT, "after"),  # the row is committed, and nobody was told
        Hold(client, launch.PUT_SHARE, "after"),
        Hold(worker, launch.CONCLUDE),
        Hold(worker, launch.CONCLUDE, "after"),
        Hold(worker, launch.PUBLISH),  # the files are written, and none is published
        Hold(worker, launch.PUBLISH, "after"),
    ]
    run_through(trial, holds, all_parties=False)
    assert_as_undisturbed(trial, undisturbed)


def test_cohorts_are_killed_while_they_are_enrolled_and_while_they_follow(
    trial: Trial, undisturbed: dict[str, bytes]
) -> None:
    clients = [cohort.party for cohort in trial.cohorts]
    enrolling = Hold(trial.federation.worker, launch.KEEP_WITNESS)
    asked = [Hold(client, launch.OPEN_WITNESS) for client in clients]  # enrolled, and nothing is answered
    following = [
        Hold(clients[0], launch.TOLD, "after"),  # a sum was told, and is not verified
        Hold(clients[1], launch.ENTER_QUESTION, passing=1),  # it is, and the book has no question from it
        Hold(clients[2], launch.ENTER_QUESTION, "after", passing=1),  # the book has one, without an answer
    ]
    enrolling.close(trial)
    trial.start()
    enrolling.await_reached(trial)
    for hold, client in zip(asked, clients, strict=True):
        client.kill()
        hold.close(trial)
        client.start()
    enrolling.gate(trial).open()
    for hold, later in zip(asked, following, strict=True):
        hold.await_reached(trial)
        later.close(trial)
    assert not trial.shares()
    for hold in asked:
        hold.kill(trial)
    for hold in following:
        hold.await_reached(trial)
    assert len(trial.shares()) == len(clients)  # to the one question that follows from no sum
    for hold in following:
        hold.kill(trial)
    assert_as_undisturbed(trial, undisturbed)


def test_two_workers_alternate(
    own: Federation, small: tuple[Path, ...], undisturbed: dict[str, bytes]
) -> None:
    """Each is killed in the middle of a sum, and the other goes on from what is stored."""
    trial = own.study(small, chunk_size=SMALL_CHUNK)
    busy, other = own.worker, own.another_worker("other-worker")
    hold = Hold(busy, launch.CONCLUDE, passing=1)
    hold.close(trial)
    trial.start()
    try:
        for _ in range(4):
            hold.await_reached(trial)
            following = Hold(other, launch.CONCLUDE, passing=2)
            following.close(trial)
            other.start()
            busy.kill()
            hold.gate(trial).open()
            busy, other, hold = other, busy, following
        hold.await_reached(trial)
        hold.gate(trial).open()
        assert_as_undisturbed(trial, undisturbed)
    finally:
        trial.stop()
        for worker in (busy, other):
            worker.stop()


@pytest.mark.services
def test_unpooled_up_is_killed_and_started_again(
    small: tuple[Path, ...], undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        platform = UnpooledUp(tmp_path / "federation", services.fresh_stores())
        stack.callback(platform.stop)
        platform.start()
        trial = platform.study(small, chunk_size=SMALL_CHUNK)
        stack.callback(trial.stop)
        trial.start()
        trial.until(lambda: trial.rounds().get("aggregated", 0) > 2, "chunks are in flight")
        acknowledged = trial.shares()
        orphans = platform.up.kill_alone()
        platform.up.start()
        assert trial.shares() >= acknowledged
        assert_as_undisturbed(trial, undisturbed)
        trial.until(lambda: not orphans(), "what it had started has ended by itself")


# Messages that get lost, come late or come twice


@pytest.fixture
def relay(trial: Trial) -> Iterator[Relay]:
    """Relay through which the first cohort reaches the server."""
    laid = Relay(trial.federation.address)
    trial.cohorts[0].through(laid.url)
    yield laid
    laid.close()


COHORT = "/api/v1/cohort/"


def test_replies_get_lost_everywhere(trial: Trial, relay: Relay, undisturbed: dict[str, bytes]) -> None:
    requests = ["GET study", "POST join", "POST accept", "PUT panel/digest", "PUT panel/list", "GET panel"]
    requests += ["GET questions", "PUT shares/", "PUT shares/", "GET results/study.assoc"]
    of_cohort = [request.replace(" ", f" {COHORT}") for request in requests]
    of_server = [f"{method} /v1/studies/{trial.id}" for method in ("PUT", "POST", "POST", "DELETE")]
    to_compensator = trial.federation.to_compensator
    for start in of_cohort:
        relay.lose_reply(start)
    for start in of_server:
        to_compensator.lose_reply(start)
    trial.start()
    assert_as_undisturbed(trial, undisturbed)
    trial.until(lambda: "the seeds at the compensator are deleted" in trial.log(), "the seeds are deleted")
    assert len(relay.lost) == len(of_cohort)
    assert len([exchange for exchange in to_compensator.lost if trial.id in exchange.request.line]) == 4
    # What was sent again were the same bytes under the same nonce.
    assert len(relay.found(SHARES)) == trial.rounds()["aggregated"] + 2
    assert len({exchange.request.body for exchange in relay.found(SHARES)}) == trial.rounds()["aggregated"]


def test_shares_that_come_late_or_twice_change_nothing(
    trial: Trial, relay: Relay, undisturbed: dict[str, bytes]
) -> None:
    client = trial.cohorts[0]
    gate = client.gate(launch.PUT_SHARE)
    for _ in range(4):  # delayed on its way for longer than the client lives, which may try again meanwhile
        relay.lose_request(SHARES)
    gate.close(passing=1)
    trial.start()
    trial.until(lambda: relay.lost, "a share is under way")
    client.party.kill()
    gate.open()
    client.party.start()
    trial.until(lambda: len(relay.found(SHARES)) > 3, "shares are there")
    late = relay.lost[0].request
    first = relay.found(SHARES)[0].request
    assert late.line == first.line
    assert late.body != first.body, "computed again, so under another nonce"
    for again in (late, first, relay.found(SHARES)[2].request):
        assert relay.send(again).line == "200"
    assert_as_undisturbed(trial, undisturbed)
    for again in (late, first):
        assert relay.send(again).line in ("200", "410")
    assert trial.state == "done"


# A cohort that lost its state


def lose_state(cohort: Cohort) -> None:
    """Its client is killed, its state folder is gone, and a minute has passed since it was heard."""
    cohort.party.kill()
    cohort.federation.web.restart()  # no request of the dead client is being answered any more
    shutil.rmtree(cohort.folder / "state")
    forget = "UPDATE unpooled_server_cohort SET instance = '' WHERE name = ? AND study_id = ?"
    cohort.federation.rows(forget, cohort.name, cohort.folder.parent.name)
    cohort.more = ["--join-anew"]
    cohort.through(cohort.invitation.server)


def accept_anew(cohort: Cohort) -> None:
    """Its client has ended, for --yes covers no changed roster; a person accepts that one."""
    assert cohort.party.wait() == Exit.USAGE, cohort.party.said()
    assert "the roster changed and must be accepted again" in cohort.party.said()
    state = ["--state", str(cohort.folder / "state")]
    said = run(Program("unpooled_client", ["join", "--wait", "--json", *state]), says="yes\n")
    assert said.returncode == Exit.DONE, said.stderr


def lose_before_the_first_release(trial: Trial, undisturbed: dict[str, bytes]) -> list[str]:
    """Run a study whose second cohort loses its state; the fingerprints of before.

    All shares of the first round are there then; the release is not asked for yet.
    """
    hold = Hold(trial.federation.worker, launch.MARK_RELEASED)
    hold.close(trial)
    trial.start()
    hold.await_reached(trial)
    loser = trial.cohorts[1]
    keys = [member["fingerprint"] for member in trial.call("GET")["cohorts"]]
    lose_state(loser)
    loser.party.start()
    trial.until(lambda: "the roster is fixed again" in trial.log(), "a new roster")
    for cohort in trial.cohorts:
        if cohort is not loser:
            accept_anew(cohort)
            cohort.party.start()
    hold.gate(trial).open()
    trial.until_over()
    assert trial.state == "done", trial.story()
    for cohort in trial.cohorts:
        assert cohort.results() == undisturbed
    return keys


def test_a_state_lost_before_the_first_release_fixes_the_roster_anew(
    trial: Trial, undisturbed: dict[str, bytes]
) -> None:
    keys = lose_before_the_first_release(trial, undisturbed)
    changed = [member["fingerprint"] for member in trial.call("GET")["cohorts"]]
    assert [a == b for a, b in zip(keys, changed, strict=True)] == [True, False, True]
    assert trial.log().count("accepted the plan and the roster") == 6


def test_a_state_lost_after_the_first_release_fails_the_study_with_the_reason(trial: Trial) -> None:
    loser = trial.cohorts[1]
    gate = loser.gate(launch.PUT_SHARE)
    gate.close(passing=3)
    trial.start()
    trial.until(lambda: gate.is_reached and trial.rounds().get("aggregated", 0) > 1, "sums were released")
    lose_state(loser)
    loser.party.start()
    trial.until_over()
    assert trial.state == "failed"
    assert "cohort2 came back with another key after the first release" in trial.reason
    for cohort in trial.cohorts:
        assert cohort.party.wait() == 4, cohort.party.said()
        assert "came back with another key" in cohort.party.said()
        assert not cohort.results()
    assert trial.call("GET", "results") == []
