"""Measures FedHEONN by sums beside the paper's merging of singular vectors, and beside the pooled fit.

    .venv/bin/python docs/measure_fedheonn.py

Writes docs/measured/fedheonn.md. The tables are those that scikit-learn ships, split at random into three
quarters to fit and a quarter to test. The rows to fit are dealt to three cohorts: at random, by class, or
so that one cohort has one class only.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import measuring
import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

from unpooled.algorithms import check, usual
from unpooled.cohort import ArrayTable
from unpooled.model import Model
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.run import run
from unpooled.schema import Column
from unpooled.words import Words

WRITES = (measuring.Table("fedheonn", apart=0.02, free=(6, 7)),)
PENALTY, COHORTS, SPLITS = 1e-3, 3, 20
TABLES: dict[str, Callable[..., Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
FOLDS, FEWEST = 2, 10
D = np.log(19)
SLOPE = 0.95 * 0.05


# How the rows to fit are dealt: int (n,), the cohort of each


def at_random(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return random.permutation(np.arange(len(y)) % COHORTS)


def by_class(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    cohort = np.empty(len(y), int)
    cohort[np.argsort(y, kind="stable")] = np.arange(len(y)) * COHORTS // len(y)
    return cohort


def one_of_one_class(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The first cohort has most people of the first class, and nobody else."""
    cohort = random.integers(1, COHORTS, len(y))
    cohort[(y == 0) & (random.random(len(y)) < 0.8)] = 0
    return cohort


DEALS = {"at random": at_random, "sorted by class": by_class, "one cohort of one class": one_of_one_class}


def federated(x: np.ndarray, y: np.ndarray, cohort: np.ndarray) -> Model:
    """The model of a study with these cohorts, through the real encodings and masks."""
    names = tuple(f"class {k}" for k in range(int(y.max()) + 1))
    outcome = Column("y", "category", levels=names, role="outcome")
    schema = (*(Column(f"x{k}") for k in range(x.shape[1])), outcome)
    plan = Plan(**{
        **usual("fedheonn"), "test": "fedheonn", "cohorts": COHORTS, "compensator_key": bytes(32),
        "schema": schema, "files": ("model",), "penalties": (PENALTY,), "validation_folds": FOLDS,
    })  # fmt: skip
    method, words = check(plan), [names[k] for k in y]
    tables = []
    for k in range(COHORTS):
        here = np.flatnonzero(cohort == k)
        read = ArrayTable(x[here], {"y": Words.of([words[row] for row in here])})
        tables.append(method.prepared(read, plan))
    found = run(plan, Panel.of([]), tables)
    method.files["model"](out := io.BytesIO(), Panel.of([]), method.columns_for("model", found), plan)
    return Model(json.loads(out.getvalue()))


def with_bias(z: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(z)), z]).T


def merged(z: np.ndarray, y: np.ndarray, cohort: np.ndarray) -> np.ndarray:
    """The paper's way, without its encryption: each cohort's U S and X F F d, merged by singular values.

    float64 (m + 1, scores)
    """
    weights = []
    for wanted in targets(y).T:
        parts = [(with_bias(z[cohort == k]) * SLOPE, wanted[cohort == k]) for k in range(COHORTS)]
        sides = sum((part * SLOPE) @ d for part, d in parts)
        each = [np.linalg.svd(part, full_matrices=False)[:2] for part, _ in parts]
        u, s, _ = np.linalg.svd(np.hstack([left * size for left, size in each]), full_matrices=False)
        weights.append(u @ ((u.T @ sides) / (s**2 + PENALTY)))
    return np.array(weights).T


def pooled(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The closed form on all rows, by one singular value decomposition: float64 (m + 1, scores)."""
    u, s, _ = np.linalg.svd(with_bias(z) * SLOPE, full_matrices=False)
    sides = with_bias(z) * SLOPE**2 @ targets(y)
    return np.asarray(u @ ((u.T @ sides) / (s**2 + PENALTY)[:, None]))


def targets(y: np.ndarray) -> np.ndarray:
    """The log odds of the wanted outputs, float64 (n, scores)."""
    classes = np.arange(int(y.max()) + 1)
    return np.where(y[:, None] == (classes if len(classes) > 2 else classes[1:]), D, -D)


def accuracy(z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    scores = with_bias(z).T @ w
    found = scores.argmax(axis=1) if w.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    return float(np.mean(found == y))


def enough(x: np.ndarray) -> np.ndarray:
    """Features that a study of these rows does not refuse: bool (m,), pixels that few images have are not."""
    mean = x.mean(axis=0)
    return np.minimum((x > mean).sum(axis=0), (x < mean).sum(axis=0)) >= 2 * FOLDS * FEWEST


def measured(load: Callable[..., Any], deal: Callable[..., np.ndarray], splits: int) -> np.ndarray:
    """Of each split: accuracy of ours, the paper's, pooled and logistic; and two distances of weights."""
    x, y = load(return_X_y=True)
    found = []
    for seed in range(splits):
        random = np.random.default_rng(seed)
        order = random.permutation(len(y))
        fit, test = order[len(y) // 4 :], order[: len(y) // 4]
        used = enough(x[fit])
        a, b = x[fit][:, used], x[test][:, used]
        mean, deviation = a.mean(axis=0), a.std(axis=0)
        za, zb = (a - mean) / deviation, (b - mean) / deviation
        cohort = deal(y[fit], random)
        model = federated(a, y[fit], cohort)
        ours = np.vstack([model.intercept_ + model.coef_ @ mean, model.coef_.T * deviation[:, None]])
        theirs, whole = merged(za, y[fit], cohort), pooled(za, y[fit])
        logistic = LogisticRegression(max_iter=5000).fit(za, y[fit])
        classes = np.char.mod("class %d", y[test])
        shares = np.mean(model.predict(b) == classes), *(accuracy(zb, y[test], w) for w in (theirs, whole))
        apart = [np.abs(w - whole).max() / np.abs(whole).max() for w in (ours, theirs)]
        found.append([*shares, logistic.score(zb, y[test]), *apart])
    return np.array(found)


def lines(splits: int) -> Iterator[str]:
    yield (
        "| Table | Dealt | Sums, % | The paper's merging, % | Pooled, % | Logistic regression, % | "
        "Sums from pooled | Merging from pooled |"
    )
    yield "| --- | --- " + "| --: " * 6 + "|"
    for name, load in TABLES.items():
        for dealt, deal in DEALS.items():
            of = measured(load, deal, splits)
            shares = (f"{100 * share:.1f}" for share in of[:, :4].mean(axis=0))
            apart = (f"{worst:.0e}" for worst in of[:, 4:].max(axis=0))
            yield f"| {name} | {dealt} | {' | '.join((*shares, *apart))} |"


if __name__ == "__main__":
    arguments = measuring.parser(__doc__).parse_args()
    measuring.write(arguments.out, "fedheonn", lines(1 if arguments.small else SPLITS))
