"""The measurement behind docs/skew.md: how rows are dealt, and what scaling them together comes to."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from unpooled.algorithms.tables.census import FEWEST_COHORTS, FEWEST_VALUES

from .conftest import documentation_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return documentation_script("measure_skew")


@pytest.mark.parametrize("cohorts", [10, 30])
def test_every_cohort_has_rows_however_they_are_dealt(script: ModuleType, cohorts: int) -> None:
    """And three have so many to train on that a study asks for sums over them."""
    data = script.Data(*script.TABLES["wine"]())
    for skew in script.SKEWS:
        for seed in range(5):
            random = np.random.default_rng(seed)
            cohort = skew.deal(data, cohorts, random)
            sizes = np.bincount(cohort, minlength=cohorts)
            assert len(sizes) == cohorts and sizes.min() >= script.FEWEST, skew.title
            train, _ = script.split(cohort, random)
            trained = np.bincount(cohort[train], minlength=cohorts)
            assert np.sum(trained >= FEWEST_VALUES) >= FEWEST_COHORTS, skew.title


@pytest.mark.parametrize("cohorts", [10, 30])
def test_ranges_are_apart(script: ModuleType, cohorts: int) -> None:
    """Also where three cohorts have more rows than their share."""
    data = script.Data(*script.TABLES["wine"]())
    x = np.arange(178.0)[:, None] * [1, 0]
    cohort = script.by_feature(script.Data(x, data.y), cohorts, np.random.default_rng(0))
    assert np.all(np.abs(np.diff(cohort)) <= 1) and len(np.unique(cohort)) == cohorts


def test_skews_are_what_they_are_called(script: ModuleType) -> None:
    data = script.Data(*script.TABLES["breast cancer"]())

    def dealt(title: str) -> np.ndarray:
        (skew,) = (skew for skew in script.SKEWS if skew.title == title)
        return np.asarray(skew.deal(data, 10, np.random.default_rng(0)))

    def cases(cohort: np.ndarray) -> float:
        return float(np.std([data.y[cohort == k].mean() for k in range(10)]))

    def sizes(cohort: np.ndarray) -> float:
        return float(np.std(np.bincount(cohort)))

    assert sizes(dealt("none")) < 1 < sizes(dealt("quantity, β = 5")) < sizes(dealt("quantity, β = 0.5"))
    assert cases(dealt("none")) < cases(dealt("label, β = 5")) < cases(dealt("label, β = 0.5"))
    largest = [data.x[dealt("ranges apart") == k, 0].mean() for k in (0, 9)]
    assert max(largest) > 1.5 * min(largest)


def test_scaled_together_the_model_is_that_of_the_pooled_table(script: ModuleType) -> None:
    (skew,) = (skew for skew in script.SKEWS if skew.title == "label, β = 0.5")
    (found, *_) = script.measure("wine", skew, 10, seed=1)
    random = np.random.default_rng([1, 10])
    data = script.Data(*script.TABLES["wine"]())
    cohort = skew.deal(data, 10, random)
    train, test = script.split(cohort, random)
    pool = StandardScaler().fit(data.x[train])
    model = LogisticRegression(max_iter=2000).fit(pool.transform(data.x[train]), data.y[train])
    pooled = f1_score(data.y[test], model.predict(pool.transform(data.x[test])), average="macro")
    assert found.f1["together"] == pytest.approx(pooled)
    assert found.f1["at home"] < pooled
