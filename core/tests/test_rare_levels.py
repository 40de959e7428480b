"""A level of a covariate that few people of the pool have is refused before anything is summed over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from unpooled.algorithms.regression import Census
from unpooled.cohort import ArrayCohort, Samples
from unpooled.errors import DisclosureError
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan
from unpooled.run import run

LEVELS = ("chow", "fat", "sugar")
COVARIATES = (Covariate("age"), Covariate("diet", LEVELS), Covariate("site", ("a", "b")))
PANEL = Panel.of([(1, k, b"v%d" % k, b"A", b"G") for k in range(5)])


def study(test: str, sizes: Sequence[int], missing: int = 0) -> None:
    """Run a study of so many people with each diet, of whom `missing` of the last lack a phenotype."""
    random = np.random.default_rng(2)
    diet = np.repeat(range(len(LEVELS)), sizes)
    n = len(diet)
    columns = [random.normal(size=n), diet == 1, diet == 2, np.arange(n) % 2]
    phenotype = random.permutation(n) % 2.0
    phenotype[n - missing :] = np.nan
    copies = random.binomial(2, 0.4, (len(PANEL), n)).astype(np.int8)
    cohorts = []
    for k in (np.arange(n)[part::3] for part in range(3)):
        everyone = np.ones(len(k), bool)
        samples = Samples(
            phenotype[k],
            np.ones(len(k), np.uint8),
            everyone,
            everyone,
            np.column_stack(columns).astype(float)[k],
        )
        cohorts.append(ArrayCohort(samples, copies[:, k], np.zeros(len(PANEL), bool)))
    trait = "quantitative" if test == "linear" else "case/control"
    run(Plan(test, "y", 3, bytes(32), trait=trait, covariates=COVARIATES), PANEL, cohorts)


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_ten_people_are_enough(test: str) -> None:
    study(test, (10, 30, 10))


@pytest.mark.parametrize("test", ["linear", "logistic"])
@pytest.mark.parametrize(
    ("sizes", "missing", "level"),
    [
        ((9, 30, 30), 0, "chow"),
        ((30, 9, 30), 0, "fat"),
        ((30, 30, 12), 3, "sugar"),
        ((30, 30, 0), 0, "sugar"),
    ],
    ids=["reference", "another", "with complete data", "nobody"],
)
def test_nine_are_not(test: str, sizes: tuple[int, ...], missing: int, level: str) -> None:
    with pytest.raises(DisclosureError) as caught:
        study(test, sizes, missing)
    assert f"the level {level} of the covariate diet" in str(caught.value)
    assert not {"9", "0"} & set(str(caught.value).replace("10", "").split())


def test_a_cohort_answers_only_if_every_level_is_looked_at() -> None:
    plan = Plan("linear", "y", 3, bytes(32), trait="quantitative", covariates=COVARIATES)
    assert plan.dummies == (1, 2, 3)
    assert Census("quantitative", (1, 2, 3)).agrees(plan)
    assert not Census("quantitative", ()).agrees(plan)
    assert not Census("quantitative", (1, 3)).agrees(plan)
