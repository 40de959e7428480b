"""Ridge regression with differential privacy beside that of the exact sums: docs/measured/private-ridge.md.

    .venv/bin/python docs/measure_private_ridge.py

The diabetes data of scikit-learn as they are, and once more with every person ten times, which shows what
more people would do: three cohorts fit four fifths, and R² is of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import measuring
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.model import Model
from unpooled.methods import check, usual
from unpooled.methods.learning.models import PRIVATE_RIDGE
from unpooled.methods.private_ridge.result import private_ridge_of
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.run import run

WRITES = (measuring.Table("private-ridge", free=(2, 3, 4)),)
COHORTS, EPSILONS, TIMES = 3, (1.0, 3.0, 10.0), 10
SETS = ((10, 1), (4, 1), (10, 10), (4, 10))
"""Number of features, by their correlation with the outcome, and copies of each person."""


def plan_of(epsilon: float, features: int) -> Plan:
    schema = (
        *(Column(f"x{k}", low=-0.2, high=0.2) for k in range(features)),
        Column("progression", low=25.0, high=346.0, role="outcome"),
    )
    named = {"test": PRIVATE_RIDGE, "cohorts": COHORTS, "compensator_key": NO_KEY, "files": ("model",)}
    return Plan(**{**usual(PRIVATE_RIDGE), **named, "epsilon": epsilon}, schema=schema)


def noisy(epsilon: float, x: np.ndarray, y: np.ndarray, seed: int) -> Model:
    """The model of three cohorts, through the real encodings and masks."""
    plan = plan_of(epsilon, x.shape[1])
    tables: list[Any] = []
    for k, rows in enumerate(np.array_split(np.arange(len(y)), COHORTS)):
        table = check(plan).prepared(ArrayTable(np.column_stack([x[rows], y[rows]])), plan)
        tables.append(replace(table, secret=bytes([seed, k]) * 16))
    return Model(private_ridge_of(columns_of("", run(plan, Panel.of([]), tables)), plan))


def lines(epsilons: tuple[float, ...], sets: tuple[tuple[int, int], ...], times: int) -> Iterator[str]:
    x, y = load_diabetes(return_X_y=True)
    by_correlation = np.argsort([-abs(np.corrcoef(column, y)[0, 1]) for column in x.T])
    for features, copies in sets:
        some, found = x[:, by_correlation[:features]], []
        for seed in range(times):
            fitted, rest = np.split(np.random.default_rng(seed).permutation(len(y)), [len(y) * 4 // 5])
            fitted = np.repeat(fitted, copies)
            np.random.default_rng(seed).shuffle(fitted)
            models = (noisy(epsilon, some[fitted], y[fitted], seed) for epsilon in epsilons)
            exact = RidgeCV(np.logspace(-5, 2, 50)).fit(some[fitted], y[fitted])
            found.append([r2_score(y[rest], model.predict(some[rest])) for model in (*models, exact)])
        cells = [f"{mean:.2f} ({low:.2f} to {high:.2f})" for mean, low, high in _summaries(np.array(found))]
        yield f"| {len(fitted):,} | {features} | {' | '.join(cells)} |"


def _summaries(found: np.ndarray) -> np.ndarray:
    return np.column_stack([found.mean(axis=0), found.min(axis=0), found.max(axis=0)])


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    epsilons, sets, times = (EPSILONS[1:2] * 3, SETS[:1], 1) if given.small else (EPSILONS, SETS, TIMES)
    head = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS)
    rows = [f"| People | Features | {head} | Without noise |", "| ---: | ---: | ---: | ---: | ---: | ---: |"]
    measuring.write(given.out, "private-ridge", [*rows, *lines(epsilons, sets, times)])


if __name__ == "__main__":
    main()
