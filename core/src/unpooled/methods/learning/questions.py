"""Questions of a study of models for its floors: counts by fold.

People are counted, not rows: a patient with ten rows is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Categories, Table
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Count, Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.methods.learning.options import VALIDATION_FOLDS
from unpooled.methods.learning.reading import class_names, examples, of_rows, people_in
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.without_any import capped, leaves_few
from unpooled.methods.tables.bends import Bends
from unpooled.methods.tables.encoding.questions import CountLevels, OfFloors, Sift, cells_of, joined, merged
from unpooled.methods.tables.encoding.rest import AddLevels, Kinds, RankLevels, SiftRest
from unpooled.plan.encodings import ONE_HOT
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.protocol import codec

SHARES = 4
"""The number of shares of all people with which `FindNearlyAll` compares those of a cohort."""
MOST_JOININGS = 20
"""Ways to join folds of which it asks whether they do."""


class _ByPlan(UnderPlan):
    """About the plan's folds, and the classes of its outcome."""

    @property
    def classes(self) -> int:
        return len(class_names(self.plan))

    @property
    def folds(self) -> int:
        return VALIDATION_FOLDS.of(self.plan)


@dataclass(frozen=True)
class CountPeople(_ByPlan, name="model/people", title="Count people", ring_bits=64):
    """Asks for the number of people and rows in each fold, and of people in each class."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            ("folds",),
            MOST_PEOPLE,
            "per fold: number of people whose outcome is known",
            "how many people of the pool are in each fold",
        ),
        Count(
            "rows",
            ("folds",),
            MOST_PEOPLE,
            "per fold: number of rows of these people",
            "how many rows the pool has in each fold",
        ),
        Count(
            "of_class",
            ("cells",),
            MOST_PEOPLE,
            "per class of the outcome, and fold: number of people who have it",
            "how many people of each class the pool has in each fold",
        ),
    )
    each: ClassVar[dict[str, str]] = {"folds": "fold", "cells": "group"}

    @property
    def cells(self) -> int:
        return self.classes * self.folds

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        cells = found.classes * self.folds + found.folds
        of_class = people_in(cells, found.patients, self.cells) if self.classes else np.zeros(0, np.int64)
        return {
            "people": people_in(found.folds, found.patients, self.folds),
            "rows": np.bincount(found.folds, minlength=self.folds),
            "of_class": of_class,
        }


class _ByFold:
    """Levels of categories are counted in every fold, and people have them, not rows."""

    @classmethod
    def folds_under(cls, plan: Plan) -> np.ndarray:
        return np.full(len(plan.dictionaries), VALIDATION_FOLDS.of(plan), np.int64)

    def counted(self, table: Table) -> list[np.ndarray]:
        found = self.columns_of(table)  # type: ignore[attr-defined]
        patients = examples(table).patients
        return [
            people_in(cells, of_rows(patients, rows), (size + 1) * folds).reshape(size + 1, folds)
            for (rows, cells), size, folds in self._cells_of(found)
        ]

    def rows_counted(self, table: Table) -> list[np.ndarray]:
        """The same of rows."""
        return super().counted(table)  # type: ignore[misc, no-any-return]

    def _cells_of(self, found: Categories) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], int, int]]:
        for k, (size, folds) in enumerate(zip(self.sizes.tolist(), self.folds.tolist(), strict=True)):  # type: ignore[attr-defined]
            yield cells_of(found, k, folds), size, folds


class _WithoutAny(_ByFold, OfFloors):
    """Levels that pass have enough people without any one cohort, for cohorts are told sums over them."""

    @property
    def enough(self) -> int:
        return self.people * min(2, self.holders)  # one holder is whoever computes alone

    def local(self, table: Table) -> Arrays:
        found = super().local(table)
        return {**found, "rows": capped(found["rows"], self.people)}


@dataclass(frozen=True, eq=False)
class SiftByFold(_WithoutAny, Sift, name="model/sift", title="Sift values"):
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("cells",),
            MOST_PEOPLE,
            "per value of each column, and fold: number of people who have it, but no more than must have it",
            UNREAD,
        ),
        Sift.sends[1],
    )
    opens: ClassVar[Bits] = Bits(
        "kept",
        ("cells",),
        "both-at-least",
        "which values as many people and cohorts have as the plan asks for, also without any one cohort; of "
        "no value how many",
    )


@dataclass(frozen=True, eq=False)
class SiftRestByFold(_WithoutAny, SiftRest, name="model/sift-rest", title="Sift the rest"):
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("groups", 2),
            MOST_PEOPLE,
            "per column, and fold, twice: number of people with a value that is not kept, but no more than "
            "must have a value",
            UNREAD,
        ),
        SiftRest.sends[1],
    )
    opens: ClassVar[Bits] = Bits(
        "passes",
        ("groups", 2),
        "both-at-least",
        "of each column whether as many people and cohorts as the plan asks for, also without any one "
        "cohort, have a value that is not kept; and whether anybody has",
    )


@dataclass(frozen=True, eq=False)
class RankLevelsByFold(_ByFold, RankLevels, name="model/rank", title="Rank values"):
    """The same ranks, of people in every fold."""


@dataclass(frozen=True, eq=False)
class AddLevelsByFold(_ByFold, AddLevels, name="model/add", title="Add values to the rest"):
    """The same comparison, of people in every fold."""


BY_FOLD = Kinds(SiftRestByFold, RankLevelsByFold, AddLevelsByFold)


@dataclass(frozen=True, eq=False)
class CountLevelsByFold(_ByFold, CountLevels, name="model/levels", title="Count values"):
    only_server: ClassVar[Condition] = lambda plan: False
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("cells",),
            MOST_PEOPLE,
            "per kept value, the rest of each column, and fold: number of people who have it",
            "how many people of the pool have each kept value, and how many any other",
        ),
        Count(
            "of_rows",
            ("cells",),
            MOST_PEOPLE,
            "the same, of rows",
            "in how many rows of the pool each kept value stands, and in how many any other",
        ),
    )

    def local(self, table: Table) -> Arrays:
        rows = [
            merged(count, kept) for count, kept in zip(self.rows_counted(table), self.kept_of, strict=True)
        ]
        return {**super().local(table), "of_rows": joined(rows)}


@dataclass(frozen=True, eq=False)
class CountSides(_ByPlan, name="model/sides", title="Count people beside the means", ring_bits=64):
    """Asks how many people are above the mean of each column of numbers, and how many below.

    A column in which all but a few people have one value is far from that value only for those few: a sum
    over the column would be theirs. Whatever the column, few are then on one side of its mean.
    """

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "above",
            ("cells",),
            MOST_PEOPLE,
            "per feature, and fold: number of people with more than the mean",
            "how many people of the pool are above the mean of each feature",
        ),
        Count(
            "below",
            ("cells",),
            MOST_PEOPLE,
            "per feature, and fold: number of people with less than the mean",
            "how many people of the pool are below the mean of each feature",
        ),
    )
    each: ClassVar[dict[str, str]] = {"cells": "group"}

    centre: np.ndarray
    """float64 (features,)"""
    bends: Bends | None = field(default=None, kw_only=True, metadata=codec.CAME_LATER)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan, np.zeros(len(plan.features)))])

    @property
    def cells(self) -> int:
        return len(self.centre) * self.folds

    def local(self, table: Table) -> Arrays:
        return {"above": self._beside(table, 1), "below": self._beside(table, -1)}

    def _beside(self, table: Table, side: int) -> np.ndarray:
        found, counts = examples(table, self.bends), [np.zeros(0, np.int64)]
        for values, centre in zip(found.values.T, self.centre, strict=True):
            rows = values > centre if side > 0 else values < centre
            counts.append(people_in(found.folds[rows], of_rows(found.patients, rows), self.folds))
        return np.concatenate(counts)


@dataclass(frozen=True, eq=False)
class FindNearlyAll(
    _ByPlan, name="model/nearly-all", title="Look for a cohort that has nearly all people", ring_bits=64
):
    """Counts the cohorts that have nearly all people whom a floor is about, by fold as folds are joined.

    A cohort that is told sums subtracts its own numbers. So enough people have to be left without any one.
    """

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "nearly_all",
            ("groups", "folds"),
            1,
            "per group of people whom a floor is about (all, a class, above or below a mean, without a "
            f"word), and fold: 1 if some of them, but fewer than {FEWEST_AT_A_LEVEL}, are left without this "
            "cohort, else 0",
            "whether one of the cohorts has nearly all people of a group",
        ),
        Count(
            "large",
            ("shares",),
            1,
            "1 if too few people for so many columns would be left without this cohort, else 0; the same of "
            "a half, a quarter and an eighth of all people",
            "whether one of the cohorts has nearly all people, or which share of them",
        ),
    )
    each: ClassVar[dict[str, str]] = {"groups": "group", "folds": "fold", "shares": "share"}

    part_of: np.ndarray
    """int64 (folds,): the fold that each of the plan's folds is joined to: itself, or another's first."""
    centre: np.ndarray
    """float64 (features,)"""
    counts: np.ndarray
    """int64 (groups, folds): how many there are in all"""
    most_people: np.ndarray
    """int64 (shares,): so many a single cohort may have in all folds"""
    bends: Bends | None = field(default=None, kw_only=True, metadata=codec.CAME_LATER)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        folds = VALIDATION_FOLDS.of(plan)
        groups = 1 + len(class_names(plan)) + len(one_hot_places(plan)) + 2 * len(plan.features)
        widest = cls(
            plan,
            part_of=np.arange(folds),
            centre=np.zeros(len(plan.features)),
            counts=np.zeros((groups, folds), np.int64),
            most_people=np.zeros(SHARES, np.int64),
        )
        return Foreseen([widest], MOST_JOININGS, exact=False, usual_rounds=1)

    @property
    def groups(self) -> int:
        return 1 + self.classes + len(one_hot_places(self.plan)) + 2 * len(self.centre)

    @property
    def shares(self) -> int:
        return len(self.most_people)

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        people = CountPeople(self.plan).local(table)
        sides = CountSides(self.plan, self.centre, bends=self.bends).local(table)
        missing = [
            np.bincount(found.folds[found.categories.levels[:, k] < 0], minlength=self.folds)
            for k in one_hot_places(self.plan).tolist()
        ]
        counts = [people["people"], people["of_class"], *missing, sides["above"], sides["below"]]
        by_fold = np.concatenate(counts).reshape(self.groups, self.folds)
        parts = [by_fold[:, self.part_of == fold].sum(axis=1) for fold in range(self.folds)]
        return {
            "nearly_all": leaves_few(np.stack(parts, axis=1), self.counts).astype(np.int64),
            "large": (people["people"].sum() > self.most_people).astype(np.int64),
        }


def one_hot_places(plan: Plan) -> np.ndarray:
    """The places of the categories that become a column for each value, among all: int64."""
    kinds = [column.encoded.kind for column in plan.dictionaries]
    return np.array([place for place, kind in enumerate(kinds) if kind == ONE_HOT], np.int64)
