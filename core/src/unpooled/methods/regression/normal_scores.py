"""Rank-based inverse normal transformation of the pool's phenotype; people who lie close are tied.

The ranks of all people would tell all values. So the phenotype is cut into bins, and whoever is in the same
bin has the same rank, the mean of theirs, as plink2 --pheno-quantile-normalize has it of equal values: the
score is the normal quantile of (rank - 1/2) / n.

Every float64 is an integer of 64 bits of the same order (`ordered_keys`), and numbers that begin with the
same bits are an interval. An interval is wide enough if it has `fewest` people of the pool without any one
cohort. Rounds of questions follow those that are, bit by bit, down to the narrowest; server and compensator
compare, and nobody reads how many people an interval has. Each of the narrowest begins a bin, and the first
and the last bin reach to infinity. So no bound tells of fewer people than a sum may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import NORMAL_SCORES, Cohort
from unpooled.asking.procedure import Asks, Each, Go, Rows, Study, procedure
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Count, Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.kernels.ordered_keys import BITS, keys
from unpooled.kernels.statistics import normal_quantile
from unpooled.methods.phenotypes import of_several
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.options import RINT
from unpooled.methods.shared.without_any import capped
from unpooled.pages.page import Html, facts, section
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

FEWEST_BINS = 5
"""Minimum number of bins, where none is a single value; in fewer, ranks say too little."""
_MOST_BINS = 512
_DEPTH = 48
"""Bits by which values are told apart: sign, exponent, and the first eleven digits."""
_BITS_AT_ONCE, _ROOM = 8, 1 << 13
"""Most bits that one round adds, and most numbers that are sent in it for that."""
_USUAL_ROUNDS = 5

TABLE = "normal_scores"
"""The result table: one row."""


def fewest_in_bins(plan: Plan, people: int) -> int:
    """Count the people whom a bin must have without any one cohort."""
    return max(FEWEST_AT_A_LEVEL, -(-people // (_MOST_BINS * _floors(plan))))


def _floors(plan: Plan) -> int:
    """Count the floors to which capped numbers of people must sum: `shared.without_any`."""
    return 1 if plan.alone else 2


def bits_of(intervals: int, depth: int) -> int:
    """Count the bits that a round adds to those that so many intervals begin with."""
    fitting = (_ROOM // max(intervals, 1)).bit_length() - 2
    return max(1, min(_BITS_AT_ONCE, _DEPTH - depth, fitting))


@dataclass(frozen=True, eq=False)
class Search:
    """The intervals that are wide enough, as they are known so far."""

    name: ClassVar[str] = "regression/search-of-bins"

    open: np.ndarray
    """Least keys of those that may be cut further, rising: uint64 (intervals,)."""
    depth: int
    """Number of bits with which all numbers of each begin."""
    found: np.ndarray
    """Least keys of the narrowest: uint64 (bins,)."""
    values: int = 0
    """Number of the narrowest that are a single value, to eleven digits."""

    @classmethod
    def begin(cls) -> Search:
        return cls(np.zeros(1, np.uint64), 0, np.zeros(0, np.uint64))

    def narrowed(self, are_wide: Sequence[np.ndarray]) -> Search:
        """The search after a round: by bits added, bool (intervals, 2^bits) tells which are wide enough."""
        found, wide = [self.found], np.ones((len(self.open), 1), bool)
        for bits, halves in enumerate(are_wide):
            is_cut = halves.reshape(*wide.shape, 2).any(axis=2)
            found.append(self._least_keys(bits)[wide & ~is_cut])
            wide = halves
        depth, rest = self.depth + len(are_wide), self._least_keys(len(are_wide))[wide]
        if depth < _DEPTH:
            return Search(rest, depth, np.concatenate(found), self.values)
        return Search(rest[:0], depth, np.concatenate([*found, rest]), len(rest))

    def _least_keys(self, bits: int) -> np.ndarray:
        places = np.arange(1 << bits, dtype=np.uint64)
        # No bit is added to none: that the shift is by all 64 then does not matter, for it is of 0.
        shift = np.uint64(min(BITS - self.depth - bits, BITS - 1))
        return np.asarray(self.open[:, None] + (places << shift))

    @property
    def edges(self) -> np.ndarray:
        """The least key of each bin but the first, rising: uint64 (bins - 1,)."""
        return np.sort(self.found)[1:]


@procedure("regression/search-of-bins")
def find_bins(study: Study, place: int, fewest: int, search: Search) -> Asks[Search]:
    """Cut the intervals of the phenotype at this place until none can be cut further."""
    asked = FindBins(study.plan, place, fewest, search.open, search.depth)
    told = yield asked
    search = search.narrowed(asked.levels(told["wide"]))
    if not len(search.open):
        return search
    return (yield from Go(find_bins(study, place, fewest, search)))


def transform(study: Study, people: int) -> Asks[None]:
    """Have each cohort put normal scores in the place of its people's phenotypes, if the plan wants it."""
    plan = study.plan
    if not RINT.of(plan):
        return
    fewest, names = fewest_in_bins(plan, people), plan.phenotype_names
    found = yield Each(find_bins(study, place, fewest, Search.begin()) for place in range(len(names)))
    for name, search in zip(names, found, strict=True):
        _refuse_few_bins(plan, name, search)
    edges = tuple(search.edges for search in found)
    sums = yield CountBins(plan, edges)
    ends = np.cumsum([len(each) + 1 for each in edges], dtype=np.int64)
    counts = tuple(np.split(sums["people"], ends[:-1]))
    yield KeepScores(plan, edges, counts)
    for name, each in zip(names, counts, strict=True):
        row = {"bins": np.array([len(each)]), "largest": np.array([each.max() / max(people, 1)])}
        rows = Rows(TABLE, {"index": np.zeros(1, np.int64), **row})
        yield of_several(rows, name) if len(names) > 1 else rows


