"""A study of which nobody reads a sum, with real parties: kills at every turn, lost replies, a slow line.

As in test_faults a party is held between two lines that must not come apart, killed there, and started anew.
What was sent to the compensator, and what it answered, is the same to the byte however often it is repeated.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from unpooled.plan.common_options import COHORTS, ENCRYPTED
from unpooled.protocol.encrypted import worker

from .. import launch
from ..federation import Federation, Trial
from ..leaks import DEALING
from ..plinks import needed
from ..relay import Message, Relay
from .holds import Hold, assert_as_undisturbed, run_through

FEATURES = 3
ROUNDS, TURNS = 8, 3
"""Rounds of these studies whose sums are compared, and messages each way in one."""
PLAN = {
    "test": "min-max",
    "trait": "none",
    "phenotype": "",
    "panel_mode": "none",
    "opens": "bits",
    "files": ["parameters"],
    "schema": [{"name": f"feature {k}"} for k in range(FEATURES)],
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Three cohorts' tables, with ties, missing values and numbers far apart."""
    folder, random = tmp_path_factory.mktemp("tables"), np.random.default_rng(23)
    paths = tuple(folder / f"table{k}.csv" for k in range(3))
    for path, people in zip(paths, (40, 60, 90), strict=True):
        columns = [random.normal(size=people), random.integers(0, 3, people), random.lognormal(3, 9, people)]
        rows = [[repr(float(value)) for value in row] for row in zip(*columns, strict=True)]
        rows[3][1] = ""
        head = ",".join(column["name"] for column in PLAN["schema"])
        path.write_text("\n".join([head, *map(",".join, rows)]) + "\n")
    return paths


def pooled(tables: Sequence[Path]) -> np.ndarray:
    return np.concatenate([np.genfromtxt(path, delimiter=",", skip_header=1) for path in tables])


@pytest.fixture
def unseen(running: Federation, tables: tuple[Path, ...]) -> Iterator[Trial]:
    made = running.study(tables, **PLAN)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def undisturbed_by_bits(running: Federation, tables: tuple[Path, ...]) -> dict[str, bytes]:
    """The result files where nothing goes wrong: those of the same study by sums."""
    found = []
    for opens in ("bits", "sums"):
        trial = running.study(tables, **{**PLAN, "opens": opens})
        trial.start()
        trial.until_over()
        assert trial.state == "done", trial.story()
        found.append(trial.cohorts[0].results())
    assert found[0] == found[1] and "study.parameters.json" in found[0]
    return found[0]


def turns(trial: Trial) -> dict[str, list[tuple[bytes, bytes]]]:
    """Collect the answered messages of comparisons with their answers, by address and round."""
    found = defaultdict(list)
    for exchange in trial.federation.to_compensator.found(f"POST /v1/studies/{trial.id}/comparisons"):
        if exchange.status == 200 and exchange.answer:
            address, body = exchange.request.line, exchange.request.body
            number = int.from_bytes(body[:4], "little")
            # The first turns of all rounds have one address: their requests tell the rounds apart.
            key = address if "/turns/" in address else f"{address} {body[4 : 4 + number].hex()}"
            found[key].append((body, exchange.answer.body))
    return found


def assert_repeated_to_the_byte(trial: Trial, least: int) -> None:
    """Whatever was repeated, at least so many turns, was the same in both directions."""
    found = turns(trial)
    assert all(len(set(seen)) == 1 for seen in found.values())
    assert sum(len(seen) > 1 for seen in found.values()) >= least
    assert len(found) == ROUNDS * TURNS


@pytest.mark.parametrize("trust", [COHORTS, ENCRYPTED])
def test_parties_are_killed_where_the_same_is_summed_up_without_a_compensator(
    running: Federation, tables: tuple[Path, ...], undisturbed_by_bits: dict[str, bytes], trust: str
) -> None:
    if trust == ENCRYPTED:
        needed(not worker.problem(), "OpenFHE", "", "scripts/openfhe-python")
    trial = running.study(tables, **{**PLAN, "opens": "sums", "trust": trust})
    client = trial.cohorts[2].party
    holds = [
        Hold(client, launch.ENTER_SHARE, passing=1),  # in a file, and not in the book
        Hold(client, launch.PUT_HELP if trust == ENCRYPTED else launch.PUT_SHARE, "after", passing=1),
        Hold(trial.federation.worker, launch.TOTAL),
    ]
    run_through(trial, holds, all_parties=False)
    assert_as_undisturbed(trial, undisturbed_by_bits)
    trial.stop()


