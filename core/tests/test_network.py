"""Networks on tables: the weights of every round are those of training on the pool; floors and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import models
import numpy as np
import pytest
from normalizing import NOBODY
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from unpooled import run
from unpooled.fitted.network import Network, start
from unpooled.methods.learning.network_questions import SumGradient
from unpooled.methods.learning.reading import Examples
from unpooled.plan.plan import Plan

METHOD = "network"
Step = Callable[[np.ndarray, np.ndarray], np.ndarray]


def pool(load: Callable[..., Any], columns: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = load(return_X_y=True)
    if len(y) < 400:  # enough people of each class beside those of any one cohort
        x, y = np.repeat(x, 3, axis=0), np.repeat(y, 3)
        x = x + np.random.default_rng(1).normal(0, 0.2, x.shape) * x.std(axis=0)
    return x[:, :columns], y


def by_outcome(y: np.ndarray) -> list[np.ndarray]:
    """Three cohorts of unequal size, whose outcomes overlap as little as floors allow."""
    noise = np.random.default_rng(2).normal(0, 1.2 * y.std(), len(y))
    return np.split(np.argsort(y + noise, kind="stable"), [len(y) // 2, len(y) * 4 // 5])


def study(x: np.ndarray, y: np.ndarray, **options: Any) -> tuple[Plan, list[Examples]]:
    """A plan, and its cohorts; of whole numbers as outcome, classes."""
    of_classes = y.dtype.kind == "i"
    names = "|".join(f"c{k}" for k in range(y.max() + 1)) if of_classes else "number"
    plan = models.plan_of(METHOD, models.schema_of(x.shape[1], names), 3, **options)
    outcome: Any = np.array([f"c{k}" for k in y]) if of_classes else y
    parts = (models.cells_of(x[rows], outcome[rows]) for rows in by_outcome(y))
    tables: Any = [models.table_of(cells, plan) for cells in parts]
    return plan, tables


def descent(rate: float, momentum: float) -> Step:
    moving: Any = 0.0

    def step(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        nonlocal moving
        moving = momentum * moving + gradient
        return weights - rate * moving

    return step


def adam(rate: float) -> Step:
    """Adam as its paper has it."""
    m: Any = 0.0
    v: Any = 0.0
    t = 0

    def step(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        nonlocal m, v, t
        t, m, v = t + 1, 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        return weights - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)

    return step


class Central:
    """Training on the pooled table, with loops of its own: SiLU, and the classes' log loss or squares."""

    def __init__(self, tables: list[Examples], plan: Plan, hidden: int) -> None:
        pooled = (
            np.concatenate([getattr(t, name) for t in tables]) for name in ("values", "classes", "folds")
        )
        values, self.classes, folds = pooled
        features = [k for k, column in enumerate(plan.features) if not column.is_outcome]
        x = values[:, features]
        self.x = (x - x.mean(axis=0)) / x.std(axis=0)
        y = values[:, -1] - values[:, -1].mean() if len(features) < values.shape[1] else self.classes
        # A number is standardised by a power of two.
        self.y = y / 2.0 ** np.ceil(np.log2(y.std())) if y.dtype.kind == "f" else y
        self.fitted = folds != folds.max()
        self.scores = len(plan.outcome.levels) if plan.outcome and len(plan.outcome.levels) > 2 else 1
        self.hidden = hidden

    def slopes(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        if y.dtype.kind == "f":
            return 2 * (scores - y[:, None])
        if self.scores == 1:
            return 1 / (1 + np.exp(-scores)) - y[:, None]
        odds = np.exp(scores)
        return odds / odds.sum(axis=1, keepdims=True) - np.eye(self.scores)[y]

    def gradient(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        m, h = self.x.shape[1], self.hidden
        w, b, v, c = np.split(weights, np.cumsum([h * m, h, self.scores * h]))
        w, v = w.reshape(h, m), v.reshape(self.scores, h)
        x = self.x[rows]
        a = x @ w.T + b
        s = 1 / (1 + np.exp(-a))
        delta = self.slopes(a * s @ v.T + c, self.y[rows])
        back = delta @ v * (s + a * s * (1 - s))
        parts = back.T @ x, back.sum(axis=0), delta.T @ (a * s), delta.sum(axis=0)
        return np.concatenate([part.ravel() for part in parts]) / len(x)


def rows_drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[np.ndarray]:
    """The rows of the pool that take part, round by round, as the cohorts draw them."""
    drawn: list[np.ndarray] = []
    taken = SumGradient.taken

    def recorded(self: SumGradient, found: Examples) -> np.ndarray:
        drawn.append(taken(self, found))
        return drawn[-1]

    monkeypatch.setattr(SumGradient, "taken", recorded)
    return (np.concatenate(three) for three in zip(*[iter(drawn)] * 3, strict=True))


@pytest.mark.parametrize(
    ("load", "columns", "steps", "options"),
    [
        (
            load_breast_cancer,
            8,
            descent(0.1, 0.9),
            {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9},
        ),
        (load_breast_cancer, 8, adam(0.003), {"learning_rate": 0.003}),
        (load_breast_cancer, 8, adam(0.003), {"learning_rate": 0.003, "taking_part": 0.1}),
        (load_wine, 6, descent(0.1, 0), {"optimizer": "sgd", "learning_rate": 0.1}),
        (load_diabetes, 5, adam(0.003), {"learning_rate": 0.003}),
    ],
    ids=["momentum", "adam", "adam, some rows", "descent, three classes", "a number"],
)
def test_the_weights_are_those_of_training_on_the_pool(
    load: Callable[..., Any],
    columns: int,
    steps: Step,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = pool(load, columns)
    few = {
        "validation_folds": 2,
        "training_rounds": 1000,
        "patience": 0,
        "hidden": "10",
        "people_in_a_round": 10,
    }
    plan, tables = study(x, y, **few, **options)
    rows = rows_drawn(monkeypatch)
    found = run.run(plan, NOBODY, tables)
    central = Central(tables, plan, 10)
    network = Network((columns, 10, central.scores), "silu")
    weights = start(network, 0)
    # The last round only tests what came of the one before.
    for _, taken in zip(range(1000), rows, strict=False):
        weights = steps(weights, central.gradient(weights, taken & central.fitted))
    assert np.abs(weights - start(network, 0)).max() > 0.5
    assert np.mean((weights - found["weights"]["weight"]) ** 2) <= 1e-20
