"""A dishonest dealer: a cohort flips a bit of what it deals, to bring a rare value into all dictionaries.

Three people of the pool have it, and none of its own. Before spares were sacrificed and rows were compared in
a secret order, the value was in everybody's results with its count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ..federation import Federation, Trial
from ..leaks import FLIPPED

LEVELS = ("asthma", "copd", "hiv", "none")
PLAN = {
    "test": "encode",
    "trait": "none",
    "phenotype": "",
    "panel_mode": "none",
    "files": ["encoding"],
    "schema": [
        {"name": "diagnosis", "type": "category", "encoding": "one-hot", "levels": list(LEVELS)},
    ],
}


@pytest.fixture
def trial(running: Federation, tmp_path: Path) -> Iterator[Trial]:
    random, paths = np.random.default_rng(2), [tmp_path / f"table{k}.csv" for k in range(3)]
    for path, rare in zip(paths, (0, 2, 1), strict=True):
        cells = ["hiv"] * rare + random.choice(["asthma", "copd", "none"], 80).tolist()
        path.write_text("\n".join(["diagnosis", *cells]) + "\n")
    made = running.study(paths, **PLAN)
    yield made
    made.stop()


def test_three_people_stay_below_the_floor(trial: Trial) -> None:
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()
    (column,) = json.loads(trial.cohorts[0].results()["study.encoding.json"])["columns"]
    assert "hiv" in column["folded"] and min(column["counts"]) > 10


def test_whoever_deals_and_flips_the_bit_of_a_value_is_named(trial: Trial) -> None:
    for cohort in trial.cohorts:
        trial.federation.stub(cohort.party.name, FLIPPED)
    trial.start()
    trial.until_over()
    assert trial.state == "failed", trial.story()
    assert "products that were dealt twice differ: what cohort" in trial.reason
    assert not any(cohort.results() for cohort in trial.cohorts)
