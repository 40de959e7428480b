"""Logistic regression, a model, z-scores and compared sums through faults of each kind but kills.

Each study is struck in the same places, one after the other, and ends with the bytes of one that is not:

| Phase | Struck |
| --- | --- |
| asking | a cohort's line is cut, a cohort's disk is full, the database is away, the clock is a day ahead |
| adding up | the compensator stands still, its line is cut, the store is away |
| writing | the worker's disk is full, the web application stands still |
| delivering | the clock is a day behind, a cohort's line is cut |

Where it cannot go on it is paused meanwhile, with the reason. Kills are in test_faults, test_comparisons and
test_training.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled.plan.plan import Plan

from .. import launch, services
from ..federation import ABOUT_THE_RUN, PASSWORD, Federation, Trial
from ..in_process import run_study, write
from ..leaks import CLOCK
from ..patience import until
from ..relay import Relay
from ..services import PostgreSQL, Stores
from .holds import Hold, assert_as_undisturbed
from .test_store import ObjectStore, objects  # noqa: F401  # a fixture

NUMBERS = [{"name": f"x{k}"} for k in range(3)]
TABLE = {"trait": "none", "phenotype": "", "panel_mode": "none"}
LABEL = {"name": "y", "type": "category", "role": "outcome", "levels": ["u", "v"]}
PLANS: dict[str, dict[str, Any]] = {
    "logistic": {"test": "logistic"},
    "model": {**TABLE, "test": "logistic-model", "files": ["model"], "schema": [*NUMBERS, LABEL]},
    "z-score": {**TABLE, "test": "z-score", "files": ["parameters"], "schema": NUMBERS},
    "compared": {**TABLE, "test": "min-max", "opens": "bits", "files": ["parameters"], "schema": NUMBERS},
}


def tables(folder: Path, plan: dict[str, Any]) -> tuple[Path, ...]:
    """Write three cohorts' tables: numbers, and labels that follow from them where the plan has any."""
    random, paths = np.random.default_rng(29), tuple(folder / f"table{k}.csv" for k in range(3))
    for path in paths:
        x = random.normal(size=(60, 3))
        label = np.where(x[:, 0] + random.normal(size=60) > 0, "u", "v")
        rows = [[*map(repr, row), word] for row, word in zip(x.tolist(), label, strict=True)]
        names = [column["name"] for column in plan["schema"]]
        path.write_text("".join(f"{','.join(row[: len(names)])}\n" for row in [names, *rows]))
    return paths


@pytest.fixture(scope="module")
def database() -> Iterator[PostgreSQL]:
    services.skip_where_missing()
    with services.postgresql() as running:
        yield running


@pytest.fixture(scope="module")
def exposed(
    database: PostgreSQL,
    objects: ObjectStore,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Federation]:
    """A platform with PostgreSQL and an object store, whose clock can be set."""
    made = Federation(tmp_path_factory.mktemp("exposed"), Stores(database.create_database("exposed")))
    made.environment |= objects.settings("exposed")
    made.web.environment = made.worker.environment = made.environment
    for party in (made.web, made.worker):
        made.stub(party.name, CLOCK)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def set_clock(platform: Federation, days: int) -> None:
    """Set the platform's clock; sessions may have ended then, or not have begun."""
    (draft := platform.home / "clock.draft").write_text(str(days))
    draft.replace(platform.home / "clock")
    platform.coordinator.sign_in("admin", PASSWORD)


def undisturbed(trial: Trial, folder: Path) -> dict[str, bytes]:
    """Return the result files of the same study in one process."""
    (written := folder / "written").mkdir()
    ((plan,),) = trial.federation.rows("SELECT plan_json FROM unpooled_server_study WHERE id = ?", trial.id)
    paths = [str(cohort.prefix) for cohort in trial.cohorts]
    kind = "--table" if paths[0].endswith(".csv") else "--bfile"
    write(run_study(Plan.from_json(plan), [[kind, path] for path in paths]), written)
    found = [path for path in written.iterdir() if not path.name.endswith(ABOUT_THE_RUN)]
    return {path.name: path.read_bytes() for path in found}


