"""Models of more columns than products are asked for: by conjugate gradients, and the same."""

from __future__ import annotations

from typing import Any

import models
import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from unpooled.algorithms.learning import questions
from unpooled.algorithms.learning.questions import MOST_COLUMNS, SumProducts
from unpooled.algorithms.learning.wide_questions import ProjectColumns, SumWithOutcome
from unpooled.plan import PlanError
from unpooled.schema import Column

NEAR = 1e-9
"""Relative to the largest coefficient."""


def schema(features: int, outcome: str, levels: int) -> list[Column]:
    """Features, and a category of so many levels, of which the first three occur."""
    words = tuple(f"w{k:04}" for k in range(levels))
    return models.schema_of(features, outcome, Column("ward", "category", "", "one-hot", words))


def drawn(rows: int, outcome: str) -> dict[str, Any]:
    """Nine columns that go along with one another, of very different units, and cells that are missing."""
    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, 9)) @ (np.eye(9) + 0.4 * random.normal(size=(9, 9)))
    x = x * np.geomspace(1e-3, 1e4, 9) + 1e3
    ward = random.integers(0, 3, rows)
    y = x[:, 8] / 1e4 + ward + random.normal(size=rows)
    x[random.random(x.shape) < 0.02] = np.nan
    if outcome != "number":
        names = np.array(outcome.split("|"))
        y = names[np.digitize(y, np.quantile(y, np.arange(1, len(names)) / len(names)))]
    return {**models.cells_of(x, y), "ward": np.array(["w0000", "w0001", "w0002"])[ward]}


def dealt(cells: dict[str, Any], cohorts: int, how: str) -> list[dict[str, Any]]:
    rows = len(cells["y"])
    order = np.argsort(cells["y"], kind="stable") if how == "sorted" else np.arange(rows)
    few = max(20 * (cohorts - 1), rows // 101)
    parts = (
        [order[few:], *np.array_split(order[:few], cohorts - 1)]
        if how == "unequal"
        else np.array_split(order, cohorts)
    )
    return [{name: of[part] for name, of in cells.items()} for part in parts]


METHODS = [("ridge", "number"), ("ridge", "a|b|c"), ("fedheonn", "a|b")]


@pytest.mark.parametrize(("method", "outcome"), METHODS)
@pytest.mark.parametrize(("cohorts", "how"), [(3, "even"), (20, "sorted"), (3, "unequal")])
def test_the_model_is_that_of_the_products(
    method: str, outcome: str, cohorts: int, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = dealt(drawn(6000, outcome), cohorts, how)
    more = {"penalties": (30.0, 1.0, 0.01), "missing_words": "rest"}
    plan = models.plan_of(method, schema(9, outcome, 3), cohorts, **more)
    direct = models.fit(plan, cells)
    monkeypatch.setattr(questions, "MOST_COLUMNS", 5)
    assert not SumProducts.foreseen(plan, None).questions
    wide = models.fit(plan, cells)
    a, b = models.coefficients(direct), models.coefficients(wide)
    deviations = np.array([feature["deviation"] for feature in direct["features"]])[:, None]
    assert np.abs((a - b) * deviations).max() < NEAR * np.abs(a * deviations).max()
    np.testing.assert_allclose(wide["intercept"], direct["intercept"], rtol=NEAR, atol=1e-12)
    for name in ("penalty", "error", "error_deviation", "variance", "people", "rows"):
        assert wide[name] == pytest.approx(direct[name], rel=NEAR), name
    for of in zip(direct["performance"]["scores"], wide["performance"]["scores"], strict=True):
        assert of[0]["rows"] == of[1]["rows"]


def test_more_columns_than_products_can_be_asked_for() -> None:
    random, features = np.random.default_rng(3), MOST_COLUMNS + 1
    x = random.normal(size=(10 * features, features))
    y = x[:, :40].sum(axis=1) + 5 * random.normal(size=len(x))
    plan = models.plan_of("ridge", models.schema_of(features), 3, penalties=(1.0,), validation_folds=2)
    found = models.fit(plan, [models.cells_of(x[k::3], y[k::3]) for k in range(3)])
    scaler = StandardScaler().fit(x)
    wanted = Ridge(len(x), solver="cholesky").fit(scaler.transform(x), y).coef_ / scaler.scale_
    assert np.abs(models.coefficients(found)[:, 0] - wanted).max() < NEAR * np.abs(wanted).max()


def test_what_is_asked_of_a_plan_follows_from_its_schema() -> None:
    wide, narrow = (models.plan_of("ridge", schema(2, "number", n), 3) for n in (MOST_COLUMNS, 3))
    design = {plan: SumProducts.widest(plan) for plan in (wide, narrow)}
    assert SumWithOutcome(design[wide]).agrees(wide) and not SumWithOutcome(design[narrow]).agrees(narrow)
    assert not design[wide].agrees(wide) and design[narrow].agrees(narrow)
    assert not ProjectColumns.foreseen(narrow, None).questions


def test_sums_cannot_be_had_of_so_many_columns() -> None:
    with pytest.raises(PlanError, match="products are not asked for"):
        models.plan_of("ridge", schema(2, "number", MOST_COLUMNS), 4, files=("model", "sums"))
