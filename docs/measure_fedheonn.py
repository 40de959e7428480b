"""Measures FedHEONN by sums beside the paper's merging of singular vectors, and beside the pooled fit.

    .venv/bin/python docs/measure_fedheonn.py

Writes docs/measured/fedheonn*.md. The tables are those that scikit-learn ships, split at random into three
quarters to fit and a quarter to test. The rows to fit are dealt to six cohorts: at random, by class, or so
that two cohorts have one class only; then there are rows enough of each class without any one cohort. Then:
what the paper reports for its own tables; what one cohort's singular vectors say; new rows, added to what is
stored; other functions of the outputs; and seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import measuring
import numpy as np
from sklearn import datasets
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.model import Model
from unpooled.methods import check, usual
from unpooled.methods.learning.stored import refitted
from unpooled.panel.panel import Panel
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.run import reports, run

WRITES = (
    measuring.Table("fedheonn", apart=0.02, free=(6, 7)),
    measuring.Table("fedheonn-paper", apart=0.02),
    measuring.Table("fedheonn-read", free=(3, 4)),
    measuring.Table("fedheonn-more", apart=0.02, free=(4, 5)),
    measuring.Table("fedheonn-outputs", apart=0.02),
    measuring.Table("fedheonn-seconds", free=(2, 3, 4)),
)
PENALTY, COHORTS, SPLITS = 1e-3, 6, 20
TABLES: dict[str, Callable[..., Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
SMALL = ("breast cancer",)
LARGE = {"breast cancer": 10, "digits": 64}
"""Tables with people enough however they are dealt, and in each half of a split for so many first features.
"""
COHORTS_WITH_SUMS = 4
"""The fewest of a study that gives its sums."""
PAPER = {
    "Dry Bean, ten times": (136_110, 16, 7, 90.43, 92.67, 90.35, 92.00),
    "MiniBoone": (130_064, 50, 2, 90.02, 90.46, 88.06, 88.62),
    "Skin": (245_057, 3, 2, 92.56, 91.90, 98.04, 99.25),
    "SUSY": (5_000_000, 18, 2, 75.76, 78.80, 75.06, 76.70),
    "HEPMASS": (10_500_000, 28, 2, 83.50, 83.64, 81.12, 83.35),
    "Higgs": (11_000_000, 28, 2, 64.05, 64.17, 62.92, 63.66),
}
"""Numbers of its tables 1, 3 and 4: rows, features, classes; accuracy in % of FedHEONN and of one layer that
is fitted centrally by iteration; mean and median of all others that it lists, that layer among them.
"""
OTHERS: tuple[Callable[[int], ClassifierMixin], ...] = (
    lambda seed: LogisticRegression(max_iter=5000),
    lambda seed: KNeighborsClassifier(),
    lambda seed: GaussianNB(),
    lambda seed: SVC(),
    lambda seed: DecisionTreeClassifier(random_state=seed),
    lambda seed: RandomForestClassifier(random_state=seed),
)
"""Kinds that the paper has for Dry Bean too, with scikit-learn's usual settings. The first is the one layer:
quasi-Newton (L-BFGS), as the paper's."""
DRAWN_ROWS, DRAWN_FEATURES = 308_000, 28
"""Size of the table that is timed: a hundredth of the rows that the paper fits for Higgs four times."""
FOLDS, FEWEST = 4, 10
D = np.log(19)
SLOPE = 0.95 * 0.05


# How the rows to fit are dealt: int (n,), the cohort of each


