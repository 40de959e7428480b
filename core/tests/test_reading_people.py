"""Whoever sees all that the server of a study of models sees tries to read a single person's row from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import models
import numpy as np
import pytest
from asking import NOBODY, Followed, followed, sums_over
from score_pools import pooled

from unpooled.asking.question import Arrays, Count, Question
from unpooled.errors import Refuse
from unpooled.methods.learning import design
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.wide_questions import SumWithOutcome
from unpooled.methods.polygenic.questions import SumColumns, SumWithAlleles
from unpooled.methods.tables.moments import Average
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Covariate, OwnPlan, Plan
from unpooled.plan.schema import Column

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


NUMBERS = ("ridge", "lasso", "elastic-net", "linear-model")
METHODS = [*((method, "number") for method in NUMBERS), ("logistic-model", "a|b"), ("fedheonn", "a|b|c")]
of_each_method = pytest.mark.parametrize(("method", "outcome"), METHODS)


def study(
    case: str, method: str = "ridge", outcome: str = "number"
) -> tuple[Plan, list[dict[str, Any]], np.ndarray]:
    """The plan, the cohorts, and everybody's features and outcome in the order of the design."""
    random = np.random.default_rng(8)
    more, rare = columns()[case]
    x, y = random.normal(50, 9, (ROWS, 3)), random.normal(size=ROWS)
    if outcome != "number":
        names = np.array(outcome.split("|"))
        y = names[np.argsort(np.argsort(y)) * len(names) // ROWS]
    cells = {**models.cells_of(x, y), **rare}
    schema = models.schema_of(3, outcome, *more)
    plan = models.plan_of(method, schema, 3, validation_folds=2)
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


@of_each_method
@pytest.mark.parametrize("case", columns())
def test_without_floors_a_person_who_stands_out_is_read(case: str, method: str, outcome: str) -> None:
    """The attempt succeeds where it should: so the test below can fail."""
    plan, cohorts, people = study(case, method, outcome)
    open_plan = OwnPlan(**vars(plan))
    found = any(is_somebody(row, people) for row in read_people(seen(open_plan, cohorts)))
    assert found == (case != "two have it" or alone_in_a_fold(open_plan, cohorts))


def alone_in_a_fold(plan: Plan, cohorts: list[dict[str, Any]]) -> bool:
    """Tell whether the two who have it are in two folds."""
    folds = [models.table_of(cells, plan).folds[np.asarray(cells["rare"]) == 1] for cells in cohorts]
    return len(set(np.concatenate(folds).tolist())) == 2


@of_each_method
@pytest.mark.parametrize("case", columns())
def test_with_floors_nobody_is_read(case: str, method: str, outcome: str) -> None:
    plan, cohorts, people = study(case, method, outcome)
    try:
        found = seen(plan, cohorts)
    except Refuse as error:
        wanted = "missing_words" if case == "one lacks the word" else "schema"
        assert error.field == wanted and "rare" in error.reason and case != "one has the level"
    else:
        assert case == "one has the level"
        assert not any(is_somebody(row, people) for row in read_people(found))


@pytest.mark.parametrize("case", ["one has it", "one lacks it", "one is far off"])
def test_of_very_many_columns_the_outcome_of_one_is_read_without_floors(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums with the outcome are left where there are no products of columns, and tell it."""
    monkeypatch.setattr(design, "MOST_COLUMNS", 3)
    plan, cohorts, _ = study(case)
    theirs = cohorts[77 % 3]["y"][77 // 3]
    assert np.abs(outcomes_of_one(seen(OwnPlan(**vars(plan)), cohorts)) - theirs).min() < 1e-6
    with pytest.raises(Refuse, match=r"people are above, or below, the mean of all"):
        seen(plan, cohorts)


def outcomes_of_one(found: Followed) -> np.ndarray:
    """Somebody's outcome, if there is a column by which that person stands out: in each fold by each one.

    From the sums of x, x^2 and x y, as `read_people` does it.
    """
    (question, sums), counted = (
        next(((q, sums) for q, sums in found.answers if isinstance(q, SumWithOutcome))),
        found.answers[0][1],
    )
    rows, scale = counted["rows"][:, None], np.ldexp(1.0, question.design.exponent[-1])
    mean, mean_y = sums["sums"] / rows, sums["sums"][:, -1:] / rows
    deviation = np.sqrt(np.maximum(sums["squares"] / rows - mean**2, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (sums["crossed"] / rows - mean * mean_y) / deviation
        both = [mean_y + side * slope * np.sqrt(rows - 1) for side in (1, -1)]
    return np.nan_to_num(np.array(both)[..., :-1] * scale + question.design.centre[-1], nan=np.inf)


def asked_until_refused(
    plan: Plan, cohorts: list[Any], panel: Panel = NOBODY
) -> tuple[list[type[Question]], Refuse]:
    """The kinds of questions that were answered before the study was refused."""
    asked: list[type[Question]] = []
    sums = sums_over(cohorts)

    def noted(question: Question) -> Arrays:
        asked.append(type(question))
        return sums(question)

    with pytest.raises(Refuse) as refusal:
        followed(plan, panel, cohorts, noted)
    return asked, refusal.value


def sums_of(kinds: list[type[Question]]) -> list[str]:
    """Return the kinds of questions that ask for anything but counts."""
    return [kind.name for kind in kinds if not all(isinstance(array, Count) for array in kind.sends)]


FEW = {
    "people": (27, {}, "schema", "and sums over"),
    "people of a class": (
        600,
        {"classes": 12},
        "schema",
        "of a fold, however folds are joined, have the outcome",
    ),
    "people of a column": (600, {"columns": 70}, "schema", "people are too few for"),
    "missing words": (600, {"lacking": 3}, "missing_words", "may lack a word"),
    "values of a column": (600, {"known": 25}, "schema", "fewer than 3 cohorts"),
}


@of_each_method
@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("what", FEW)
def test_few_are_refused_before_anything_but_counts_is_summed(
    what: str, is_wide: bool, method: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People, those of a class in a fold, for each column, without a word, or with a value.

    Who lacks a word is counted with those on either side of the means, which are the pool's.
    """
    if is_wide:
        monkeypatch.setattr(design, "MOST_COLUMNS", 4)
    rows, few, field, reason = FEW[what]
    if "classes" in few and outcome == "number":
        return
    random = np.random.default_rng(rows)
    x, word = random.normal(size=(rows, few.get("columns", 3))), np.full(rows, "no", object)
    word[::2] = "yes"
    word[: few.get("lacking", 0)] = None
    x[few.get("known", rows) :, 1] = np.nan
    y: Any = random.normal(size=rows)
    if outcome != "number":
        y = np.resize(np.array(outcome.split("|")), rows)
        y[few.get("classes", rows) :] = "a"
    schema = models.schema_of(x.shape[1], outcome, Column("word", "category", "", "one-hot", ("no", "yes")))
    plan = models.plan_of(method, schema, 3, validation_folds=2 if rows > 100 else 4)
    cells = {**models.cells_of(x, y), "word": word}
    cohorts = [models.table_of({name: of[k::3] for name, of in cells.items()}, plan) for k in range(3)]
    if what == "values of a column":  # of one cohort only
        cohorts = [models.table_of({n: of[a:b] for n, of in cells.items()}, plan)
                   for a, b in ((0, 300), (300, 450), (450, 600))]  # fmt: skip
    asked, error = asked_until_refused(plan, cohorts)
    # Too few people for two folds are too few for a penalty; a fit without one has a single fold.
    fields = {field, "validation_folds"} if what == "people" else {field}
    assert error.field in fields and reason in error.reason
    assert sums_of(asked) == [Average.name] * (what == "missing words")


@of_each_method
def test_of_a_column_by_which_one_stands_out_nothing_but_its_mean_is_summed(
    method: str, outcome: str
) -> None:
    plan, cohorts, _ = study("one has it", method, outcome)
    asked, _ = asked_until_refused(plan, [models.table_of(cells, plan) for cells in cohorts])
    assert sums_of(asked) == [Average.name] and asked[-1].name == "model/sides"


LONE = {"a covariate": "covariates", "the phenotype": "phenotype"}


@pytest.mark.parametrize("column", LONE)
def test_genotypes_of_one_who_stands_out_are_read_without_floors(column: str) -> None:
    """Sums of genotype times a column in which only one person differs tell the genotypes, variant by
    variant.
    """
    one = pooled(variants=40, covariates=1)
    samples, who = one.samples, 200
    values = np.zeros(len(samples))
    values[who] = 1e4
    if column == "a covariate":
        samples.covariates[:, 0] = values
    else:
        samples.phenotype[:] = np.where(np.isnan(samples.phenotype), np.nan, 5 + values)
    is_left_out = bool(one.drawn()[1][who])
    found = followed(OwnPlan(**vars(one.plan)), one.panel, one.cohorts)
    place = 1 if column == "a covariate" else 2
    read = genotypes_of_one(found, place, int(is_left_out))
    kept = np.concatenate([q.items for q, _ in found.answers if isinstance(q, SumWithAlleles)])
    assert np.abs(read - one.copies[kept, who]).max() < 1e-6 and len(kept) > 30
    asked, error = asked_until_refused(one.plan, one.cohorts, one.panel)
    assert error.field == LONE[column] and "are above the mean" in error.reason
    assert sums_of(asked) == ["standardise/mean", "standardise/spread"]
    assert asked[-1].name == "polygenic/sides"


def genotypes_of_one(found: Followed, place: int, group: int) -> np.ndarray:
    """Copies of a person for whom alone a column of a group differs from others: float64 (variants,)."""
    products = next(sums["products"] for q, sums in found.answers if isinstance(q, SumColumns))[group]
    width = int(np.sqrt(2 * len(products)))
    i, j = np.triu_indices(width)
    full = np.zeros((width, width))
    full[i, j] = full[j, i] = products
    n, total, squares = full[0, 0], full[0, place], full[place, place]
    # Others have the value w, that person v: n w + (v - w) and n w^2 + (v^2 - w^2) are known.
    apart = np.sqrt((squares - total**2 / n) * n / (n - 1))
    others = (total - apart) / n
    sums = [(q.mean, sums["sums"][:, group]) for q, sums in found.answers if isinstance(q, SumWithAlleles)]
    return np.concatenate([mean + (s[:, place] - others * s[:, 0]) / apart for mean, s in sums])


@pytest.mark.parametrize("what", ["people", "cases", "levels"])
def test_few_people_left_out_are_refused_before_anything_but_counts_is_summed(what: str) -> None:
    trait = "case/control" if what == "cases" else "quantitative"
    one = pooled(people=25 if what == "people" else 300, variants=40, covariates=1, trait=trait)
    if what == "cases":
        one.samples.phenotype[30:] = 0
    plan = one.plan
    if what == "levels":
        one.samples.covariates[:, 0] = np.arange(300) % 20 == 0
        plan = replace(plan, covariates=(Covariate("diet", ("chow", "fat")),))
    asked, error = asked_until_refused(plan, one.cohorts, one.panel)
    assert sums_of(asked) == []
    assert error.field == ("covariates" if what == "levels" else "held_out")
