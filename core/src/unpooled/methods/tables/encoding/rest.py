"""A rest that few people have, or few cohorts, and how it is kept from being read.

It need not be counted to be known: how many words a column has, less how many people have each kept level,
is the rest. So before anything is counted, kept levels are folded into such a rest, and which ones is decided
by bits alone:

    SiftRest     is there a rest, and is it below a floor?
    RankLevels   how many people a kept level has, to a factor of two: the rarest are folded in first
    AddLevels    how many are enough

One level is not always enough. Of one that ten people have at the least, and 11 together with the rest, both
numbers are known. With c the kept levels that are added and r the rest, c is known to lie from `least` to
`most`; what is read later is c + r. It tells of r that it is from c + r - most to c + r - least, and no more:
so levels are added until half of the numbers below the floor, or more, are left at either end. A sum that was
not enough tells the opposite, and leaves the other half but one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks
from unpooled.asking.question import UNREAD, Arrays, Bits, Count, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.tables.encoding.dictionary import MOST_CELLS
from unpooled.methods.tables.encoding.questions import (
    Codes,
    OfFloors,
    OfKept,
    OfWords,
    joined,
    most_codes,
    sizes_of,
    split,
)
from unpooled.plan.plan import Plan

MOST_RUNGS = 20
"""Ten people, doubled so often, are ten million."""


@dataclass(frozen=True, eq=False)
class SiftRest(OfKept, OfFloors, name="encoding/sift-rest", title="Sift the rest"):
    """Question that asks whether anybody has a word that is not kept, and if so, whether enough do."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("groups", 2),
            MOST_PEOPLE,
            "per column, and fold, twice: number of rows with a value that is not kept",
            UNREAD,
        ),
        Count("held", ("groups", 2), 1, "per column, and fold, twice: 1 if there are any, else 0", UNREAD),
    )
    opens: ClassVar[Bits] = Bits(
        "passes",
        ("groups", 2),
        "both-at-least",
        "of each column whether as many people and cohorts as the plan asks for have a value that is not "
        "kept; and whether anybody has",
    )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        questions = [cls(*cls.foreseen_fields(plan))] if plan.dictionaries else ()
        return Foreseen(questions, exact=False)

    def thresholds(self) -> Arrays:
        return {"rows": np.array([self.enough, 1]), "held": np.array([self.holders, 1])}

    def local(self, table: Table) -> Arrays:
        rests = joined([count[-1] for count in self.counts_of_kept(table)])
        rows = np.stack([rests, rests], axis=1)
        return {"rows": rows, "held": (rows > 0).astype(np.int64)}

    def few(self, bits: Arrays) -> np.ndarray:
        """Mark the columns, and folds, with a rest that is below a floor: bool (groups,)."""
        passes, are_any = bits["passes"].T
        return np.asarray(are_any & ~passes)


@dataclass(frozen=True, eq=False)
class RankLevels(OfKept, OfFloors, name="encoding/rank", title="Rank values"):
    """Question that finds, to a factor of two, how many people have each kept level."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("kept_cells", "rungs"),
            MOST_PEOPLE,
            "per kept value of columns with a small rest, and fold, several times: number of rows with it",
            UNREAD,
        ),
    )
    opens: ClassVar[Bits] = Bits(
        "reaches",
        ("kept_cells", "rungs"),
        "at-least",
        "of columns with a small rest how many people have each kept value, to a factor of two",
    )
    each: ClassVar[dict[str, str]] = {"kept_cells": "value", "rungs": "doubling of the floor"}

    rungs: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        widest = cls(*cls.foreseen_fields(plan), cls.most_rungs(plan))
        return Foreseen([widest] if plan.dictionaries else (), exact=False)

    @classmethod
    def most_rungs(cls, plan: Plan) -> int:
        """Return how often the floor of people is doubled at most: less often for very many levels."""
        cells = sizes_of(plan, most_codes(plan)) * cls.folds_under(plan)
        return min(MOST_RUNGS, MOST_CELLS // max(1, int(cells.sum(dtype=int))))

    @property
    def kept_cells(self) -> int:
        return int(((self.lines - 1) * self.folds).sum(dtype=int))

    def thresholds(self) -> Arrays:
        return {"rows": self.people << np.arange(1, self.rungs + 1)}

    def local(self, table: Table) -> Arrays:
        rows = joined([count[:-1] for count in self.counts_of_kept(table)])
        return {"rows": np.repeat(rows[:, None], self.rungs, axis=1)}

    def bounds(self, reaches: np.ndarray, known: np.ndarray) -> Bounds:
        """Bound the number of people of each level, given how many rows have a word, int64 (groups,)."""
        of_columns = np.split(known, np.cumsum(self.folds)[:-1])
        all_of = joined(
            [np.tile(n, np.count_nonzero(kept)) for n, kept in zip(of_columns, self.kept_of, strict=True)]
        )
        rungs = np.count_nonzero(reaches, axis=1)
        least = self.people << rungs
        most = np.where(rungs < self.rungs, 2 * least - 1, all_of)
        return Bounds(*(list(split(part, self.lines - 1, self.folds)) for part in (least, most)))


class Bounds(NamedTuple):
    """Bounds on how many people have each kept level: for each column int64 (kept levels, folds)."""

    least: list[np.ndarray]
    most: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class AddLevels(OfWords, name="encoding/add", title="Add values to the rest"):
    """Question that compares the people of a small rest with bounds, as kept levels are added one by one."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("cells", 2),
            MOST_PEOPLE,
            "per kept value of columns with a small rest, and fold, twice: number of rows that have it, one "
            "that was added before, or one that is not kept",
            UNREAD,
        ),
    )
    opens: ClassVar[Bits] = Bits(
        "reaches",
        ("cells", 2),
        "at-least",
        "how many of the rarest kept values have to be added to a small rest, so that it can be read from "
        "no difference",
    )
    each: ClassVar[dict[str, str]] = {"cells": "value"}

    step: np.ndarray
    """int64 (levels of all columns, after those of each its rest): at which step each is added, or -1"""
    bounds: np.ndarray
    """int64 (cells, 2): what the numbers are compared with"""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        codes = most_codes(plan)
        step = joined([np.append(np.arange(size), min(size, 1) - 1) for size in sizes_of(plan, codes)])
        bounds = np.zeros((int((sizes_of(plan, codes) * cls.folds_under(plan)).sum()), 2), np.int64)
        return Foreseen([cls(plan, codes, step, bounds)] if plan.dictionaries else (), exact=False)

    @property
    def step_of(self) -> list[np.ndarray]:
        """Step at which each level, and last the rest, is added, for each column: int64 (levels + 1,)."""
        return np.split(self.step, np.cumsum(self.sizes + 1)[:-1])

    @property
    def steps(self) -> np.ndarray:
        """Number of steps at which levels are added in each column: int64 (d,)."""
        return np.array([step.max(initial=-1) + 1 for step in self.step_of], np.int64)

    @property
    def cells(self) -> int:
        return int((self.steps * self.folds).sum())

    def thresholds(self) -> Arrays:
        return {"rows": self.bounds}

    def local(self, table: Table) -> Arrays:
        added = []
        for count, step, steps in zip(self.counted(table), self.step_of, self.steps, strict=True):
            each = np.zeros((steps, count.shape[1]), np.int64)
            np.add.at(each, step[step >= 0], count[step >= 0])
            added.append(np.cumsum(each, axis=0))
        rows = joined(added)
        return {"rows": np.stack([rows, rows], axis=1)}


