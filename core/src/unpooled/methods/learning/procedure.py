"""Procedure of a study of models, from counts to products, and the tables the model is computed from.

Nothing but counts is asked before the floors have been looked at: enough people in each fold, of each class,
with each level, and for each column. Then one sum of each column, its mean, is asked for, and how many people
are beside that mean: nothing more before these are enough. By all these counts folds are joined, if need be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.asking.procedure import Asks, Rows, Study
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse
from unpooled.fitted.encoder import distinct, outputs_of
from unpooled.kernels.fixed_order import product
from unpooled.methods.learning.design import MOST_COLUMNS, MOST_WIDE, SumProducts, may_be_wide, targets_of
from unpooled.methods.learning.floors import (
    CLASS,
    FEWEST_PEOPLE_A_COLUMN,
    Floor,
    join_folds,
    joined,
    of_columns,
    of_missing,
    of_people,
    settle_folds,
)
from unpooled.methods.learning.models import is_by_class
from unpooled.methods.learning.options import VALIDATION_FOLDS
from unpooled.methods.learning.pool import Folds, folds_of
from unpooled.methods.learning.questions import (
    BY_FOLD,
    CountLevelsByFold,
    CountPeople,
    CountSides,
    SiftByFold,
)
from unpooled.methods.learning.reading import class_names, examples, outcome_place
from unpooled.methods.learning.scaling import Scales, find_scales
from unpooled.methods.tables.census import count_values
from unpooled.methods.tables.encoding import procedure as encoding
from unpooled.methods.tables.encoding.procedure import ROWS, sift
from unpooled.methods.tables.encoding.questions import no_codes, sizes_of, split
from unpooled.methods.tables.encoding.rest import fold_rests
from unpooled.methods.tables.moments import Average, FindMagnitude, MeasureSpread, find_means, find_spread
from unpooled.plan.categories import MISSING
from unpooled.plan.encodings import ONE_HOT, ORDINAL, YEO_JOHNSON
from unpooled.plan.plan import Plan

FOLDS, DESIGN = "folds", "design"
"""The result tables: people and sums of each fold; how each column is standardised. The dictionaries
of categories are in tables as of a study of encodings."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of all categories that are kept, with how many rows have them."""

    name: ClassVar[str] = "model/kept-levels"

    kept: np.ndarray
    """bool (levels of all categories,)"""
    rows: tuple[np.ndarray, ...]
    """Rows at each kept level of a category, the rest last: one int64 (kept + 1,) for each category."""

    @property
    def shares(self) -> np.ndarray:
        """The share of rows with each kept level, and with the rest: float64 (all of these,)."""
        return np.concatenate([rows / max(1, rows.sum(dtype=int)) for rows in self.rows] or [np.zeros(0)])


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums that a model is computed from."""

    name: ClassVar[str] = "model/ground"

    question: SumProducts
    """Question that they answer."""
    people: np.ndarray
    rows: np.ndarray
    """int64 (folds,)"""
    sums: np.ndarray
    products: np.ndarray
    names: tuple[str, ...]
    """Names of the columns before the outcome."""
    references: tuple[int, ...]
    """The first column of each category that has one for each value."""

    @property
    def counted(self) -> Arrays:
        """People and rows of each fold."""
        return {"people": self.people, "rows": self.rows}

    def folds(self, unit: float = 1.0) -> Folds:
        """The folds of the pool; the outcome is taken `unit` times a number."""
        asked = self.question
        answers = {"rows": self.rows, "sums": self.sums, "products": self.products}
        return folds_of(answers, asked.centre, asked.exponent, asked.targets, unit, asked.units)


@dataclass(frozen=True, eq=False)
class Described:
    """The design, and what was counted before."""

    name: ClassVar[str] = "model/described"

    question: SumProducts
    people: np.ndarray
    rows: np.ndarray
    """int64 (folds,): as they are joined"""
    levels: Levels
    others: int
    """So many people there are at least without any one cohort."""
    spread: np.ndarray
    """float64 (columns,): the deviation of each column, the outcome last; 1 of classes"""
    of_class: np.ndarray
    """int64 (classes,): people of each class"""

    @property
    def units(self) -> np.ndarray:
        """The number that each column is divided by: its deviation, or what its scaling says instead."""
        units = self.spread.copy()
        own = np.array(self.question.units)
        units[: len(own)] = np.where((own > 0) & (units[: len(own)] > 0), own, units[: len(own)])
        return units

    @property
    def counted(self) -> Arrays:
        """People and rows of each fold."""
        return {"people": self.people, "rows": self.rows}

    @property
    def has_one_fold(self) -> bool:
        """Tell whether nothing is left out that a model could be tested on."""
        return bool(np.count_nonzero(self.rows) < 2)

    def report(self, plan: Plan, sums: Arrays) -> Iterator[Rows]:
        """Report how columns are standardised, the folds with their sums, and levels."""
        asked = self.question
        design = {"index": np.arange(asked.columns), "centre": asked.centre, "exponent": asked.exponent}
        yield Rows(DESIGN, design)
        yield Rows(FOLDS, {"index": np.arange(asked.folds), "part_of": asked.part_of, **self.counted, **sums})
        yield from report_levels(plan, self.levels, asked.rows)


def sum_products(study: Study, described: Described) -> Asks[Sums]:
    """The products of all columns, by fold; reports them."""
    question = described.question
    sums = yield question
    yield Rows.later(partial(described.report, study.plan, sums))
    found: dict[str, Any] = {**described.counted, **sums, **names_of(study.plan, described.levels)}
    return Sums(question, **found)


def describe_columns(study: Study) -> Asks[Described]:
    """Find how columns are standardised, which levels are kept and which folds joined. Refuse what is below a
    floor.
    """
    plan = study.plan
    counted = yield CountPeople(plan)
    floors = of_people(plan, counted)
    join_folds(plan, floors)
    n = yield from count_values(study)
    levels, of_words = yield from keep_levels(study, counted["rows"])
    # Where each class has sums of its own, the smallest must be large enough.
    groups = [floor.counts.sum(dtype=int) for floor in floors if (floor.kind == CLASS) == is_by_class(plan)]
    refuse_wide(plan, levels, int(min(groups)))
    scales = yield from find_scales(study, n)
    means = yield from find_means(study, n, FindMagnitude, Average, scales.bends)
    sides = yield CountSides(plan, means.centre, bends=scales.bends)
    floors = [*floors, *of_words, *of_columns(plan, sides)]
    part_of = join_folds(plan, floors)
    part_of, others = yield from settle_folds(
        plan, floors, part_of, means.centre, columns_of(plan, levels), scales.bends
    )
    mean, deviation = yield from find_spread(study, n, means, MeasureSpread, scales.bends)
    centre, spread = design_moments(plan, levels, mean, deviation)
    exponent = np.where(spread > 0, np.frexp(spread * (1 + 1e-6))[1], 0).astype(np.int64)
    rows_of_pool = int(counted["rows"].sum(dtype=int))
    question = question_of(plan, levels, rows_of_pool, centre, exponent, part_of, scales)
    people, rows = (joined(counted[name], part_of) for name in ("people", "rows"))
    of_class = counted["of_class"].reshape(-1, VALIDATION_FOLDS.of(plan)).sum(axis=1, dtype=int)
    return Described(question, people, rows, levels, others, spread, of_class)


def describe_images(study: Study) -> Asks[Described]:
    """The same of images and their classes, of which only people have to be counted."""
    plan = study.plan
    counted = yield CountPeople(plan)
    floors = of_people(plan, counted)
    part_of, others = yield from settle_folds(plan, floors, join_folds(plan, floors), np.zeros(0), 0)
    rows_of_pool = int(counted["rows"].sum(dtype=int))
    question = replace(SumProducts.widest(plan), rows=rows_of_pool, part_of=part_of)
    people, rows = (joined(counted[name], part_of) for name in ("people", "rows"))
    of_class = counted["of_class"].reshape(-1, VALIDATION_FOLDS.of(plan)).sum(axis=1, dtype=int)
    levels, spread = Levels(np.zeros(0, bool), ()), np.ones(question.columns)
    return Described(question, people, rows, levels, others, spread, of_class)


def foresee(table: ArrayTable, plan: Plan) -> None:
    """Raise the Refuse of a study whose cohorts all have a table as this one.

    Whom a lambda of theirs leaves above a mean is not known, and not looked at.
    """
    bent = [k for k, column in enumerate(plan.features) if column.scaling == YEO_JOHNSON]
    if bent:
        table = replace(table, values=table.values.copy())
        table.values[:, bent] = np.nan
    known = ~np.isnan(table.values)
    # Divided first: the sum of values near the largest float64 is none.
    means = (np.where(known, table.values, 0) / np.maximum(1, known.sum(axis=0))).sum(axis=0)
    counted, sides = (
        {name: plan.cohorts * count for name, count in question.local(table).items()}
        for question in (CountPeople(plan), CountSides(plan, means))
    )
    folds, missing = examples(table).folds, (table.categories.levels < 0).T
    of_words = [
        of_missing(
            plan, column.title, plan.cohorts * np.bincount(folds[rows], minlength=VALIDATION_FOLDS.of(plan))
        )
        for column, rows in zip(plan.dictionaries, missing, strict=True)
        if column.encoded.kind == ONE_HOT
    ]
    join_folds(plan, [*of_people(plan, counted), *of_words, *of_columns(plan, sides)])


def question_of(
    plan: Plan,
    levels: Levels,
    rows: int,
    centre: np.ndarray,
    exponent: np.ndarray,
    part_of: np.ndarray,
    scales: Scales,
) -> SumProducts:
    """The question about the products of all columns, scaled and standardised so, of so many rows."""
    return SumProducts(
        plan,
        rows=rows,
        part_of=part_of,
        kept=levels.kept,
        shares=levels.shares,
        centre=centre,
        exponent=exponent,
        units=scales.units(plan),
        bends=scales.bends,
    )


def names_of(plan: Plan, levels: Levels) -> dict[str, Any]:
    """`names` and `references` of the sums over a design."""
    numbers = [column.title for column in plan.features if not column.is_outcome]
    outputs, references, first, width = dict[str, Sequence[str]](), [], 0, len(numbers)
    for column, size in zip(plan.dictionaries, sizes_of(plan).tolist(), strict=True):
        kept = np.flatnonzero(levels.kept[first : first + size]).tolist()
        words = [*column.levels, MISSING]  # where a missing word counts, it comes last
        if column.encoded.kind == ONE_HOT:
            references.append(width)
        made = outputs_of(column.title, column.encoding, [words[k] for k in kept])
        outputs[column.title] = made
        first, width = first + size, width + len(made)
    names = chain(numbers, *distinct(outputs, plan.beside).values())
    return {"names": tuple(names), "references": tuple(references)}


def report_levels(plan: Plan, levels: Levels, rows: int) -> Iterator[Rows]:
    """The dictionaries, in tables as a study of encodings reports them; none without categories."""
    if not plan.dictionaries:
        return
    sizes, counts = sizes_of(plan), [of[:, None] for of in levels.rows]
    index, known = np.arange(len(sizes)), np.array([count.sum() for count in counts])
    yield Rows(ROWS, {"index": np.zeros(1, np.int64), "rows": np.array([rows])})
    yield Rows(encoding.COLUMNS, {"index": index, "known": known})
    ones = np.ones(len(sizes), np.int64)
    yield Rows(encoding.LEVELS, encoding.levels_table(sizes, ones, levels.kept, {"rows": counts}))


def keep_levels(study: Study, in_folds: np.ndarray) -> Asks[tuple[Levels, list[Floor]]]:
    """The levels that enough people, in enough cohorts, have in every fold; and the floors of who has none.

    `in_folds`, int64 (folds,): how many rows there are.
    """
    plan = study.plan
    if not plan.dictionaries:
        return Levels(np.zeros(0, bool), ()), []
    codes = no_codes(plan)
    kept = yield from sift(study, codes, SiftByFold)
    # Of a person with several rows each may have another level: so these are compared with rows.
    kept = yield from fold_rests(plan, codes, kept, np.tile(in_folds, len(codes)), BY_FOLD)
    question = CountLevelsByFold(plan, codes, kept)
    sums = yield question
    rows = list(split(sums["of_rows"], question.lines, question.folds))
    missing = [
        of_missing(plan, column.title, in_folds - count.sum(axis=0, dtype=int))
        for column, count in zip(plan.dictionaries, rows, strict=True)
        if column.encoded.kind == ONE_HOT
    ]
    return Levels(kept, tuple(count.sum(axis=1, dtype=int) for count in rows)), missing


def design_moments(
    plan: Plan, levels: Levels, mean: np.ndarray, deviation: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each column of the design, outcome last: float64 (columns,).

    `mean` and `deviation`, float64 (features,), are those of the columns of numbers.
    """
    place, targets = outcome_place(plan), targets_of(len(class_names(plan)))
    numbers = [k for k in range(len(mean)) if k != place]
    found = [(mean[numbers], deviation[numbers])]
    for column, rows in zip(plan.dictionaries, levels.rows, strict=True):
        share = rows / max(1, rows.sum(dtype=int))
        if column.encoded.kind == ONE_HOT:
            found.append((share, np.sqrt(share * (1 - share))))
            continue
        value = np.arange(len(rows), dtype=float) if column.encoded.kind == ORDINAL else share
        centre = product(value, share)[None]
        found.append((centre, np.sqrt(product((value - centre) ** 2, share))[None]))
    classes = np.zeros(targets), np.ones(targets)
    found.append(classes if place is None else (mean[[place]], deviation[[place]]))
    centres, spreads = (np.nan_to_num(np.concatenate(part)) for part in zip(*found, strict=True))
    return centres, spreads


def columns_of(plan: Plan, levels: Levels) -> int:
    """Count the columns of the design before the outcome."""
    wide = [len(rows) if column.encoded.kind == ONE_HOT else 1
            for column, rows in zip(plan.dictionaries, levels.rows, strict=True)]  # fmt: skip
    return len(plan.features) - (outcome_place(plan) is not None) + sum(wide)


def refuse_wide(plan: Plan, levels: Levels, people: int) -> None:
    """Refuse if there are too many columns for so many people."""
    columns = columns_of(plan, levels)
    most = MOST_WIDE if may_be_wide(plan) else MOST_COLUMNS
    if columns > most:
        raise Refuse(
            "schema",
            f"the features become {columns:,} columns, and {most:,} is the most for this method",
            "Declare some of them as ignored, or choose ridge regression, which takes the most.",
        )
    if people < FEWEST_PEOPLE_A_COLUMN * columns and not plan.alone:
        raise Refuse(
            "schema",
            f"{people:,} people are too few for {columns:,} columns: sums would say much about each one",
            f"Have {FEWEST_PEOPLE_A_COLUMN} people for each column: invite more cohorts, or declare some "
            "features as ignored.",
        )
