"""Ridge regression with differential privacy: its noise, its bound, its fit, and what it says of itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import models
import numpy as np
import pytest
from normalizing import NOBODY
from scipy import stats
from sklearn.datasets import load_diabetes

from unpooled import run
from unpooled.asking.cohort import Table
from unpooled.fitted.model import Model
from unpooled.methods import questions_of
from unpooled.methods.algorithm import NOT_POOLED
from unpooled.methods.learning.reading import Examples
from unpooled.methods.private_ridge.questions import SumProductsWithNoise
from unpooled.methods.private_ridge.result import private_ridge_of
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.plan.plan import Plan, PlanError
from unpooled.plan.schema import Column

METHOD, FEATURES = "private-ridge", 4
X, Y = load_diabetes(return_X_y=True)
X = np.repeat(X[:, [2, 3, 8, 9]], 4, axis=0)
Y = np.repeat(Y, 4)
LIMITS = [*((-0.15, 0.2),) * FEATURES, (25.0, 346.0)]


def plan_of(**changes: Any) -> Plan:
    # The outcome stands first: its place is not always the last one.
    limits = [LIMITS[-1], *LIMITS[:-1]]
    columns = [Column("y", role="outcome"), *(Column(f"x{k}") for k in range(FEATURES))]
    schema = [replace(c, low=low, high=high) for c, (low, high) in zip(columns, limits, strict=True)]
    return models.plan_of(METHOD, changes.pop("schema", schema), 3, **{"epsilon": 3.0, **changes})


def tables(plan: Plan, seed: int = 0) -> list[Examples]:
    order, found = np.random.default_rng(1).permutation(len(Y)), []
    for k, rows in enumerate(np.split(order, [600, 1300])):
        table: Any = models.table_of(models.cells_of(X[rows], Y[rows]), plan)
        found.append(replace(table, secret=bytes([k, seed % 256]) * 16))
    return found


def scaled() -> np.ndarray:
    """The constant, the features and the outcome, from -1 to 1."""
    low, high = np.array(LIMITS).T
    cut = np.clip(np.column_stack([X, Y]), low, high)
    return np.column_stack([np.ones(len(Y)), (2 * cut - low - high) / (high - low)])


def summed(question: SumProductsWithNoise, parts: list[Table]) -> np.ndarray:
    return np.array([question.local(part)["products"] for part in parts])


def adassp(sums: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
    """AdaSSP of Wang (2018) by noisy sums of products, about the means: coefficients and intercept."""
    n, mean = sums[0, 0], sums[0, 1:] / sums[0, 0]
    S = sums[1:, 1:] - n * np.outer(mean, mean)
    XX, Xy, d = S[:-1, :-1], S[:-1, -1], len(S) - 1
    bound = noise * np.sqrt(d * np.log(2 * d**2 / 0.05))
    least = max(0.0, np.linalg.eigvalsh(XX)[0] - bound)
    w = np.linalg.solve(XX + max(0.0, bound - least) * np.eye(d), Xy)
    return w, mean[-1] - mean[:-1] @ w


def test_a_fit_is_adassp_of_the_sums_with_the_same_noise() -> None:
    plan = plan_of()
    parts, question = tables(plan), SumProductsWithNoise(plan)
    model = private_ridge_of(columns_of("", run.run(plan, NOBODY, parts)), plan)
    # In a study each cohort draws by its own secret, and the question: the same noise comes again.
    upper, sums = np.triu_indices(FEATURES + 2), np.zeros((FEATURES + 2,) * 2)
    sums[upper] = summed(question, parts).sum(axis=0) / question.units
    sums = sums + np.triu(sums, 1).T
    w, b = adassp(sums, question.deviation)
    half = np.array([(high - low) / 2 for low, high in LIMITS])
    found = [feature["coefficients"][0] for feature in model["features"]]
    np.testing.assert_allclose(found, w * half[-1] / half[:-1], rtol=1e-9)
    assert model["intercept"][0] == pytest.approx((25 + 346) / 2 + half[-1] * b, rel=1e-9)
    assert model["people"] == round(sums[0, 0])
    predicted = Model(model).predict(X)
    np.testing.assert_allclose(
        predicted, (25 + 346) / 2 + half[-1] * ((X - 0.025) / half[:-1] @ w + b), rtol=1e-9
    )


def test_its_noise_is_that_of_the_promise_even_without_one_cohorts() -> None:
    plan = plan_of()
    question, z = SumProductsWithNoise(plan), scaled()
    upper = np.triu_indices(FEATURES + 2)
    order = np.random.default_rng(1).permutation(len(Y))
    exact = [
        np.rint(z[rows][:, upper[0]] * z[rows][:, upper[1]] * question.units).sum(axis=0)
        for rows in np.split(order, [600, 1300])
    ]
    noise = np.array([summed(question, tables(plan, seed)) - exact for seed in range(60)]) / question.units
    spread = question.promise.noise * math.sqrt(question.size)  # the longest products of a row
    for colluding in range(3):
        others = np.delete(noise, colluding, axis=1).sum(axis=1)
        assert stats.kstest(others.ravel(), "norm", args=(0, spread)).pvalue > 1e-4
    assert noise.sum(axis=1).std() == pytest.approx(question.deviation, rel=0.07)


def test_no_row_adds_more_than_the_bound() -> None:
    plan = plan_of()
    question = SumProductsWithNoise(plan)
    for values in ([1e300] * 4, [np.inf, -np.inf, 0, 1], [0.2] * 4, [np.nan] * 4):
        one, none = (
            question.local(
                replace(
                    models.table_of(
                        models.cells_of(np.array(rows, float).reshape(-1, FEATURES), [1e9] * len(rows)), plan
                    ),
                    secret=b"k" * 32,
                )
            )["products"]
            for rows in ([values], [])
        )
        assert np.linalg.norm(one - none) <= (question.units + 0.5) * math.sqrt(question.size)


def test_more_epsilon_predicts_better_and_much_predicts_as_least_squares() -> None:
    z = scaled()
    exact, *_ = np.linalg.lstsq(z[:, :-1], z[:, -1], rcond=None)
    best = np.mean((z[:, -1] - z[:, :-1] @ exact) ** 2) / z[:, -1].var()
    error = []
    for epsilon in (1.0, 3.0, 50.0):
        plan, off = plan_of(epsilon=epsilon), []
        for seed in range(8):
            tables_of = run.run(plan, NOBODY, tables(plan, seed))
            predicted = Model(private_ridge_of(columns_of("", tables_of), plan)).predict(X)
            off.append(np.mean((predicted - Y) ** 2) / Y.var())
        error.append(np.mean(off))
    assert error[0] > error[1] > error[2] >= best
    assert error[2] < best + 0.02


def test_it_asks_one_question_and_says_what_it_is() -> None:
    plan = plan_of()
    assert questions_of(plan) == (SumProductsWithNoise,)
    card = models.normalizing.written(plan, tables(plan), "card")
    assert NOT_POOLED in card and "delta 1e-05" in card and "was not measured" in card


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"masking": "gaussian"}, "masking"),
        ({"schema": [Column("x0", low=0.0, high=1.0), Column("y", role="outcome")]}, "schema"),
        ({"schema": [Column("x0", low=0.0, high=1.0)]}, "schema"),
        ({"schema": [Column("y", low=0.0, high=1.0, role="outcome")]}, "schema"),
        (
            {
                "schema": [
                    Column("x0", low=0.0, high=1.0),
                    Column("w", "category", "", "one-hot", ("a", "b")),
                    Column("y", low=0.0, high=1.0, role="outcome"),
                ]
            },
            "schema",
        ),
    ],
)
def test_plans_that_cannot_be_kept(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError) as error:
        plan_of(**changes)
    assert field in error.value.problems