class Kinds(NamedTuple):
    """The questions by which small rests are found and filled up: of rows, or of people by fold."""

    sift: type[SiftRest] = SiftRest
    rank: type[RankLevels] = RankLevels
    add: type[AddLevels] = AddLevels


OF_ROWS = Kinds()


def fold_rests(
    plan: Plan, codes: Codes, kept: np.ndarray, known: np.ndarray, kinds: Kinds = OF_ROWS
) -> Asks[np.ndarray]:
    """Find the levels kept regardless of later counts: bool (levels of all columns,).

    `known`, int64 (columns, each as often as it has folds): how many rows have a word. Where a column has a
    rest below a floor, in any fold, the rarest kept levels are folded in.
    """
    if not kept.any():
        return kept
    sifted = kinds.sift(plan, codes, kept)
    sizes, folds = sifted.sizes, sifted.folds
    few = list(split(sifted.few((yield sifted)), np.ones_like(sizes), folds))
    small = kept & np.repeat([of_column.any() for of_column in few], sizes)
    if not small.any():
        return kept
    # As many doublings as take the floor of people to as many as there are.
    rungs = int(known.max(initial=0) // sifted.people).bit_length()
    ranked = kinds.rank(plan, codes, small, min(kinds.rank.most_rungs(plan), rungs))
    ranks = (yield ranked)["reaches"] if ranked.rungs else np.zeros((ranked.kept_cells, 0), bool)
    orders, added = _adding(ranked, ranked.bounds(ranks, known), known, kinds.add)
    reaches = (yield added)["reaches"].T
    enough, too_many = (split(part, added.steps, folds) for part in reaches)
    folded = kept.copy()
    for first, order, below, reached, passed in zip(
        np.cumsum(sizes) - sizes, orders, few, enough, too_many, strict=True
    ):
        is_hidden = ((reached & ~passed) | ~below).all(axis=1)
        folded[first + order[: _first(is_hidden) + 1]] = False
    return folded


def _first(are: np.ndarray) -> int:
    """The first place at which this is true; the last one, if it is so nowhere."""
    return int(np.argmax(are)) if are.any() else len(are) - 1


def _adding(
    ranked: RankLevels, bounds: Bounds, known: np.ndarray, kind: type[AddLevels]
) -> tuple[list[np.ndarray], AddLevels]:
    """Order the levels to be added in each column, rarest first; also return the question about their sums.

    Among levels that may be equally rare, the last comes first.
    """
    # Half of the floor is hidden at either end: see above.
    half = ranked.people // 2
    orders, steps, compared = [], [], []
    of_columns = zip(ranked.kept_of, *bounds, np.split(known, np.cumsum(ranked.folds)[:-1]), strict=True)
    for kept, least, most, n in of_columns:
        # By bounds that everybody knows, and not by counts, which nobody may.
        order = np.lexsort((-np.arange(len(least)), least.sum(axis=1, dtype=int)))
        levels = np.flatnonzero(kept)[order]
        step = np.full(len(kept) + 1, -1)
        if len(levels):
            step[:-1][~kept], step[-1] = 0, 0
        step[levels] = np.arange(len(levels))
        low = np.cumsum(least[order], axis=0) + half
        high = np.cumsum(most[order], axis=0) + ranked.people - half + 1
        orders.append(levels)
        steps.append(step)
        # No sum reaches a bound beyond all rows: cut off behind these, it fits the ring.
        compared.append(np.minimum(np.stack([low, high], axis=2), n[:, None] + 1).reshape(-1, 2))
    return orders, kind(ranked.plan, ranked.codes, np.concatenate(steps), np.concatenate(compared))
