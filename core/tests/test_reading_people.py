"""Whoever sees all that the server of a study of models sees tries to read a single person's row from it."""

from __future__ import annotations

from typing import Any

import models
import numpy as np
import pytest
from asking import NOBODY, Followed, followed

from unpooled.algorithms.learning.procedure import describe_columns
from unpooled.algorithms.learning.questions import SumProducts
from unpooled.errors import Refuse
from unpooled.plan import OwnPlan, Plan
from unpooled.procedure import Asks, Study
from unpooled.schema import Column

ROWS = 600


def one_of(value: float, others: float) -> np.ndarray:
    column = np.full(ROWS, others)
    column[77] = value
    return column


def columns() -> dict[str, tuple[list[Column], dict[str, Any]]]:
    """A column by which somebody stands out, with its place in the schema."""
    rare = [Column("rare")]
    words = np.full(ROWS, "no", object)
    words[77] = "yes"
    return {
        "one has it": (rare, {"rare": one_of(1, 0)}),
        "one lacks it": (rare, {"rare": one_of(0, 1)}),
        "one is far off": (rare, {"rare": one_of(1e6, 3.5)}),
        "two have it": (rare, {"rare": one_of(1, 0) + np.roll(one_of(1, 0), 5)}),
        "one lacks the word": (
            [Column("rare", "category", "", "one-hot", ("no",))],
            {"rare": np.where(words == "yes", None, words)},
        ),
        "one has the level": ([Column("rare", "category", "", "one-hot", ("no", "yes"))], {"rare": words}),
    }


def study(case: str) -> tuple[Plan, list[dict[str, Any]], np.ndarray]:
    """The plan, the cohorts, and everybody's features and outcome in the order of the design."""
    random = np.random.default_rng(8)
    more, rare = columns()[case]
    x = random.normal(50, 9, (ROWS, 3))
    cells = {**models.cells_of(x, random.normal(size=ROWS)), **rare}
    plan = models.plan_of("ridge", models.schema_of(3, "number", *more), 3, validation_folds=2)
    return plan, [{name: column[k::3] for name, column in cells.items()} for k in range(3)], x


def seen(plan: Plan, cohorts: list[dict[str, Any]]) -> Followed:
    return followed(plan, NOBODY, [models.table_of(cells, plan) for cells in cohorts])


def read_people(found: Followed) -> list[np.ndarray]:
    """Rows of single people, as the products of a column with all others give them.

    Of a column x that is v for one person of a fold and w for all others, the sum of (x - w) y over the fold
    is (v - w) times that person's y, whatever column y is. v and w follow from the sums of x and x^2.
    """
    for question, sums in found.answers:
        if isinstance(question, SumProducts):
            return [row for fold in range(question.folds) for row in _of_fold(question, sums, fold, found)]
    return []


def _of_fold(question: SumProducts, sums: Any, fold: int, found: Followed) -> list[np.ndarray]:
    n = next(sums["rows"][fold] for asked, sums in found.answers if "rows" in sums and "of_class" in sums)
    k = question.columns
    products = np.zeros((k, k))
    products[np.triu_indices(k)] = sums["products"][fold]
    products = products + products.T - np.diag(np.diag(products))
    total = sums["sums"][fold]
    mean, rows = total / n, []
    covariance = products / n - np.outer(mean, mean)
    scale = np.ldexp(1.0, question.exponent.astype(int))
    for direction in directions(question, scale):
        variance = direction @ covariance @ direction
        for side in (1, -1) if variance > 0 else ():
            # One person is sqrt(n - 1) deviations from the mean of the fold, all others as much less.
            beyond = side * np.sqrt((n - 1) * variance)
            row = mean + covariance @ direction * (n - 1) / beyond
            rows.append(row * scale + question.centre)
    return rows


def directions(question: SumProducts, scale: np.ndarray) -> list[np.ndarray]:
    """Each column by itself, and all columns of a category together: 0 for those who lack a word."""
    together = np.where(
        (np.arange(question.columns) >= 3) & (np.arange(question.columns) < len(scale) - 1), scale, 0
    )
    return [*np.eye(question.columns), together]


def is_somebody(row: np.ndarray, people: np.ndarray) -> bool:
    return bool((np.abs(people - row[: people.shape[1]]) < 1e-4).all(axis=1).any())


@pytest.mark.parametrize("case", columns())
def test_without_floors_a_person_who_stands_out_is_read(case: str) -> None:
    """The attempt succeeds where it should: so the test below can fail."""
    plan, cohorts, people = study(case)
    open_plan = OwnPlan(**vars(plan))
    found = any(is_somebody(row, people) for row in read_people(seen(open_plan, cohorts)))
    assert found == (case != "two have it" or alone_in_a_fold(open_plan, cohorts))


def alone_in_a_fold(plan: Plan, cohorts: list[dict[str, Any]]) -> bool:
    """Whether the two who have it are in two folds."""
    folds = [models.table_of(cells, plan).folds[np.asarray(cells["rare"]) == 1] for cells in cohorts]
    return len(set(np.concatenate(folds).tolist())) == 2


@pytest.mark.parametrize("case", columns())
def test_with_floors_nobody_is_read(case: str) -> None:
    plan, cohorts, people = study(case)
    try:
        found = seen(plan, cohorts)
    except Refuse as error:
        wanted = "missing_words" if case == "one lacks the word" else "schema"
        assert error.field == wanted and "rare" in error.reason and case != "one has the level"
    else:
        assert case == "one has the level"
        assert not any(is_somebody(row, people) for row in read_people(found))


def test_nothing_but_counts_and_moments_is_asked_before_a_refusal() -> None:
    """What is summed before the floors have been looked at says nothing of two columns at once."""
    plan, cohorts, _ = study("one has it")
    asked: list[str] = []
    generator: Asks[Any] = iter(describe_columns(Study(plan, lambda: NOBODY)))  # type: ignore[assignment]
    tables = [models.table_of(cells, plan) for cells in cohorts]
    answer = None
    with pytest.raises(Refuse):
        while True:
            question = generator.send(answer)
            asked.append(question.name)
            answers = [question.local(table) for table in tables]
            answer = {name: sum(one[name] for one in answers) for name in answers[0]}
    assert asked[-1] == "model/sides"
