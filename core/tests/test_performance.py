"""Performance of models from masked counts, against scikit-learn on the pooled table and the same folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import cells_of, fit, plan_of, schema_of, table_of, tables_of
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from unpooled.methods.learning.options import VALIDATION_FOLDS
from unpooled.methods.learning.performance import auc
from unpooled.methods.learning.result import wilson
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column


def dealt(x: np.ndarray, y: np.ndarray, cohorts: int, by: np.ndarray) -> list[dict[str, Any]]:
    """The rows in an order, dealt to cohorts of unequal sizes."""
    order = np.argsort(by, kind="stable")
    ends = np.cumsum(1 + np.arange(cohorts)) / (cohorts * (cohorts + 1) / 2)
    return [cells_of(x[rows], y[rows]) for rows in np.split(order, (ends[:-1] * len(x)).astype(int))]


def held_out(plan: Plan, parts: list[dict[str, Any]], model: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The scores of the pooled rows, each by a fit of the same penalty to the other folds; and the classes.

    The fit is FedHEONN's closed form, on the standardised pooled table; tests/fuzz has those of scikit-learn.
    """
    tables = [table_of(part, plan) for part in parts]
    x = np.vstack([table.values for table in tables])
    classes = np.concatenate([table.classes for table in tables])
    folds = np.concatenate([table.folds for table in tables])
    deviation = x.std(axis=0)
    z = np.divide(x - x.mean(axis=0), deviation, out=np.zeros_like(x), where=deviation > 0)
    count = int(classes.max()) + 1
    of = np.arange(count)[-1:] if count == 2 else np.arange(count)
    wanted = np.where(classes[:, None] == of, 1.0, -1.0)
    scores = np.empty(wanted.shape)
    for fold in range(VALIDATION_FOLDS.of(plan)):
        own = folds == fold
        scores[own] = _predicted(z[~own], wanted[~own], z[own], model["penalty"])
    return scores, classes


def _predicted(x: np.ndarray, y: np.ndarray, new: np.ndarray, penalty: float) -> np.ndarray:
    ones, slope = np.column_stack([np.ones(len(x)), x]), 0.95 * 0.05
    left = slope**2 * ones.T @ ones + penalty * np.eye(ones.shape[1])
    w = np.linalg.solve(left, slope**2 * ones.T @ (np.log(19) * y))
    return np.asarray(np.column_stack([np.ones(len(new)), new]) @ w)


REAL = [(load_breast_cancer, 1, "0|1", 5, 0.012), (load_wine, 3, "0|1|2", 3, 0.06)]


@pytest.mark.parametrize(("load", "times", "names", "cohorts", "widest"), REAL)
@pytest.mark.parametrize("is_sorted", [False, True])
def test_the_auc_of_the_pool_lies_within_its_bounds(
    load: Any, times: int, names: str, cohorts: int, widest: float, is_sorted: bool
) -> None:
    x, y = (np.concatenate([each] * times) for each in load(return_X_y=True))
    by = y if is_sorted else np.random.default_rng(1).permutation(len(y))
    parts = dealt(x, y.astype(str), cohorts, by)
    plan = plan_of("fedheonn", schema_of(x.shape[1], names), cohorts, validation_folds=3)
    model = fit(plan, parts)
    scores, classes = held_out(plan, parts, model)
    first = len(names.split("|")) - scores.shape[1]
    for k, (found, score) in enumerate(zip(model["performance"]["scores"], scores.T, strict=True), first):
        right = roc_auc_score(classes == k, score)
        assert found["auc_low"] - 1e-12 <= right <= found["auc_high"] + 1e-12
        assert found["auc_high"] - found["auc_low"] < widest
        assert abs(found["auc"] - right) < widest / 4
        assert found["of"] == names.split("|")[k]
        assert sum(found["rows"]) == len(y) and sum(found["observed"]) == (classes == k).sum()
        assert min(found["rows"]) >= 10


