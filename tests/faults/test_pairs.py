"""A study in which each two cohorts share masks survives kills, and ends with the compensator's bytes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from unpooled.plan.common_options import COHORTS, ENCRYPTED
from unpooled.protocol.encrypted import worker

from .. import launch
from ..federation import SMALL_CHUNK, Federation, Trial
from ..plinks import needed
from ..relay import Relay
from .holds import Hold, assert_as_undisturbed, run_through
from .test_faults import SHARES, lose_before_the_first_release

HELPS = "PUT /api/v1/cohort/helps/"


@pytest.fixture
def pairs(running: Federation, small: tuple[Path, ...]) -> Iterator[Trial]:
    made = running.study(small, chunk_size=SMALL_CHUNK, trust=COHORTS)
    yield made
    made.stop()


def test_a_cohort_is_killed_at_each_place(pairs: Trial, undisturbed: dict[str, bytes]) -> None:
    """The others are killed there, too, and so is the platform."""
    client = pairs.cohorts[1].party
    holds = [
        Hold(client, launch.DELIVER_KEY, "after"),  # the server has the key, and nothing here says so
        Hold(client, launch.DELIVER_BOXES),  # the seed is drawn, and what is sealed is not delivered
        Hold(client, launch.DELIVER_BOXES, "after"),
        Hold(client, launch.OPEN_BOXES),
        Hold(client, launch.KEEP_SHARE),  # computed, and not kept
        Hold(client, launch.ENTER_SHARE),  # in a file, and not in the book
        Hold(client, launch.ENTER_SHARE, "after", passing=1),  # in both, and not sent
        Hold(client, launch.PUT_SHARE, "after", passing=2),  # the server has it, and it is not erased
        Hold(client, launch.ERASE_SHARE, passing=1),
        Hold(client, launch.FETCH, passing=1),
    ]
    run_through(pairs, holds, all_parties=True)
    assert_as_undisturbed(pairs, undisturbed)
    for cohort in pairs.cohorts:
        assert not list((cohort.folder / "state" / "unsent").glob("*")), cohort.name


@pytest.fixture
def encrypted(running: Federation, small: tuple[Path, ...]) -> Iterator[Trial]:
    needed(not worker.problem(), "OpenFHE", "", "scripts/openfhe-python")
    made = running.study(small, chunk_size=SMALL_CHUNK, trust=ENCRYPTED)
    yield made
    made.stop()


def test_a_cohort_is_killed_at_each_place_of_an_encrypted_study(
    encrypted: Trial, undisturbed: dict[str, bytes]
) -> None:
    """The others are killed there, too, and so is the platform; each share and each help is one."""
    trial = encrypted
    relay = Relay(trial.federation.address)
    trial.cohorts[1].through(relay.url)
    client = trial.cohorts[1].party
    holds = [
        Hold(client, launch.PUT_SHARE, "after"),  # the server has it, and the others' are not there
        Hold(client, launch.ENTER_HELP, passing=1),  # in a file, and not in the book
        Hold(client, launch.PUT_HELP, "after"),  # the server has it, and it is not erased
        Hold(trial.federation.web, launch.KEEP_HELP),
        Hold(trial.federation.worker, launch.TOTAL),
    ]
    run_through(trial, holds, all_parties=True)
    assert_as_undisturbed(trial, undisturbed)
    for start in (SHARES, HELPS):
        sent = {each.request.line: each.request.body for each in relay.found(start)}
        assert sent and all(sent[each.request.line] == each.request.body for each in relay.found(start))
    for cohort in trial.cohorts:
        assert not list((cohort.folder / "state" / "unsent").glob("*")), cohort.name
    relay.close()


def test_replies_get_lost(pairs: Trial, undisturbed: dict[str, bytes]) -> None:
    relay = Relay(pairs.federation.address)
    pairs.cohorts[0].through(relay.url)
    for start in ("PUT /api/v1/cohort/sealed ", "GET /api/v1/cohort/boxes ", SHARES):
        relay.lose_reply(start)
        relay.lose_request(start)
    pairs.start()
    assert_as_undisturbed(pairs, undisturbed)
    assert len(relay.lost) == 6
    sent = {}
    for each in [*relay.found(SHARES), *(lost for lost in relay.lost if lost.asks(SHARES))]:
        assert sent.setdefault(each.request.line, each.request.body) == each.request.body
    relay.close()


def test_a_state_lost_before_the_first_sum_makes_all_accept_and_seal_again(
    pairs: Trial, undisturbed: dict[str, bytes]
) -> None:
    lose_before_the_first_release(pairs, undisturbed)


def test_a_cohort_that_is_away_pauses_the_study(pairs: Trial, undisturbed: dict[str, bytes]) -> None:
    """It goes on when the cohort does: none can be left out, as its masks would stay in the sum."""
    last = pairs.cohorts[2]
    hold = Hold(last.party, launch.PUT_SHARE, passing=2)
    hold.close(pairs)
    pairs.start()
    hold.await_reached(pairs)
    last.party.kill()
    kept = shutil.copytree(last.folder / "state", last.folder / "kept")
    assert list((kept / "unsent").iterdir())
    hold.gate(pairs).open()
    last.party.start()
    assert_as_undisturbed(pairs, undisturbed)
