"""Questions of a study of encodings: counts of words by the plan's levels, and sums of targets.

Cells of a column lie level by level, and fold by fold where the column is encoded by a target and the plan
has folds. A word that is none of the levels is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from unpooled.asking.cohort import Categories, Table
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Count, Foreseen, Real, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import ProtocolError
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.tables.census import FEWEST_VALUES
from unpooled.methods.tables.encoding.options import FOLDS, HOLDERS, MISSING_IS_VALUE, MISSING_WORDS, PEOPLE
from unpooled.methods.tables.moments import Average, FindMagnitude, MeasureSpread
from unpooled.plan.plan import Plan
from unpooled.plan.schema import MOST_LEVELS

Codes: TypeAlias = tuple[np.ndarray, ...]
"""Codes of the levels of each column with a dictionary: uint64; empty for a column that is not searched."""


def no_codes(plan: Plan) -> Codes:
    """Return empty codes for each column, as they are before a dictionary is found."""
    return (np.zeros(0, np.uint64),) * len(plan.dictionaries)


def sizes_of(plan: Plan, codes: Codes = ()) -> np.ndarray:
    """Count the levels of each column with a dictionary; a missing word may be one: int64 (d,)."""
    more = MISSING_WORDS.of(plan) == MISSING_IS_VALUE
    found = [len(of_column) for of_column in codes or no_codes(plan)]
    return np.array(
        [len(column.levels) + n + more for column, n in zip(plan.dictionaries, found, strict=True)], np.int64
    )


def are_by_target(plan: Plan) -> np.ndarray:
    """Mark the columns with a dictionary that are encoded by a target: bool (d,)."""
    return np.array([bool(column.encoded.target) for column in plan.dictionaries], bool)


def folds_of(plan: Plan) -> np.ndarray:
    """Return the number of folds in which each column with a dictionary is counted: int64 (d,)."""
    return np.where(are_by_target(plan), max(1, FOLDS.of(plan)), 1).astype(np.int64).reshape(-1)


def targets_of(plan: Plan) -> tuple[str, ...]:
    """The columns with a dictionary that are encoded by a target."""
    return tuple(column.title for column in plan.dictionaries if column.encoded.target)


def most_codes(plan: Plan) -> Codes:
    """Return codes of as many levels as there can be."""
    most = [plan.cohorts * column.most for column in plan.dictionaries]
    return tuple(np.arange(min(each, MOST_LEVELS), dtype=np.uint64) for each in most)


def floors(plan: Plan) -> tuple[int, int]:
    """Return how many people, and how many cohorts, must have a value: one each where nobody else sees it."""
    return (1, 1) if plan.alone else (PEOPLE.of(plan), HOLDERS.of(plan))


def split(cells: np.ndarray, rows: np.ndarray, folds: np.ndarray) -> Iterator[np.ndarray]:
    """The cells of each column, (rows, folds) of it."""
    ends = np.cumsum(rows * folds)
    for part, fold in zip(np.split(cells, ends[:-1]) if len(ends) else (), folds, strict=True):
        yield part.reshape(-1, fold)


def merged(cells: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Cells (levels + 1, folds) as (kept + 1, folds): the levels that are not kept are the rest."""
    return np.vstack([cells[:-1][kept], cells[-1] + cells[:-1][~kept].sum(axis=0)])


class OfFloors(UnderPlan):
    """About what as many people and cohorts have as the plan asks for."""

    @property
    def people(self) -> int:
        """Minimum number of people who must have a value."""
        return floors(self.plan)[0]

    @property
    def holders(self) -> int:
        """Minimum number of cohorts in which they must be."""
        return floors(self.plan)[1]

    @property
    def enough(self) -> int:
        """The numbers with which the sums of the rows are compared."""
        return self.people


