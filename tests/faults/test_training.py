"""A network is trained while parties are killed: it ends with the same weights, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from .. import launch
from ..federation import Federation, Trial
from .holds import Hold, assert_as_undisturbed, run_through

FEATURES, PEOPLE = 3, 150
PLAN = {
    "test": "network",
    "trait": "none",
    "phenotype": "",
    "panel_mode": "none",
    "files": ["model", "weights"],
    "training_rounds": 10,
    "validation_folds": 2,
    "people_in_a_round": 100,
    "schema": [*({"name": f"x{k}"} for k in range(FEATURES)), {"name": "y", "role": "outcome"}],
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder, random = tmp_path_factory.mktemp("tables"), np.random.default_rng(5)
    paths = tuple(folder / f"table{k}.csv" for k in range(3))
    for path in paths:
        x = random.normal(size=(PEOPLE, FEATURES))
        y = np.sin(x[:, 0]) + x[:, 1] + random.normal(0, 0.3, PEOPLE)
        head = ",".join(column["name"] for column in PLAN["schema"])  # type: ignore[attr-defined]
        np.savetxt(path, np.column_stack([x, y]), "%.17g", ",", header=head, comments="")
    return paths


@pytest.fixture(scope="module")
def undisturbed(running: Federation, tables: tuple[Path, ...]) -> dict[str, bytes]:
    trial = running.study(tables, **PLAN)
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()
    return trial.cohorts[0].results()


@pytest.fixture
def training(running: Federation, tables: tuple[Path, ...]) -> Iterator[Trial]:
    made = running.study(tables, **PLAN)
    yield made
    made.stop()


def test_server_and_cohorts_are_killed_between_rounds(training: Trial, undisturbed: dict[str, bytes]) -> None:
    worker, clients = training.federation.worker, [cohort.party for cohort in training.cohorts]
    holds = [
        Hold(worker, launch.CONCLUDE, passing=9),  # a sum of gradients is there, and nothing is stored of it
        Hold(clients[0], launch.TOLD, "after", passing=1),
        Hold(clients[1], launch.ENTER_QUESTION, "after", passing=1),  # what it then computes is the same
        Hold(worker, launch.CONCLUDE, "after", passing=1),
    ]
    run_through(training, holds, all_parties=False)
    assert_as_undisturbed(training, undisturbed)
    assert "study.weights.safetensors" in undisturbed