def at_random(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return random.permutation(np.arange(len(y)) % COHORTS)


def by_class(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Two cohorts have the first third of the rows, in their order by class; two the second; two the last."""
    third = np.empty(len(y), int)
    third[np.argsort(y, kind="stable")] = np.arange(len(y)) * 3 // len(y)
    return 2 * third + at_random(y, random) % 2


def two_of_one_class(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The first two cohorts have most people of the first class, and nobody else."""
    cohort = random.integers(2, COHORTS, len(y))
    chosen = (y == 0) & (random.random(len(y)) < 0.8)
    cohort[chosen] = np.arange(chosen.sum()) % 2
    return cohort


DEALS = {"at random": at_random, "sorted by class": by_class, "two cohorts of one class": two_of_one_class}


# FedHEONN in three ways


def study(x: np.ndarray, y: np.ndarray, cohort: np.ndarray, *files: str) -> tuple[Plan, list[dict[str, Any]]]:
    """The plan of a study with these cohorts, and its files, through the real encodings and masks."""
    cohorts, names = int(cohort.max()) + 1, tuple(f"class {k}" for k in range(int(y.max()) + 1))
    outcome = Column("y", "category", levels=names, role="outcome")
    schema = (*(Column(f"x{k}") for k in range(x.shape[1])), outcome)
    plan = Plan(**{
        **usual("fedheonn"), "test": "fedheonn", "cohorts": cohorts, "compensator_key": NO_KEY,
        "schema": schema, "files": files, "penalties": (PENALTY,), "validation_folds": FOLDS,
    })  # fmt: skip
    method, words = check(plan), [names[k] for k in y]
    tables = []
    for k in range(cohorts):
        here = np.flatnonzero(cohort == k)
        read = ArrayTable(x[here], {"y": Words.of([words[row] for row in here])})
        tables.append(method.prepared(read, plan))
    found = run(plan, Panel.of([]), tables)
    return plan, [json.loads(content) for content in reports(plan, Panel.of([]), found).values()]


def federated(x: np.ndarray, y: np.ndarray, cohort: np.ndarray) -> Model:
    return Model(study(x, y, cohort, "model")[1][0])


def weights(model: Model, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return the weights of standardised features, with the bias first: float64 (m + 1, scores)."""
    return np.vstack([model.intercept_ + model.coef_ @ mean, model.coef_.T * deviation[:, None]])


def with_bias(z: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(z)), z]).T


def sent(z: np.ndarray) -> np.ndarray:
    """Return what a cohort of the paper sends in clear, U S: float64 (m + 1, r)."""
    u, s, _ = np.linalg.svd(with_bias(z) * SLOPE, full_matrices=False)
    return np.asarray(u * s)


def merged(
    z: np.ndarray,
    y: np.ndarray,
    cohort: np.ndarray,
    summed: Callable[[np.ndarray], np.ndarray] = lambda parts: parts.sum(axis=0),
) -> np.ndarray:
    """The paper's way: cohort by cohort, what it sends is merged into what is stored.

    `summed` adds up what the paper encrypts, float64 (cohorts, m + 1, scores); here in clear.

    float64 (m + 1, scores)
    """
    wanted, stored, parts = targets(y), np.zeros((z.shape[1] + 1, 0)), []
    for k in range(int(cohort.max()) + 1):
        here = cohort == k
        parts.append(with_bias(z[here]) * SLOPE**2 @ wanted[here])
        u, s, _ = np.linalg.svd(np.hstack([stored, sent(z[here])]), full_matrices=False)
        stored = u * s
    sides = summed(np.stack(parts))
    return np.asarray(u @ ((u.T @ sides) / (s**2 + PENALTY)[:, None]))


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
    """Features that a study of these rows does not refuse: bool (m,), pixels that few images have are not.

    Two folds need two times the fewest; sorted by class, half of these may be of one cohort.
    """
    mean, times = x.mean(axis=0), 4 if len(x) < 200 else 6
    return np.minimum((x > mean).sum(axis=0), (x < mean).sum(axis=0)) >= times * FEWEST


def from_whole(w: np.ndarray, whole: np.ndarray) -> float:
    """The largest distance of weights, relative to the largest weight."""
    return float(np.abs(w - whole).max() / np.abs(whole).max())


# The tables


@dataclass(frozen=True)
class Split:
    """Rows to fit and rows to test: as they are, and standardised by mean and deviation of those to fit."""

    a: np.ndarray
    za: np.ndarray
    y: np.ndarray
    b: np.ndarray
    zb: np.ndarray
    y_test: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    random: np.random.Generator


def split(load: Callable[..., Any], seed: int) -> Split:
    x, y = load(return_X_y=True)
    random = np.random.default_rng(seed)
    order = random.permutation(len(y))
    fit, test = order[len(y) // 4 :], order[: len(y) // 4]
    used = enough(x[fit])
    a, b = x[fit][:, used], x[test][:, used]
    mean, deviation = a.mean(axis=0), a.std(axis=0)
    za, zb = (a - mean) / deviation, (b - mean) / deviation
    return Split(a, za, y[fit], b, zb, y[test], mean, deviation, random)


def right(model: Model, of: Split) -> float:
    """The share of the rows to test whose class the model finds."""
    return float(np.mean(model.predict(of.b) == np.char.mod("class %d", of.y_test)))


def measured(load: Callable[..., Any], deal: Callable[..., np.ndarray], splits: int) -> np.ndarray:
    """Return for each split the accuracy of ours, the paper's, pooled and logistic; and two distances of
    weights.
    """
    found = []
    for seed in range(splits):
        of = split(load, seed)
        cohort = deal(of.y, of.random)
        model = federated(of.a, of.y, cohort)
        ours, theirs, whole = (
            weights(model, of.mean, of.deviation),
            merged(of.za, of.y, cohort),
            pooled(of.za, of.y),
        )
        shares = right(model, of), *(accuracy(of.zb, of.y_test, w) for w in (theirs, whole))
        logistic = OTHERS[0](seed).fit(of.za, of.y).score(of.zb, of.y_test)
        found.append([*shares, logistic, *(from_whole(w, whole) for w in (ours, theirs))])
    return np.array(found)


def lines(tables: Sequence[str], splits: int) -> Iterator[str]:
    yield (
        "| Table | Dealt | Sums, % | The paper's merging, % | Pooled, % | Logistic regression, % | "
        "Sums from pooled | Merging from pooled |"
    )
    yield "| --- | --- " + "| --: " * 6 + "|"
    for name in tables:
        for dealt, deal in list(DEALS.items())[: None if name in LARGE else 1]:
            of = measured(TABLES[name], deal, splits)
            shares = (f"{100 * share:.1f}" for share in of[:, :4].mean(axis=0))
            apart = (f"{worst:.0e}" for worst in of[:, 4:].max(axis=0))
            yield f"| {name} | {dealt} | {' | '.join((*shares, *apart))} |"


def lines_of_paper(tables: Sequence[str], splits: int) -> Iterator[str]:
    """The paper's table, and ours: mean and median of other methods, each of them a mean over the splits."""
    yield (
        "| Table | Rows | Features | Classes | FedHEONN, % | One layer, iterative, % | Others, mean, % | "
        "Others, median, % |"
    )
    yield "| --- " + "| --: " * 7 + "|"
    for name, (rows, features, classes, *shares) in PAPER.items():
        numbers = " | ".join(f"{share:.2f}" for share in shares)
        yield f"| the paper's: {name} | {rows:,} | {features} | {classes} | {numbers} |"
    for name in tables:
        x, y = TABLES[name](return_X_y=True)
        found = []
        for seed in range(splits):
            of = split(TABLES[name], seed)
            ours = right(federated(of.a, of.y, at_random(of.y, of.random)), of)
            found.append([ours, *(other(seed).fit(of.za, of.y).score(of.zb, of.y_test) for other in OTHERS)])
        ours, *others = 100 * np.mean(found, axis=0)
        numbers = " | ".join(
            f"{share:.2f}" for share in (ours, others[0], np.mean(others), np.median(others))
        )
        yield f"| here: {name} | {len(y):,} | {x.shape[1]} | {int(y.max()) + 1} | {numbers} |"


def lines_of_reading(tables: Sequence[str], splits: int) -> Iterator[str]:
    """Write the table of what U S of one cohort tells, read from nothing else."""
    yield (
        "| Table | Rows of the cohort | Rows read | Means and covariances off by | "
        "The row of a cohort of one, off by |"
    )
    yield "| --- " + "| --: " * 4 + "|"
    for name in tables:
        worst, one = 0.0, 0.0
        for seed in range(splits):
            of = split(TABLES[name], seed)
            z = of.za[at_random(of.y, of.random) == 0]
            squares = sent(z) @ sent(z).T / SLOPE**2
            n, mean = squares[0, 0], squares[0, 1:] / squares[0, 0]
            spread = squares[1:, 1:] / n - np.outer(mean, mean)
            off = np.abs(mean - z.mean(axis=0)).max(), np.abs(spread - np.cov(z.T, bias=True)).max()
            alone = sent(z[:1])[:, 0]
            worst, one = max(worst, *off), max(one, np.abs(alone[1:] / alone[0] - z[0]).max())
        yield f"| {name} | {len(z)} | {n:.6g} | {worst:.0e} | {one:.0e} |"


def lines_of_more(tables: Sequence[str], splits: int) -> Iterator[str]:
    """Half of the rows in one study, the other half in a later one, and both added up."""
    yield (
        "| Table | Rows at first | Rows later | First study from pooled | Both, by sums, from pooled | "
        "Both, by merging, from pooled |"
    )
    yield "| --- " + "| --: " * 5 + "|"
    for name, features in LARGE.items():
        if name not in tables:
            continue
        x, y = TABLES[name](return_X_y=True)
        found = []
        for seed in range(splits):
            random = np.random.default_rng(seed)
            later = random.permutation(len(y)) % 2 == 1
            used = enough(x[later]) & enough(x[~later])
            a = x[:, used][:, :features]
            mean, deviation = a.mean(axis=0), a.std(axis=0)
            z = (a - mean) / deviation
            cohort = random.integers(COHORTS_WITH_SUMS, size=len(y))
            plan, (model, first) = study(a[~later], y[~later], cohort[~later], "model", "sums")
            _, (second,) = study(a[later], y[later], cohort[later], "sums")
            models = Model(model), Model(refitted([first, second], plan))
            whole, both = pooled(z, y), merged(z, y, cohort + COHORTS_WITH_SUMS * later)
            found.append(
                [from_whole(w, whole) for w in (*(weights(m, mean, deviation) for m in models), both)]
            )
        first_alone = f"{np.mean(found, axis=0)[0]:.2f}"
        apart = " | ".join(f"{worst:.0e}" for worst in np.max(found, axis=0)[1:])
        yield f"| {name} | {np.sum(~later):,} | {np.sum(later):,} | {first_alone} | {apart} |"


@dataclass(frozen=True)
class Outputs:
    """An invertible function of the outputs: those wanted, its inverse, and its slope by the score."""

    wanted: tuple[float, float]
    score: Callable[..., Any]
    slope: Callable[..., Any]
    between: float
    """The output on either side of which a row of two classes is."""


LEAK = 0.01
OUTPUTS = {
    "logistic": Outputs((0.95, 0.05), lambda d: np.log(d / (1 - d)), lambda s: 1 / (2 + 2 * np.cosh(s)), 0.5),
    "tanh": Outputs((0.9, -0.9), np.arctanh, lambda s: 1 - np.tanh(s) ** 2, 0.0),
    "linear": Outputs((1.0, -1.0), lambda d: d, np.ones_like, 0.0),
    "softplus": Outputs((0.95, 0.05), lambda d: np.log(np.expm1(d)), lambda s: 1 / (1 + np.exp(-s)), 0.5),
    "leaky ReLU": Outputs(
        (1.0, -1.0), lambda d: np.where(d > 0, d, d / LEAK), lambda s: np.where(s > 0, 1, LEAK), 0.0
    ),
}


def by_outputs(of: Split, outputs: Outputs) -> float:
    """The accuracy of the closed form on all rows, each class with slopes of its own."""
    x, wanted = with_bias(of.za), targets(of.y) > 0
    scores = np.empty((len(of.zb), wanted.shape[1]))
    for k in range(wanted.shape[1]):
        d = outputs.score(np.where(wanted[:, k], *outputs.wanted))
        weighted = x * outputs.slope(d) ** 2
        w = np.linalg.solve(weighted @ x.T + PENALTY * np.eye(len(x)), weighted @ d)
        scores[:, k] = with_bias(of.zb).T @ w
    several = scores.shape[1] > 1
    found = scores.argmax(axis=1) if several else scores[:, 0] > outputs.score(np.array(outputs.between))
    return float(np.mean(found == of.y_test))


def lines_of_outputs(tables: Sequence[str], splits: int) -> Iterator[str]:
    yield f"| Table | {' | '.join(f'{name}, %' for name in OUTPUTS)} |"
    yield "| --- " + "| --: " * len(OUTPUTS) + "|"
    for name in tables:
        of = [split(TABLES[name], seed) for seed in range(splits)]
        found = (np.mean([by_outputs(each, outputs) for each in of]) for outputs in OUTPUTS.values())
        yield f"| {name} | {' | '.join(f'{100 * share:.1f}' for share in found)} |"


def lines_of_seconds(rows: int) -> Iterator[str]:
    yield "| Rows | Features | Centrally, s | Merging, s | Sums, s |"
    yield "| --- " + "| --: " * 4 + "|"
    random = np.random.default_rng(0)
    z = random.standard_normal((rows, DRAWN_FEATURES))
    y = (z.sum(axis=1) + random.standard_normal(rows) > 0).astype(int)
    cohort = at_random(y, random)
    seconds = []
    for fit in (lambda: pooled(z, y), lambda: merged(z, y, cohort), lambda: federated(z, y, cohort)):
        begun = time.process_time()
        fit()
        seconds.append(f"{time.process_time() - begun:.1f}")
    yield f"| {rows:,} | {DRAWN_FEATURES} | {' | '.join(seconds)} |"


if __name__ == "__main__":
    arguments = measuring.parser(__doc__).parse_args()
    tables, splits = (SMALL, 1) if arguments.small else (tuple(TABLES), SPLITS)
    for table, made in (
        ("fedheonn", lines(tables, splits)),
        ("fedheonn-paper", lines_of_paper(tables, splits)),
        ("fedheonn-read", lines_of_reading(tables, splits)),
        ("fedheonn-more", lines_of_more(tables, splits)),
        ("fedheonn-outputs", lines_of_outputs(tables, splits)),
        ("fedheonn-seconds", lines_of_seconds(DRAWN_ROWS // 10 if arguments.small else DRAWN_ROWS)),
    ):
        measuring.write(arguments.out, table, made)