@dataclass(frozen=True, eq=False)
class OfWords(UnderPlan, ring_bits=64):
    """About the columns of words that have a dictionary."""

    each: ClassVar[dict[str, str]] = {"columns": "column", "cells": "value", "groups": "column"}
    asked_if: ClassVar[Condition] = lambda plan: plan.dictionaries

    codes: Codes

    @classmethod
    def folds_under(cls, plan: Plan) -> np.ndarray:
        """Return the number of folds in which each column is counted: int64 (d,)."""
        return folds_of(plan)

    @property
    def sizes(self) -> np.ndarray:
        """Count the levels of each column: int64 (d,)."""
        return sizes_of(self.plan, self.codes)

    @property
    def folds(self) -> np.ndarray:
        """The number of folds in which each is counted: int64 (d,)."""
        return self.folds_under(self.plan)

    @property
    def columns(self) -> int:
        return len(self.sizes)

    @property
    def needs_codes(self) -> bool:
        return any(len(codes) for codes in self.codes)

    @property
    def groups(self) -> int:
        """Columns, each as often as it has folds."""
        return int(self.folds.sum(dtype=int))

    def columns_of(self, table: Table) -> Categories:
        """The columns of words of a table, with the levels that this question means."""
        found = table.categories
        if found.levels.shape[1] != self.columns:
            raise ProtocolError(
                "the question has another number of columns of words than this cohort's table"
            )
        return _by_codes(found, self.sizes, self.codes) if found.searched else found

    def counted(self, table: Table) -> list[np.ndarray]:
        """Count the rows of each column with each level, and last the rest: int64 (levels + 1, folds)."""
        found = self.columns_of(table)
        return [
            np.bincount(cell, minlength=(size + 1) * folds).reshape(size + 1, folds)
            for size, folds, cell in (
                (size, folds, cells_of(found, k, folds)[1])
                for k, (size, folds) in enumerate(zip(self.sizes.tolist(), self.folds.tolist(), strict=True))
            )
        ]


def _by_codes(found: Categories, sizes: np.ndarray, codes: Codes) -> Categories:
    """The columns with levels for the words of searched ones: the places of their codes."""
    levels = found.levels.copy()
    for k, words in found.searched.items():
        size, place = int(sizes[k]), {code: at for at, code in enumerate(codes[k].tolist())}
        own = found.codes[k].tolist() if place else [None] * len(words)
        # Behind the words come the rest, a missing word that counts, and what counts nowhere: -1 is the last.
        # A cohort's own words are numbered by itself; the question counts by the codes that all share.
        places = np.array([*(place.get(code, size) for code in own), size, size - 1, -1])
        levels[:, k] = places[found.levels[:, k]]
    return replace(found, levels=levels)


def cells_of(found: Categories, column: int, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that count in a column, and the cell of each: int64 (m,) both."""
    rows = np.flatnonzero(found.levels[:, column] >= 0)
    fold = found.folds[rows] if folds > 1 else 0
    return rows, found.levels[rows, column] * folds + fold


def joined(parts: list[np.ndarray], kind: type = np.int64) -> np.ndarray:
    """Cells of all columns one after the other."""
    return np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0, kind)


@dataclass(frozen=True, eq=False)
class CountRows(OfWords, name="encoding/rows", title="Count rows"):
    """Question that counts all rows, and those with a word of each column and its target."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count("rows", (1,), MOST_PEOPLE, "number of rows", "how many rows the pool has"),
        Count(
            "known",
            ("groups",),
            MOST_PEOPLE,
            "per column, and fold: number of rows that have a word, and its target if it is encoded by one",
            "how many words of each column the pool has",
        ),
        Count(
            "enough",
            ("columns",),
            1,
            f"per column: 1 if these are {FEWEST_VALUES} or more, else 0",
            "how many cohorts have that many words of each column",
        ),
    )

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        return cls.sends if plan.dictionaries else cls.sends[:1]

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan, no_codes(plan))])

    def local(self, table: Table) -> Arrays:
        counts = self.counted(table)
        enough = [count.sum() >= FEWEST_VALUES for count in counts]
        return {
            "rows": np.array([len(table.values)]),
            "known": joined([count.sum(axis=0) for count in counts]),
            "enough": np.array(enough, np.int64),
        }


