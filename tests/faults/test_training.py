"""A network is trained while parties are killed: it ends with the same weights, to the byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from unpooled.plan.common_options import COHORTS, ENCRYPTED
from unpooled.protocol.encrypted import worker

from .. import launch
from ..federation import Federation, Trial
from ..plinks import needed
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


def trained(running: Federation, paths: tuple[Path, ...], plan: dict[str, Any]) -> dict[str, bytes]:
    """The files of a study in which nobody is killed."""
    trial = running.study(paths, **plan)
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()
    return trial.cohorts[0].results()


@pytest.fixture
def training(running: Federation) -> Iterator[Callable[[tuple[Path, ...], dict[str, Any]], Trial]]:
    made: list[Trial] = []

    def begin(paths: tuple[Path, ...], plan: dict[str, Any]) -> Trial:
        made.append(running.study(paths, **plan))
        return made[-1]

    yield begin
    for trial in made:
        trial.stop()


def holds_of(trial: Trial) -> list[Hold]:
    worker, clients = trial.federation.worker, [cohort.party for cohort in trial.cohorts]
    return [
        Hold(worker, launch.CONCLUDE, passing=9),  # a sum of gradients is there, and nothing is stored of it
        Hold(clients[0], launch.TOLD, "after", passing=1),
        Hold(clients[1], launch.ENTER_QUESTION, "after", passing=1),  # what it then computes is the same
        Hold(worker, launch.CONCLUDE, "after", passing=1),
    ]


def test_server_and_cohorts_are_killed_between_rounds(
    running: Federation, training: Any, tables: tuple[Path, ...]
) -> None:
    undisturbed, trial = trained(running, tables, PLAN), training(tables, PLAN)
    run_through(trial, holds_of(trial), all_parties=False)
    assert_as_undisturbed(trial, undisturbed)
    assert "study.weights.safetensors" in undisturbed


RIDGE = {
    **{name: PLAN[name] for name in ("trait", "phenotype", "panel_mode")},
    "test": "private-ridge",
    "files": ["model"],
    "epsilon": 3.0,
    "schema": [{**column, "low": -4, "high": 4} for column in PLAN["schema"]],  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("trust", [COHORTS, ENCRYPTED])
def test_a_model_survives_kills_without_a_compensator(
    training: Any, tables: tuple[Path, ...], trust: str
) -> None:
    """Its cohorts draw noise: each share is counted once, with the noise with which it was first sent."""
    if trust == ENCRYPTED:
        needed(not worker.problem(), "OpenFHE", "", "scripts/openfhe-python")
    trial = training(tables, {**RIDGE, "trust": trust})
    client = trial.cohorts[0].party
    holds = [
        Hold(client, launch.KEEP_SHARE),  # computed, and not kept
        # Kept, and not sent: there is one round, whose sum the worker may take as soon as it was.
        Hold(client, launch.PUT_SHARE),
        Hold(trial.federation.worker, launch.TOTAL),
    ]
    run_through(trial, holds, all_parties=False)
    trial.until_over()
    assert_as_undisturbed(trial, trial.cohorts[0].results())
    assert "study.model.json" in trial.cohorts[0].results()


IMAGES = {
    **PLAN,
    "test": "image-network",
    "architecture": "knconv-wide",  # whose sums and states are so large that they do not stay
    "schema": [
        {"name": "file", "type": "image", "encoding": "1x8x8"},
        {"name": "label", "type": "category", "role": "outcome", "levels": ["bright", "dark"]},
    ],
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Images that are bright on the one side or on the other."""
    pytest.importorskip("torch")
    folder, random = tmp_path_factory.mktemp("images"), np.random.default_rng(6)
    paths = tuple(folder / f"images{k}" for k in range(3))
    for path in paths:
        for number in range(80):
            label = ("bright", "dark")[number % 2]
            (path / label).mkdir(parents=True, exist_ok=True)
            pixels = random.integers(0, 256, (8, 8)) // 2
            pixels[:, 4 * (number % 2) :][:, :4] += 90
            Image.fromarray(pixels.astype(np.uint8)).save(path / label / f"{number}.png")
    return paths


def test_states_and_sums_in_files_outlive_kills(
    running: Federation, training: Any, folders: tuple[Path, ...]
) -> None:
    undisturbed, trial = trained(running, folders, IMAGES), training(folders, IMAGES)
    home = running.folder / "home" / "studies" / trial.id
    seen = []

    def files_are_few(trial: Trial) -> bool:
        states = [len(list((cohort.folder / "state" / "states").iterdir())) for cohort in trial.cohorts]
        told = [path for path in (home / "told").iterdir() if path.stat().st_size > 1 << 20]
        seen.append((len(list((home / "states").iterdir())), len(told), states))
        return True

    *holds, last = holds_of(trial)
    run_through(trial, [*holds, replace(last, is_at=files_are_few)], all_parties=False)
    assert_as_undisturbed(trial, undisturbed)
    assert undisturbed["study.weights.safetensors"]
    [(in_server, told, states)] = seen
    assert 2 <= in_server <= 5  # two states and a question; a kill may leave two more behind
    assert 1 <= told <= 3
    assert states == [2, 2, 2]
    trial.until(lambda: not (home / "states").exists(), "what is kept of branches is deleted")
    assert not any(path for cohort in trial.cohorts for path in (cohort.folder / "state/states").iterdir())