def test_brier_score_and_calibration_are_those_of_the_pooled_rows() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    parts = dealt(x, y.astype(str), 4, np.random.default_rng(2).permutation(len(y)))
    plan = plan_of("fedheonn", schema_of(x.shape[1], "0|1"), 4)
    model = fit(plan, parts)
    scores, classes = held_out(plan, parts, model)
    p = 1 / (1 + np.exp(-scores[:, 0]))
    found = model["performance"]
    assert found["brier"] == pytest.approx(brier_score_loss(classes, p), rel=1e-9)
    (score,) = found["scores"]
    assert sum(score["expected"]) == pytest.approx(p.sum(), rel=1e-9)
    order = np.argsort(p)
    ends = np.cumsum(score["rows"])
    expected = [p[order[end - n : end]].sum() for end, n in zip(ends, score["rows"], strict=True)]
    observed = [classes[order[end - n : end]].sum() for end, n in zip(ends, score["rows"], strict=True)]
    assert score["expected"] == pytest.approx(expected, abs=1e-9) and score["observed"] == observed
    groups = score["calibration"]
    assert len(groups) == 10 and sum(group["rows"] for group in groups) == len(y)
    assert all(group["low"] <= group["observed"] <= group["high"] for group in groups)


def test_calibration_of_a_number_is_of_means() -> None:
    x, y = load_diabetes(return_X_y=True)
    y = 1e6 + y  # far from 0
    parts = dealt(x, y, 3, np.random.default_rng(3).permutation(len(y)))
    plan = plan_of("ridge", schema_of(x.shape[1]), 3)
    model = fit(plan, parts)
    (score,) = model["performance"]["scores"]
    n = np.array(score["rows"])
    assert n.sum() == len(y) and sum(score["observed"]) == pytest.approx(y.sum(), rel=1e-12)
    assert "auc" not in score and model["performance"]["brier"] is None
    groups = score["calibration"]
    assert groups[0]["observed"] < groups[-1]["observed"] and groups[0]["low"] is None
    seen = np.array([group["observed"] for group in groups])
    hoped = np.array([group["expected"] for group in groups])
    assert np.corrcoef(seen, hoped)[0, 1] > 0.95


def test_auc_from_counts_is_that_of_scores_that_are_ties_within_a_range() -> None:
    random = np.random.default_rng(5)
    score, case = random.integers(0, 12, 400), random.random(400) < 0.3
    counts = [np.bincount(score[which], minlength=12) for which in (case, ~case)]
    low, point, high = auc(*counts)
    assert point == pytest.approx(roc_auc_score(case, score), abs=1e-12)
    assert low < point < high
    spread = score + random.random(400)
    assert low <= roc_auc_score(case, spread) <= high


@pytest.mark.parametrize(("cases", "n"), [(0, 12), (1, 10), (7, 9), (50, 50), (3, 1000)])
def test_intervals_are_wilsons(cases: int, n: int) -> None:
    assert wilson(cases, n) == pytest.approx(proportion_confint(cases, n, method="wilson"), abs=1e-12)


def one_feature(x: np.ndarray) -> list[dict[str, Any]]:
    """A table of one feature in four cohorts."""
    random = np.random.default_rng(8)
    y = (x + random.normal(size=len(x)) > 0).astype(int)
    return dealt(x[:, None], y.astype(str), 4, random.permutation(len(x)))


def test_nobody_reads_a_range_that_few_people_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three people between all others have ranges of their own: these are joined to the next.

    Without a floor they could be read.
    """
    x = np.random.default_rng(9).normal(scale=0.5, size=400) + np.repeat([-3, 3], 200)
    x[:3] = 0, 0.01, 0.02
    plan = plan_of("fedheonn", schema_of(1, "0|1"), 4, validation_folds=2, penalties=(0.1,))
    assert tables_of(plan, one_feature(x))["ranges"]["rows"].min() >= 10
    monkeypatch.setattr("unpooled.methods.learning.performance.FEWEST_AT_A_LEVEL", 1)
    assert tables_of(plan, one_feature(x))["ranges"]["rows"].min() <= 3


def test_people_are_counted_not_rows() -> None:
    """The forty highest rows are one patient's: they are in a range with nine other people or more."""
    x = np.random.default_rng(9).normal(size=400)
    x[np.argsort(x)[-40:]] += 4  # above all others, whichever fold has them
    parts, limit = one_feature(x), np.sort(x)[-40]
    for k, part in enumerate(parts):
        part["who"] = [
            "often here" if x >= limit else f"{k} {row}" for row, x in enumerate(part["x0"].tolist())
        ]
    schema = [Column("who", "text", role="patient"), *schema_of(1, "0|1")]
    plan = plan_of("fedheonn", schema, 4, validation_folds=2, penalties=(0.1,))
    rows = tables_of(plan, parts)["ranges"]["rows"]
    assert len(rows) > 5 and rows[-1] >= 40 + 9
    without = tables_of(plan_of("fedheonn", schema_of(1, "0|1"), 4, validation_folds=2), parts)["ranges"]
    assert without["rows"][-1] <= 40