def _refuse_few_bins(plan: Plan, name: str, search: Search) -> None:
    """Refuse a phenotype of which ranks would say too little, unless it has few values anyway."""
    bins = len(search.edges) + 1
    if plan.alone or bins >= FEWEST_BINS or (bins > 1 and search.values):
        return
    raise Refuse(
        RINT.name,
        f"the pool's values of {name} fall into fewer than {FEWEST_BINS} bins that have {FEWEST_AT_A_LEVEL} "
        "people each without any one cohort, and ranks by so few would say too little",
        "Have the cohorts check that they all have the phenotype in the same unit; else leave normal scores "
        "out, or invite larger cohorts.",
    )


def scores_of(counts: np.ndarray) -> np.ndarray:
    """The normal score of each bin, float64 (bins,), by the people in it: the quantile of its mean rank."""
    people = max(1, int(counts.sum(dtype=np.int64)))
    # Twice the people below the middle of a bin: whole numbers, so that scores are symmetric.
    doubled = (2 * np.cumsum(counts, dtype=np.int64) - counts).tolist()
    return np.array([_quantile(twice, 2 * people) for twice in doubled])


def _quantile(part: int, whole: int) -> float:
    if 2 * part in (0, whole):
        return 0.0  # everyone is in one bin, or nobody at all
    if 2 * part < whole:
        return -normal_quantile((whole - part) / whole)
    return normal_quantile(part / whole)


class _OfPhenotypes(UnderPlan):
    """About the phenotypes as they are in the cohorts' files, of everyone with complete data."""

    asked_if: ClassVar[Condition] = RINT.of

    @property
    def uses(self) -> tuple[str, ...]:
        return ()  # not even the scores, where it is asked once more