@dataclass(frozen=True, eq=False)
class Sift(OfWords, OfFloors, name="encoding/sift", title="Sift values"):
    """Question that finds the levels that enough people in enough cohorts have; nobody reads how many."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("cells",),
            MOST_PEOPLE,
            "per value of each column, and fold: number of rows that have it",
            UNREAD,
        ),
        Count(
            "held", ("cells",), 1, "per value of each column, and fold: 1 if there are any, else 0", UNREAD
        ),
    )
    opens: ClassVar[Bits] = Bits(
        "kept",
        ("cells",),
        "both-at-least",
        "which values as many people and cohorts have as the plan asks for; of no value how many",
    )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        questions = [cls(plan, most_codes(plan))] if plan.dictionaries else ()
        return Foreseen(questions, exact=not plan.searched)

    @property
    def cells(self) -> int:
        return int((self.sizes * self.folds).sum())

    def thresholds(self) -> Arrays:
        return {"rows": np.full(self.cells, self.enough), "held": np.full(self.cells, self.holders)}

    def local(self, table: Table) -> Arrays:
        rows = joined([count[:-1] for count in self.counted(table)])
        return {"rows": rows, "held": (rows > 0).astype(np.int64)}


@dataclass(frozen=True, eq=False)
class OfKept(OfWords):
    """About the kept levels of each column, and all others together as the rest."""

    kept: np.ndarray
    """bool (levels of all columns,)"""

    @classmethod
    def foreseen_fields(cls, plan: Plan) -> tuple[Plan, Codes, np.ndarray]:
        """The first fields of a question about as many levels as there can be."""
        codes = most_codes(plan)
        return plan, codes, np.ones(int(sizes_of(plan, codes).sum()), bool)

    @property
    def kept_of(self) -> list[np.ndarray]:
        """Kept levels of each column: bool (levels,)."""
        return np.split(self.kept, np.cumsum(self.sizes)[:-1]) if len(self.sizes) else []

    def counts_of_kept(self, table: Table) -> list[np.ndarray]:
        """Count the rows of each column with each kept level, and last the rest: int64 (kept + 1, folds)."""
        return [merged(count, kept) for count, kept in zip(self.counted(table), self.kept_of, strict=True)]

    @property
    def all_lines(self) -> np.ndarray:
        """Number of kept levels of each column, plus one for the rest: int64 (d,)."""
        return np.array([np.count_nonzero(kept) + 1 for kept in self.kept_of], np.int64)

    @property
    def lines(self) -> np.ndarray:
        """The same, of what is asked about."""
        return self.all_lines

    @property
    def cells(self) -> int:
        return int((self.lines * self.folds).sum())


@dataclass(frozen=True, eq=False)
class CountLevels(OfKept, name="encoding/levels", title="Count values"):
    """Question that counts the rows with each kept level, and with the rest."""

    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("cells",),
            MOST_PEOPLE,
            "per kept value, the rest of each column, and fold: number of rows that have it",
            "how many people of the pool have each kept value, and how many any other",
        ),
    )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        questions = [cls(*cls.foreseen_fields(plan))] if plan.dictionaries else ()
        return Foreseen(questions, exact=False)

    def local(self, table: Table) -> Arrays:
        return {"rows": joined(self.counts_of_kept(table))}


class _OfTargets:
    """The questions about mean and deviation, of the targets of columns instead of features."""

    asked_if: ClassVar[Condition] = targets_of

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        found: Foreseen = super().foreseen(plan, sizes) if targets_of(plan) else Foreseen(())  # type: ignore[misc]
        return found

    @classmethod
    def titles_under(cls, plan: Plan) -> tuple[str, ...]:
        return targets_of(plan)

    def values_of(self, table: Table) -> np.ndarray:
        values = table.categories.targets
        if values.shape[1] != self.features:  # type: ignore[attr-defined]
            raise ProtocolError("the question has another number of targets than this cohort's table")
        return values


@dataclass(frozen=True, eq=False)
class FindTargetMagnitude(
    _OfTargets, FindMagnitude, name="encoding/magnitude", title="Find the magnitude of targets"
):
    """The same counts, of targets."""


@dataclass(frozen=True, eq=False)
class AverageTargets(_OfTargets, Average, name="encoding/mean", title="Average targets"):
    """The same sums, of targets."""


@dataclass(frozen=True, eq=False)
class MeasureTargetSpread(
    _OfTargets, MeasureSpread, name="encoding/spread", title="Measure the spread of targets"
):
    """The same sums, of targets."""


@dataclass(frozen=True, eq=False)
class SumTargets(OfKept, name="encoding/targets", title="Sum targets", ring_bits=128):
    """Sums of the targets of each kept level and the rest, in deviations from their mean.

    With z = (y - mean) / deviation of a pool of n, the sum of z^2 over all of it is n. So over any part of it
    that of z^2 is at most n, and by Cauchy-Schwarz that of z too, however far out a target is. A column of
    which nothing is kept has no sums: its rest is everybody, and may in a fold be few.
    """

    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("target_cells",),
            "bound",
            "per kept value, the rest, and fold, of columns encoded by a target: the sum of its deviations",
            "the mean target of the people with each kept value",
        ),
        Real(
            "squares",
            ("target_cells",),
            "bound",
            "per kept value, the rest, and fold, of columns encoded by a target: the sum of their squares",
            "by how much the target varies among the people with each kept value",
        ),
    )
    each: ClassVar[dict[str, str]] = {"target_cells": "value"}
    asked_if: ClassVar[Condition] = targets_of

    centre: np.ndarray
    """float64 (t,)"""
    deviation: np.ndarray
    """float64 (t,), positive"""
    most: int
    """The largest number of rows that count in any of these columns."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        zeros = np.zeros(len(targets_of(plan)))
        question = cls(*cls.foreseen_fields(plan), zeros, zeros + 1, 1)
        return Foreseen([question] if targets_of(plan) else (), exact=False)

    @property
    def by_target(self) -> np.ndarray:
        """Mark the columns that are encoded by a target: bool (d,)."""
        return are_by_target(self.plan)

    @property
    def lines(self) -> np.ndarray:
        return np.where(self.all_lines > 1, self.all_lines, 0)

    @property
    def target_cells(self) -> int:
        return int((self.lines * self.folds)[self.by_target].sum())

    @property
    def bound(self) -> int:
        return self.most + 1  # by one more: a deviation is rounded

    def local(self, table: Table) -> Arrays:
        found = self.columns_of(table)
        if found.targets.shape[1] != len(self.centre):
            raise ProtocolError("the question has another number of targets than this cohort's table")
        sums, squares = [], []
        for place, k in enumerate(np.flatnonzero(self.by_target)):
            if not self.lines[k]:
                continue
            rows, cells = cells_of(found, int(k), int(self.folds[k]))
            z = (found.targets[rows, place] - self.centre[place]) / self.deviation[place]
            total = self._summed(int(k), cells)
            sums.append(total(z))
            squares.append(total(z * z))
        return {"sums": joined(sums, float), "squares": joined(squares, float)}

    def _summed(self, column: int, cells: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Sums numbers of rows over the cells of a column, of its kept levels and the rest."""
        size, folds, kept = int(self.sizes[column]), int(self.folds[column]), self.kept_of[column]

        def total(numbers: np.ndarray) -> np.ndarray:
            found = np.bincount(cells, numbers, minlength=(size + 1) * folds)
            return merged(found.reshape(size + 1, folds), kept)

        return total
