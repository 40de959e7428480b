"""Measures how far the weights of a study are from those of training on the pooled table.

    .venv/bin/python docs/measure_networks.py

Writes docs/measured/networks.md. The tables are those that scikit-learn ships, dealt to three cohorts of
unequal size whose outcomes overlap as little as floors allow. The pool is trained in one process, with the
same rows in each round; and once more with its rows in another order, which shows what rounding does.

And docs/measured/networks-local.md: how far from these weights local updates lead, where every cohort takes
the same number of steps in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import measuring
import numpy as np
from sklearn import datasets

from unpooled.asking.cohort import ArrayTable
from unpooled.asking.draws import drawing
from unpooled.asking.driver import Place, Tree
from unpooled.asking.procedure import Study
from unpooled.asking.question import Arrays, Question
from unpooled.fitted.network import start
from unpooled.methods import check, questions_of, usual, whole
from unpooled.methods.learning.network_questions import SumGradient
from unpooled.methods.learning.training import optimizer_of
from unpooled.panel.panel import Panel
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.run import _Federation

WRITES = (measuring.Table("networks", free=(3, 4, 5)), measuring.Table("networks-local", free=(4, 5, 6)))
COHORTS, FOLDS, FEW = 3, 2, 10
ROUNDS, SMALL = (10, 100, 1000), (2, 4, 6)
STEPS, FEW_STEPS, ALL_ROWS = 2000, 10, 1_000_000
LOCAL = (
    ("fedcmb", 1, ALL_ROWS), ("fedcmb", 5, ALL_ROWS), ("fedcmb", 20, ALL_ROWS), ("fedcmb", 100, ALL_ROWS),
    ("weighted", 5, ALL_ROWS), ("weighted", 20, ALL_ROWS), ("weighted", 100, ALL_ROWS),
    ("fedcmb", 1, 32), ("fedcmb", 5, 32), ("fedcmb", 20, 32), ("fedcmb", 100, 32),
)  # fmt: skip
"""The algorithm, the steps in a round, and the rows of a step."""


@dataclass(frozen=True)
class Case:
    """A training, and its words in the table."""

    table: str
    load: Callable[..., Any]
    columns: int
    method: str
    options: dict[str, Any]
    test: str = "network"


SLOW = {"learning_rate": 0.003}
CASES = (
    Case("breast cancer, 8 columns", datasets.load_breast_cancer, 8, "gradient descent, momentum 0.9",
         {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9}),
    Case("breast cancer, 8 columns", datasets.load_breast_cancer, 8, "Adam", SLOW),
    Case("breast cancer, 8 columns", datasets.load_breast_cancer, 8, "Adam, a tenth of the rows",
         {**SLOW, "taking_part": 0.1}),
    Case("digits, 10 classes, 24 columns", datasets.load_digits, 24, "Adam", SLOW),
    Case("diabetes, a number, 5 columns", datasets.load_diabetes, 5, "Adam", SLOW),
    Case("diabetes, a number, 5 columns", datasets.load_diabetes, 5, "Adam, three times as fast",
         {"learning_rate": 0.01}),
)  # fmt: skip


def study(case: Case, rounds: int) -> tuple[Plan, list[ArrayTable]]:
    """The plan, and the tables of its cohorts."""
    x, y = case.load(return_X_y=True)
    x = x[:, x.std(axis=0) > x.std(axis=0).max() / 3] if case.load is datasets.load_digits else x
    x = x[:, : case.columns]
    classes = tuple(map(str, range(int(y.max()) + 1))) if case.load is not datasets.load_diabetes else ()
    outcome = (
        Column("y", "category", levels=classes, role="outcome") if classes else Column("y", role="outcome")
    )
    named = {"test": case.test, "cohorts": COHORTS, "compensator_key": NO_KEY}
    schema = (*(Column(f"x{k}") for k in range(x.shape[1])), outcome)
    fields = {**usual(case.test), **named, "schema": schema, "patience": 0, "training_rounds": rounds}
    fields |= {"validation_folds": FOLDS, "people_in_a_round": FEW, "files": ("model",), **case.options}
    plan = Plan(**fields)
    method, found = check(plan), []
    noise = np.random.default_rng(2).normal(0, 1.2 * y.std(), len(y))
    for rows in np.split(np.argsort(y + noise, kind="stable"), [len(y) // 2, len(y) * 4 // 5]):
        values = x[rows] if classes else np.column_stack([x[rows], y[rows]])
        words = {"y": Words.of([str(int(k)) for k in y[rows]])} if classes else {}
        found.append(method.prepared(ArrayTable(values, words), plan))
    return plan, found


@dataclass(eq=False)
class Followed:
    """A study, with the question of each round and the rows that take part in it."""

    plan: Plan
    tables: list[ArrayTable]

    def __post_init__(self) -> None:
        self.rounds: list[tuple[SumGradient, np.ndarray]] = []
        call, kinds = whole(Study(self.plan, lambda: Panel.of([]))), questions_of(self.plan)
        self.federation = _Federation(call, self.tables, kinds)
        Tree(call, kinds, self._total, []).value()

    def _total(self, place: Place, question: Question) -> Arrays:
        if isinstance(question, SumGradient):
            pairs = zip(self.tables, self.federation.own_seeds, strict=True)
            taken = [question.taken(drawing(table, question, seed)) for table, seed in pairs]
            self.rounds.append((question, np.concatenate(taken)))
        return self.federation.total(place, question)

    def central(self, order: Callable[[int], np.ndarray]) -> Iterator[np.ndarray]:
        """The weights at the beginning of each round, trained on the pool in this order of its rows."""
        first, _ = self.rounds[0]
        z, classes, folds = self.pooled()
        fitted, by = folds != first.held_out, order(len(z))
        weights, optimizer = start(first.network, 0), optimizer_of(self.plan, first.size)
        for _, taken in self.rounds:
            yield weights
            rows = by[(taken & fitted)[by]]
            slope = lambda scores, rows=rows: first.slopes(scores, classes[rows], z[rows])  # noqa: E731
            gradient = first.network.gradient(weights, z[rows, : len(first.scale)] * first.scale, slope)
            weights, optimizer = optimizer.step(weights, gradient / len(rows), 0.0)

    def pooled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Design, classes and folds of all cohorts' rows."""
        z, classes, folds = zip(*map(self._rows, self.tables), strict=True)
        return np.concatenate(z), np.concatenate(classes), np.concatenate(folds)

    def _rows(self, table: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Design, classes and folds of a table, in its own order."""
        first, _ = self.rounds[0]
        z, folds = np.zeros((len(table.values), first.design.columns)), np.zeros(len(table.values), np.int64)
        for fold, rows, part in first.design.blocks(table):
            z[rows], folds[rows] = part, fold
        return z, table.classes, folds


def apart(one: np.ndarray, other: np.ndarray) -> str:
    """The mean squared difference, as it is printed."""
    return f"{np.mean((one - other) ** 2):.0e}"


def lines(case: Case, rounds: tuple[int, ...]) -> Iterator[str]:
    followed = Followed(*study(case, rounds[-1]))
    shuffled = np.random.default_rng(3).permutation
    first, second = (list(followed.central(order)) for order in (np.arange, shuffled))
    federated = [question.weights for question, _ in followed.rounds]
    about = f"| {case.table} | {case.method} |"
    for what, weights in (("the study", federated), ("the pool, rows in another order", second)):
        yield f"{about} {what} | " + " | ".join(apart(weights[k], first[k]) for k in rounds) + " |"


def locally(algorithm: str, steps: int, batch: int, in_all: int) -> str:
    """A line about a study by local updates, beside as many steps of gradient descent on the pool."""
    options = {"local_algorithm": algorithm, "local_steps": steps, "batch_rows": batch, "learning_rate": 0.2}
    case = Case("", datasets.load_digits, 24, "", options, "local-updates")
    followed = Followed(*study(case, in_all // steps))
    last, _ = followed.rounds[-1]
    z, classes, folds = followed.pooled()
    fitted, others = folds != last.held_out, folds == last.held_out
    slope = lambda scores: last.slopes(scores, classes[fitted], z[fitted])  # noqa: E731
    central = start(last.network, 0)
    for _ in range(in_all):
        central = (
            central
            - 0.2
            * last.network.gradient(central, z[fitted, : len(last.scale)] * last.scale, slope)
            / fitted.sum()
        )

    def right(weights: np.ndarray) -> str:
        scores = last.network.scores(weights, z[others, : len(last.scale)] * last.scale)
        return f"{100 * np.mean(scores.argmax(axis=1) == classes[others]):.1f} %"

    name, rows = (
        {"fedcmb": "FedCMB", "weighted": "weighted"}[algorithm],
        "all" if batch == ALL_ROWS else batch,
    )
    found = f"{apart(last.weights, central)} | {right(last.weights)} | {right(central)}"
    return f"| {name} | {steps} | {rows} | {in_all // steps:,} | {found} |"


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    rounds, cases = (SMALL, CASES[:1]) if given.small else (ROUNDS, CASES)
    head = " | ".join(f"{k:,} rounds" for k in ROUNDS)
    rows = [row for case in cases for row in lines(case, rounds)]
    measuring.write(
        given.out,
        "networks",
        [
            f"| Table | Optimizer | Beside the pool | {head} |",
            "| --- | --- | --- | ---: | ---: | ---: |",
            *rows,
        ],
    )
    local, in_all = (LOCAL[:1], FEW_STEPS) if given.small else (LOCAL, STEPS)
    measuring.write(
        given.out,
        "networks-local",
        [
            "| Algorithm | Steps in a round | Rows of a step | Rounds | Mean squared difference of weights | "
            "Right | Right, in the pool |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(locally(*each, in_all) for each in local),
        ],
    )


if __name__ == "__main__":
    main()