@dataclass(frozen=True, eq=False)
class FindBins(_OfPhenotypes, name="regression/find-bins", title="Find bins of the phenotype"):
    """Asks which parts of intervals have enough people of the pool without any one cohort."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "capped",
            ("intervals", "cells"),
            "fewest",
            "per interval of the phenotype's values, and its halves, quarters and so on: number of people in "
            f"it, {FEWEST_AT_A_LEVEL} where there are more, in a large pool a larger number",
            UNREAD,
        ),
    )
    opens: ClassVar[Bits] = Bits(
        "wide",
        ("intervals", "cells"),
        "at-least",
        f"whether {FEWEST_AT_A_LEVEL} people or more are in each without any one cohort: where the values of "
        "many lie, and none of one person",
    )
    each: ClassVar[dict[str, str]] = {"intervals": "interval", "cells": "part of it"}

    place: int
    """Number of the phenotype among those of the plan, from 0."""
    fewest: int
    open: np.ndarray
    """Least keys of the intervals, rising: uint64 (intervals,)."""
    depth: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        most = np.zeros(_MOST_BINS, np.uint64)
        rounds = -(-_DEPTH // bits_of(len(most), 0)) * len(plan.phenotype_names)
        usual = _USUAL_ROUNDS * len(plan.phenotype_names)
        return Foreseen([cls(plan, 0, 0, most, 0)], rounds, exact=False, usual_rounds=usual)

    @property
    def intervals(self) -> int:
        return len(self.open)

    @property
    def bits(self) -> int:
        return bits_of(self.intervals, self.depth)

    @property
    def cells(self) -> int:
        return (2 << self.bits) - 2

    def thresholds(self) -> Arrays:
        return {"capped": np.array([self.fewest * _floors(self.plan)])}

    def levels(self, told: np.ndarray) -> list[np.ndarray]:
        """Split what is told into that of halves, of quarters and so on: (intervals, 2^bits) each."""
        return np.split(told, (2 << np.arange(1, self.bits)) - 2, axis=1)

    def local(self, cohort: Cohort) -> Arrays:
        samples = cohort.samples
        own = np.sort(keys(samples.phenotypes[self.place][complete(samples)]))
        size = np.uint64(1) << np.uint64(BITS - self.depth - self.bits)
        last = np.arange(1 << self.bits, dtype=np.uint64) * size + (size - np.uint64(1))
        upto = np.searchsorted(own, self.open[:, None] + last, side="right")
        below = np.searchsorted(own, self.open, side="left")
        counts = [np.diff(upto, axis=1, prepend=below[:, None])]
        while counts[0].shape[1] > 2:
            counts.insert(0, counts[0].reshape(self.intervals, -1, 2).sum(axis=2, dtype=np.int64))
        return {"capped": capped(np.concatenate(counts, axis=1), self.fewest)}


class _OfBins(_OfPhenotypes):
    """About the bins of all phenotypes."""

    edges: tuple[np.ndarray, ...]
    """Least keys of all bins but the first, of each phenotype: uint64 (bins - 1,)."""

    def bins(self, cohort: Cohort) -> list[np.ndarray]:
        """The bin, from 0, of everyone, for each phenotype: int64 (n,)."""
        pairs = zip(cohort.samples.phenotypes, self.edges, strict=True)
        return [np.searchsorted(edges, keys(values), side="right") for values, edges in pairs]


@dataclass(frozen=True, eq=False)
class CountBins(
    _OfBins, name="regression/count-bins", title="Count people in bins of the phenotype", ring_bits=64
):
    """Asks how many people are in each bin."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            ("bins_in_all",),
            MOST_PEOPLE,
            f"per bin of the phenotype, which has {FEWEST_AT_A_LEVEL} people or more without any one cohort: "
            "number of people with complete data",
            "how the phenotype is distributed in the pool, to bins of so many people",
        ),
    )
    each: ClassVar[dict[str, str]] = {"bins_in_all": "bin"}

    edges: tuple[np.ndarray, ...]

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        most = np.zeros(_MOST_BINS - 1, np.uint64)
        return Foreseen([cls(plan, (most,) * len(plan.phenotype_names))], exact=False)

    @property
    def bins_in_all(self) -> int:
        return sum(len(each) + 1 for each in self.edges)

    def local(self, cohort: Cohort) -> Arrays:
        inside = complete(cohort.samples)
        found = [
            np.bincount(bins[inside], minlength=len(edges) + 1)
            for bins, edges in zip(self.bins(cohort), self.edges, strict=True)
        ]
        return {"people": np.concatenate(found)}


@dataclass(frozen=True, eq=False)
class KeepScores(
    _OfBins, name="regression/normal-scores", title="Keep normal scores of the phenotype", ring_bits=64
):
    """Have each cohort put its people's normal scores in the place of the phenotypes."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            (1,),
            MOST_PEOPLE,
            "number of people with complete data",
            "nothing: it is known",
        ),
    )

    edges: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]
    """int64 (bins,) of each phenotype: the pool's people in each bin"""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan, (), ())] if cls.asked_if(plan) else [])

    @property
    def derived_as(self) -> str:
        return NORMAL_SCORES

    def derives(self, cohort: Cohort) -> np.ndarray:
        known = zip(cohort.samples.phenotypes, self.bins(cohort), self.counts, strict=True)
        columns = [np.where(np.isnan(y), np.nan, scores_of(counts)[bins]) for y, bins, counts in known]
        return np.column_stack(columns)

    def local(self, cohort: Cohort) -> Arrays:
        return {"people": np.array([np.count_nonzero(complete(cohort.samples))])}


ASKS = (FindBins, CountBins, KeepScores)


def shown(tables: Mapping[str, Arrays]) -> Html:
    """The transformation as a part of the report."""
    found = tables[TABLE]
    largest = f"{100 * float(found['largest'][0]):.2g} %"
    rows = [("Bins", f"{int(found['bins'][0]):,}"), ("People in the largest", largest)]
    return section("Normal scores of the phenotype", facts(rows))