@pytest.mark.services
def test_server_and_compensator_are_killed_at_each_turn(
    unseen: Trial, undisturbed_by_bits: dict[str, bytes]
) -> None:
    worker, compensator = unseen.federation.worker, unseen.federation.compensator
    holds = [
        Hold(worker, launch.OPEN),
        Hold(compensator, launch.RECORD_RELEASE, "after"),  # the first turn is recorded, and not answered
        Hold(compensator, launch.ANSWER_TURN, "after"),
        Hold(worker, launch.OPEN, "after"),
    ]
    for turn in range(TURNS - 1):  # the second and the third
        holds += [
            Hold(worker, launch.TURN, "after", passing=turn),
            Hold(compensator, launch.RECORD_TURN, passing=turn),
            Hold(compensator, launch.RECORD_TURN, "after", passing=turn),
            Hold(compensator, launch.ANSWER_TURN, "after", passing=turn + 1),
        ]
    run_through(unseen, holds, all_parties=False)
    assert_as_undisturbed(unseen, undisturbed_by_bits)
    assert_repeated_to_the_byte(unseen, least=TURNS - 1)


def test_cohorts_and_web_are_killed_at_a_dealing(
    unseen: Trial, undisturbed_by_bits: dict[str, bytes]
) -> None:
    first, second, third = (cohort.party for cohort in unseen.cohorts)
    web = unseen.federation.web
    holds = [
        Hold(first, launch.ENTER_DEALING, "after"),  # it is in the book, and not sent
        Hold(second, launch.PUT_DEALING, "after"),  # it is sent, and the share is not
        Hold(third, launch.PUT_DEALING),
        Hold(web, launch.KEEP_DEALING),
        Hold(web, launch.KEEP_DEALING, "after"),  # it is on disk, and nobody was told
    ]
    run_through(unseen, holds, all_parties=False)
    assert_as_undisturbed(unseen, undisturbed_by_bits)
    assert_repeated_to_the_byte(unseen, least=0)


def test_replies_of_the_compensator_get_lost_at_every_turn(
    unseen: Trial, undisturbed_by_bits: dict[str, bytes]
) -> None:
    relay = unseen.federation.to_compensator
    before = len(relay.lost)
    relay.lose_reply(f"POST /v1/studies/{unseen.id}/comparisons ")
    unseen.start()
    unseen.until(lambda: turns(unseen), "rounds are compared")
    numbers = {line.split("/turns/")[0] for line in list(turns(unseen)) if "/turns/" in line}
    for address in numbers:
        for turn in range(2, TURNS + 1):
            relay.lose_reply(f"{address}/turns/{turn} ")
    assert_as_undisturbed(unseen, undisturbed_by_bits)
    assert len(relay.lost) > before
    assert_repeated_to_the_byte(unseen, least=1)


def test_the_ledger_lists_what_was_dealt(unseen: Trial, undisturbed_by_bits: dict[str, bytes]) -> None:
    """Every dealing is a line, sent in clear, and as many bytes as the server counts arrived."""
    from unpooled_client.state import ledger

    unseen.start()
    assert_as_undisturbed(unseen, undisturbed_by_bits)
    dealt = 0
    for cohort in unseen.cohorts:
        entries = list(ledger.read(cohort.folder / "state" / "ledger.jsonl"))
        dealings = [entry for entry in entries if entry.quantity.endswith("randomness for comparing")]
        assert {entry.form for entry in dealings} <= {"in clear"}
        dealt += len(dealings)
    assert dealt == 8


def test_a_cohort_that_deals_falsely_is_named_and_no_result_comes_of_it(unseen: Trial) -> None:
    liar = unseen.cohorts[1]
    unseen.federation.stub(liar.party.name, DEALING)
    unseen.start()
    unseen.until_over()
    assert unseen.state == "failed", unseen.story()
    assert f"what {liar.name} dealt for this comparison is not right" in unseen.reason
    assert not any(cohort.results() for cohort in unseen.cohorts)


DELAY = 0.02
"""Seconds that a message is on its way, there and back together."""


def late(request: Message, answer: Message) -> Message:
    time.sleep(DELAY)
    return answer


@pytest.fixture
def slow(unseen: Trial) -> Iterator[Trial]:
    """The same study, with a delay between all parties."""
    to_compensator = unseen.federation.to_compensator
    relays = [Relay(unseen.federation.address) for _ in unseen.cohorts]
    for cohort, relay in zip(unseen.cohorts, relays, strict=True):
        cohort.through(relay.url)
    honest = to_compensator.change
    for relay in (to_compensator, *relays):
        relay.change = late
    yield unseen
    to_compensator.change = honest
    for relay in relays:
        relay.close()


def test_a_slow_line_costs_a_round_trip_a_turn(
    slow: Trial, undisturbed_by_bits: dict[str, bytes], record_property: Callable[[str, object], None]
) -> None:
    slow.start()
    assert_as_undisturbed(slow, undisturbed_by_bits)
    found = slow.call("GET", "traffic")
    (row,) = found["comparisons"]
    assert (row["rounds"], row["turns"]) == (ROUNDS, ROUNDS * TURNS)
    assert row["slowest"] > DELAY and row["seconds"] > ROUNDS * TURNS * DELAY
    for name, seconds in (("turns", row["seconds"]), ("rounds", found["seconds"]["server"]["rounds"])):
        record_property(f"seconds of {name}", seconds)
