"""A dishonest dealer: a cohort flips a bit of what it deals, to bring a rare value into all dictionaries.

Three people of the pool have it, and none of its own. Before spares were sacrificed and rows were compared in
a secret order, the value was in everybody's results with its count.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..federation import Federation, Trial
from ..leaks import FLIPPED
from .diagnoses import USUAL, encoding, study

RARE = "hiv"


@pytest.fixture
def trial(running: Federation, tmp_path: Path) -> Iterator[Trial]:
    others = [[RARE] * people for people in (0, 2, 1)]
    with study(running, tmp_path, others, levels=sorted((*USUAL, RARE))) as made:
        yield made


def test_three_people_stay_below_the_floor(trial: Trial) -> None:
    trial.start()
    trial.until_over()
    column = encoding(trial)
    assert RARE in column["folded"] and min(column["counts"]) > 10


def test_whoever_deals_and_flips_the_bit_of_a_value_is_named(trial: Trial) -> None:
    for cohort in trial.cohorts:
        trial.federation.stub(cohort.party.name, FLIPPED)
    trial.start()
    trial.until_over()
    assert trial.state == "failed", trial.story()
    assert "products that were dealt twice differ: what cohort" in trial.reason
    assert not any(cohort.results() for cohort in trial.cohorts)
