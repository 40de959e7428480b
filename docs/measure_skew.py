"""Measures what scaling at home costs a model where cohorts differ, and what scaling together; draws it, too.

    .venv/bin/python docs/measure_skew.py

Writes docs/measured/skew.md, docs/measured/skew-wins.md and docs/images/skew.png. The tables are those that
scikit-learn ships; how they are dealt to cohorts follows Coşğun, Gençtürk and Sav's paper on federated
normalization. Each time one logistic regression is fitted to all cohorts' rows, as federated training would
if it converged: once every cohort has scaled its own rows by its own parameters, and once by those of a
federated study (`unpooled.run`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import measuring
import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.scaler import MIN_MAX, ROBUST, YEO_JOHNSON, Z_SCORE, Scaler
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.run import run, written

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

WRITES = (measuring.Table("skew", apart=0.01), measuring.Table("skew-wins", apart=0.2))
SEEDS = range(3)
COHORTS = (10, 20, 30)
FEWEST = 2
"""Rows that every cohort has at least: how many it trains on, where it is dealt next to nothing."""
ENOUGH, LARGE = 12, 3
"""Rows that the three largest cohorts have at least. With a fifth of them for testing ten are left: of tables
with fewer a study asks nothing."""
TIE = 0.005
"""Differences of F1 below this are counted as ties, as in the paper."""
AT_HOME: dict[str, Callable[[], Any]] = {
    Z_SCORE: StandardScaler,
    MIN_MAX: MinMaxScaler,
    ROBUST: RobustScaler,
    YEO_JOHNSON: PowerTransformer,
}
METHODS = tuple(AT_HOME)
TABLES: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "breast cancer": partial(datasets.load_breast_cancer, return_X_y=True),
    "wine": partial(datasets.load_wine, return_X_y=True),
    "digits": partial(datasets.load_digits, return_X_y=True),
}
HOME, TOGETHER = "at home", "together"
COLOUR = {HOME: "#d55e00", TOGETHER: "#0072b2"}
MARKER = {HOME: "s", TOGETHER: "o"}


@dataclass(frozen=True, eq=False)
class Data:
    """Rows and their classes: float64 (n, features) and int (n,)."""

    x: np.ndarray
    y: np.ndarray

    def some(self, which: np.ndarray) -> Data:
        return Data(self.x[which], self.y[which])


# How rows are dealt: int (n,), the cohort of each


def evenly(data: Data, cohorts: int, random: np.random.Generator) -> np.ndarray:
    return _not_too_few(random.permutation(np.arange(len(data.y)) % cohorts), cohorts, random)


def by_quantity(beta: float, data: Data, cohorts: int, random: np.random.Generator) -> np.ndarray:
    """Sizes of cohorts are Dirichlet(beta) shares."""
    return _not_too_few(
        random.choice(cohorts, len(data.y), p=_shares(beta, cohorts, random)), cohorts, random
    )


def by_label(beta: float, data: Data, cohorts: int, random: np.random.Generator) -> np.ndarray:
    """Deal each class to the cohorts in Dirichlet(beta) shares."""
    cohort = np.empty(len(data.y), int)
    for label in np.unique(data.y):
        rows = np.flatnonzero(data.y == label)
        cohort[rows] = random.choice(cohorts, len(rows), p=_shares(beta, cohorts, random))
    return _not_too_few(cohort, cohorts, random)


def by_feature(data: Data, cohorts: int, random: np.random.Generator) -> np.ndarray:
    """Along the first principal component, so that the cohorts' ranges do not overlap."""
    standard = (data.x - data.x.mean(axis=0)) / np.maximum(data.x.std(axis=0), 1e-12)
    order = np.argsort(standard @ np.linalg.svd(standard, full_matrices=False)[2][0])
    sizes = np.bincount(_not_too_few(np.arange(len(order)) * cohorts // len(order), cohorts, random))
    cohort = np.empty(len(order), int)
    cohort[order] = np.repeat(np.arange(cohorts), sizes)
    return cohort


def _shares(beta: float, cohorts: int, random: np.random.Generator) -> np.ndarray:
    return random.dirichlet(np.full(cohorts, beta))


def _not_too_few(cohort: np.ndarray, cohorts: int, random: np.random.Generator) -> np.ndarray:
    """Gives cohorts that have too few rows some of the cohort that has most to spare."""
    wanted = np.full(cohorts, FEWEST)
    wanted[np.argsort(-np.bincount(cohort, minlength=cohorts), kind="stable")[:LARGE]] = ENOUGH
    for k in range(cohorts):
        while np.count_nonzero(cohort == k) < wanted[k]:
            richest = np.argmax(np.bincount(cohort, minlength=cohorts) - wanted)
            cohort[random.choice(np.flatnonzero(cohort == richest))] = k
    return cohort


@dataclass(frozen=True)
class Skew:
    """Skew by which cohorts differ."""

    title: str
    deal: Callable[[Data, int, np.random.Generator], np.ndarray]
    noise: float = 0.0
    """Cohort i of P adds normal noise, of variance noise * i / P in units of each feature's variance."""


SKEWS = (
    Skew("none", evenly),
    Skew("quantity, β = 5", partial(by_quantity, 5)),
    Skew("quantity, β = 0.5", partial(by_quantity, 0.5)),
    Skew("noise, 0.3", evenly, 0.3),
    Skew("noise, 0.7", evenly, 0.7),
    Skew("label, β = 5", partial(by_label, 5)),
    Skew("label, β = 0.5", partial(by_label, 0.5)),
    Skew("ranges apart", by_feature),
)


def noisy(data: Data, cohort: np.ndarray, cohorts: int, noise: float, random: np.random.Generator) -> Data:
    deviation = np.sqrt(noise * (cohort + 1) / cohorts)[:, None] * data.x.std(axis=0)
    return Data(data.x + deviation * random.standard_normal(data.x.shape), data.y)


# Scaling


@dataclass(frozen=True, eq=False)
class Dealt:
    """The cohort of each row for training, and of each for testing."""

    cohorts: int
    train: np.ndarray
    test: np.ndarray


def together(method: str, parts: Sequence[np.ndarray]) -> Scaler:
    """The parameters of a federated study over these parts, by the whole protocol, in this process."""
    plan = Plan(
        test=method,
        cohorts=len(parts),
        compensator_key=NO_KEY,
        schema=tuple(Column(str(k)) for k in range(parts[0].shape[1])),
        phenotype="",
        trait="none",
        panel_mode="none",
        files=("parameters",),
    )
    nobody = Panel.of([])
    tables = run(plan, nobody, [ArrayTable(part) for part in parts])
    return Scaler(json.loads(written("parameters", plan, nobody, tables)))


def scaled(method: str, where: str, train: np.ndarray, test: np.ndarray, dealt: Dealt) -> tuple[Any, Any]:
    """Rows for training and for testing: each by the parameters that its cohort has."""
    parts = [train[dealt.train == k] for k in range(dealt.cohorts)]
    if where == TOGETHER:
        scaler = together(method, parts)
        return scaler.transform(train), scaler.transform(test)
    out = np.empty_like(train), np.empty_like(test)
    for k, own in enumerate(parts):
        fitted = AT_HOME[method]().fit(own)
        for values, result, cohort in zip((train, test), out, (dealt.train, dealt.test), strict=True):
            if (cohort == k).any():
                result[cohort == k] = fitted.transform(values[cohort == k])
    return out


# What comes of it


@dataclass(frozen=True)
class Outcome:
    """F1 of the model, macro-averaged over classes, on rows that it has not seen."""

    table: str
    skew: str
    cohorts: int
    method: str
    f1: dict[str, float]
    """F1 by where the rows were scaled."""


def measure(table: str, skew: Skew, cohorts: int, seed: int) -> Iterator[Outcome]:
    """One splitting of a table, with every method."""
    random = np.random.default_rng([seed, cohorts])
    data = Data(*TABLES[table]())
    cohort = skew.deal(data, cohorts, random)
    if skew.noise:
        data = noisy(data, cohort, cohorts, skew.noise, random)
    train, test = split(cohort, random)
    dealt = Dealt(cohorts, cohort[train], cohort[test])
    for method in METHODS:
        f1 = {}
        for where in (HOME, TOGETHER):
            x, unseen = scaled(method, where, data.x[train], data.x[test], dealt)
            model = LogisticRegression(max_iter=2000).fit(x, data.y[train])
            f1[where] = float(f1_score(data.y[test], model.predict(unseen), average="macro"))
        yield Outcome(table, skew.title, cohorts, method, f1)


def split(cohort: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows for training, and a fifth of each cohort's for testing; of few rows none."""
    testing = np.zeros(len(cohort), bool)
    for k in np.unique(cohort):
        rows = random.permutation(np.flatnonzero(cohort == k))
        testing[rows[: min(round(len(rows) / 5), len(rows) - 1)]] = True
    return np.flatnonzero(~testing), np.flatnonzero(testing)


def mean(outcomes: Sequence[Outcome], where: str) -> float:
    return float(np.mean([outcome.f1[where] for outcome in outcomes]))


def some(outcomes: Sequence[Outcome], **wanted: object) -> list[Outcome]:
    return [each for each in outcomes if all(getattr(each, name) == of for name, of in wanted.items())]


# What the page shows


def _measured(outcomes: Sequence[Outcome], what: str) -> list[str]:
    """The tables, or skews, that outcomes are of."""
    return list(dict.fromkeys(getattr(each, what) for each in outcomes))


def means(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A row per table and skew: F1 at home and together for each number of cohorts, over all methods."""
    yield "| Table | Cohorts differ in | " + " | ".join(f"{n} cohorts" for n in COHORTS) + " |"
    yield "| --- | --- |" + " ---: |" * len(COHORTS)
    for table in _measured(outcomes, "table"):
        for skew in _measured(outcomes, "skew"):
            cells = []
            for cohorts in COHORTS:
                own = some(outcomes, table=table, skew=skew, cohorts=cohorts)
                cells.append(f"{mean(own, HOME):.3f} → {mean(own, TOGETHER):.3f}")
            yield f"| {table} | {skew} | " + " | ".join(cells) + " |"


def wins(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A row per method: how often either was better, and by how much on average."""
    yield f"| Method | Better together | Better at home | Ties (below {TIE}) | Mean gain together |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for method in METHODS:
        gains = np.array([each.f1[TOGETHER] - each.f1[HOME] for each in some(outcomes, method=method)])
        better, worse = (int(np.count_nonzero(sign * gains >= TIE)) for sign in (1, -1))
        yield f"| {method} | {better} | {worse} | {len(gains) - better - worse} | {gains.mean():+.3f} |"


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """A panel per table; in it, per skew and method, F1 at home and together, joined by a line."""
    tables, skews = _measured(outcomes, "table"), _measured(outcomes, "skew")
    figure, panels = plt.subplots(
        1, len(tables), figsize=(11, 5.2), sharey=True, layout="constrained", squeeze=False
    )
    for axes, table in zip(panels[0], tables, strict=True):
        _draw_table(axes, some(outcomes, table=table))
        axes.set_title(table, loc="left", fontsize=11)
        axes.set_xlabel("F1 on unseen rows")
    panels[0, 0].set_yticks(range(len(skews)), skews)
    panels[0, 0].invert_yaxis()
    marks = [
        plt.Line2D([], [], marker=MARKER[w], color=COLOUR[w], ls="", label=f"scaled {w}") for w in MARKER
    ]
    figure.legend(handles=marks, loc="outside upper right", ncols=2, frameon=False)
    figure.savefig(path, dpi=150)


def _draw_table(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    for row, skew in enumerate(_measured(outcomes, "skew")):
        for place, method in enumerate(METHODS):
            own = some(outcomes, skew=skew, method=method)
            y = row + 0.18 * (place - (len(METHODS) - 1) / 2)
            ends = {where: mean(own, where) for where in COLOUR}
            axes.plot(list(ends.values()), [y, y], color="#b5b5b5", lw=1, zorder=1)
            for where, x in ends.items():
                axes.scatter(x, y, s=22, marker=MARKER[where], color=COLOUR[where], zorder=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#eeeeee")


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    outcomes = []
    for table in ["wine"] if given.small else TABLES:
        for skew in SKEWS[-1:] if given.small else SKEWS:
            for cohorts in COHORTS:
                for seed in range(1) if given.small else SEEDS:
                    outcomes += measure(table, skew, cohorts, seed)
            print(table, skew.title, flush=True)
    measuring.write(given.out, "skew", means(outcomes))
    measuring.write(given.out, "skew-wins", wins(outcomes))
    draw(outcomes, measuring.picture(given.out, "skew"))


if __name__ == "__main__":
    main()