@pytest.mark.parametrize("name", PLANS)
def test_a_study_is_struck_at_each_phase(
    name: str,
    exposed: Federation,
    database: PostgreSQL,
    objects: ObjectStore,  # noqa: F811
    small: tuple[Path, ...],
    tmp_path: Path,
) -> None:
    plan = PLANS[name]
    cohorts = tables(tmp_path, plan) if "schema" in plan else small
    trial = exposed.study(cohorts, **plan)
    relay = Relay(exposed.address)
    trial.cohorts[0].through(relay.url)
    try:
        asking(trial, relay, database)
        adding_up(trial, objects)
        writing(trial)
        delivering(trial, relay)
        assert_as_undisturbed(trial, undisturbed(trial, tmp_path))
    finally:
        set_clock(exposed, 0)
        trial.stop()
        relay.close()


def held(trial: Trial, *holds: Hold) -> None:
    for hold in holds:
        hold.close(trial)


def until_paused(trial: Trial, reason: str) -> None:
    query = "SELECT state, reason FROM unpooled_server_study WHERE id = ?"

    def is_paused() -> bool:
        ((state, why),) = trial.federation.rows(query, trial.id)
        return state == "paused" and reason in why

    trial.until(is_paused, f"paused: {reason}")


def asking(trial: Trial, relay: Relay, database: PostgreSQL) -> None:
    platform = trial.federation
    first, second, third = (cohort.party for cohort in trial.cohorts)
    holds = Hold(first, launch.PUT_SHARE), Hold(second, launch.PUT_SHARE), Hold(third, launch.ENTER_QUESTION)
    held(trial, *holds, Hold(platform.worker, launch.MARK_RELEASED))
    trial.start()
    for hold in holds:
        hold.await_reached(trial)
    with relay.cut() as is_felt:
        holds[0].gate(trial).open()
        trial.until(is_felt, "a request is lost")
    with third.without_disk():
        holds[2].gate(trial).open()
        assert third.wait() != 0  # it cannot say why: what it prints is on that disk, too
    with database.party.away():
        holds[1].gate(trial).open()
        until(lambda: "the database does not answer" in platform.web.said(), platform.web.said)
    set_clock(platform, 1)
    third.start()


def adding_up(trial: Trial, objects: ObjectStore) -> None:  # noqa: F811
    platform = trial.federation
    marking = Hold(platform.worker, launch.MARK_RELEASED)
    writing = Hold(platform.worker, launch.WRITE_RESULT)
    held(trial, writing)
    marking.await_reached(trial)
    with platform.compensator.stopped():
        marking.gate(trial).open()
        trial.until(lambda: trial.rounds().get("released"), "the compensator is asked")
        marking.close(trial)
    with platform.to_compensator.cut():
        marking.gate(trial).open()
        until_paused(trial, "the compensator does not answer")
        marking.close(trial)
    marking.await_reached(trial)
    with objects.away():
        marking.gate(trial).open()
        until_paused(trial, "The platform cannot use its store: the store does not answer.")


def writing(trial: Trial) -> None:
    platform = trial.federation
    hold, following = Hold(platform.worker, launch.WRITE_RESULT), Hold(platform.worker, launch.PUBLISH)
    hold.await_reached(trial)
    held(trial, following)
    with platform.worker.without_disk():
        hold.gate(trial).open()
        until_paused(trial, "The platform cannot use its disk (File too large)")
    following.await_reached(trial)
    held(trial, Hold(trial.cohorts[0].party, launch.FETCH))
    with platform.web.stopped():
        following.gate(trial).open()
        state = "SELECT state FROM unpooled_server_study WHERE id = ?"
        trial.until(lambda: platform.rows(state, trial.id) == [("done",)], "it is done")


def delivering(trial: Trial, relay: Relay) -> None:
    hold = Hold(trial.cohorts[0].party, launch.FETCH)
    hold.await_reached(trial)
    lasted = "SELECT ended_at - created_at FROM unpooled_server_study WHERE id = ?"
    ((time,),) = trial.federation.rows(lasted, trial.id)
    assert time > timedelta(days=1)
    set_clock(trial.federation, -1)
    with relay.cut() as is_felt:
        hold.gate(trial).open()
        trial.until(is_felt, "a request is lost")
