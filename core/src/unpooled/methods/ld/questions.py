"""Questions of linkage disequilibrium: founders, their genotypes, and products of two variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from unpooled.asking.cohort import AT_ONCE, Cohort
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real
from unpooled.asking.sizes import Sizes
from unpooled.kernels import pairs as kernel
from unpooled.methods.ld.options import Windows, compares_pairs, windows_of
from unpooled.methods.shared import genotype_counts, groups
from unpooled.methods.shared.chunks import DIPLOID, MT, X, Y, foreseen_chunks
from unpooled.methods.shared.genotype_counts import CAPPED, MOST_PEOPLE
from unpooled.methods.shared.groups import FOUNDER, MEN, NONFOUNDER, NOT_MEN, Group
from unpooled.methods.shared.without_any import capped
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

EVERY_FOUNDER: tuple[Group, ...] = ((FOUNDER, MEN), (FOUNDER, NOT_MEN))
EVERY_OTHER: tuple[Group, ...] = ((NONFOUNDER, MEN), (NONFOUNDER, NOT_MEN))
PAIRS_AT_ONCE = 1 << 20
"""Largest number of pairs in one question: four megabytes of answers."""
MOST_ROUNDS = 40
"""Largest number of rounds in which pairs of one variant are asked about."""


_USUALLY_AHEAD = 50
"""Variants behind another that it is compared with, of large windows of kilobases."""


Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Places of the first and of the second variant of pairs, int64 (pairs,) each."""

CLASSES = (DIPLOID, X, Y, MT)


def weights(chromosome: str) -> dict[Group, int]:
    """Return the groups that count in products on a class of chromosomes, with their weights: on X, 1 for a
    man and 2 for others.
    """
    men, others = EVERY_FOUNDER
    if chromosome == X:
        return {men: 1, others: 2}
    return {men: 1} if chromosome == Y else {(FOUNDER,): 1}


def counted_on(chromosome: str, plan: Plan) -> tuple[Group, ...]:
    """The groups that are counted on a class of chromosomes: founders, and who else is in frequencies."""
    founders = tuple(weights(chromosome))
    others = tuple((NONFOUNDER, *sex) for _, *sex in founders)
    return (*founders, *others) if plan.nonfounders else founders


@dataclass(frozen=True)
class CountFounders(Question, name="ld/founders", title="Count founders", ring_bits=64):
    """Asks for the number of founders."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            (len(EVERY_FOUNDER),),
            MOST_PEOPLE,
            "number of founders, male or not",
            "how many founders the pool has",
        ),
    )
    groups: ClassVar[tuple[Group, ...]] = EVERY_FOUNDER
    asked_if: ClassVar[Condition] = windows_of

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls()] if cls.asked_if(plan) else [])

    def local(self, cohort: Cohort) -> Arrays:
        return {"people": groups.sizes(self.groups, cohort.samples)}


@dataclass(frozen=True)
class CountOthers(CountFounders, name="ld/others", title="Count nonfounders"):
    """Asks for the number of nonfounders, if frequencies include them."""

    sends: ClassVar[tuple[Count, ...]] = (
        replace(
            CountFounders.sends[0],
            meaning="number of nonfounders, male or not",
            learns="how many nonfounders the pool has",
        ),
        Count(
            CAPPED.name,
            (1,),
            FEWEST_AT_A_LEVEL,
            f"number of nonfounders, {FEWEST_AT_A_LEVEL} where there are more",
            f"whether the pool has {FEWEST_AT_A_LEVEL} nonfounders without any one cohort",
        ),
    )
    groups: ClassVar[tuple[Group, ...]] = EVERY_OTHER
    asked_if: ClassVar[Condition] = lambda plan: compares_pairs(plan) and plan.nonfounders

    def local(self, cohort: Cohort) -> Arrays:
        found = super().local(cohort)
        return {**found, CAPPED.name: capped(found["people"].sum(keepdims=True))}


@dataclass(frozen=True)
class CountGenotypes(genotype_counts.CountCarried, name="ld/genotypes"):
    """Genotype counts of founders, and of others where these count in frequencies."""

    asked_if: ClassVar[Condition] = compares_pairs

    @staticmethod
    def is_summed(group: Group) -> bool:
        return FOUNDER in group

    @classmethod
    def foreseen_groups(cls, chromosome: str, plan: Plan) -> tuple[Group, ...]:
        return counted_on(chromosome, plan)


@dataclass(frozen=True, eq=False)
class SumPairs(Question, name="ld/pairs", title="Compare variants", ring_bits=32):
    """Sums of products of the genotypes of two variants, for pairs that lie near one another."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "products",
            ("pairs",),
            "bound",
            "per pair of variants: sum over founders of the product of their copies, less one each; a "
            "missing call is the pool's mean",
            "how two variants go together in the pool; only of variants of which each allele has at least "
            f"{FEWEST_AT_A_LEVEL} carriers there without any one cohort",
        ),
    )
    each: ClassVar[dict[str, str]] = {"pairs": "pair of variants"}
    asked_if: ClassVar[Condition] = windows_of

    variants: np.ndarray
    """Panel indices, rising: uint32 (v,)."""
    mean: np.ndarray
    """float64 (v,): mean copies of the panel's first allele, which stand for missing calls."""
    ahead: np.ndarray
    """uint32 (v,): of how many pairs each is the first."""
    lag: np.ndarray
    """uint32 (pairs,): how many variants the second of each pair is behind the first."""
    people: int
    """Founders of the pool."""
    chromosome: str
    """The class of chromosomes that the variants are on."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """All pairs that can share a window, each asked about once; as a rule it is far fewer."""
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        most = Windows.read(windows_of(plan)).most_ahead if windows_of(plan) else 0
        each = min(most, _USUALLY_AHEAD)
        whole, rest = divmod(each * sum(chunk.variants for chunk in chunks), PAIRS_AT_ONCE)
        # Of each chromosome the last question of a round may be about few pairs.
        last = [of_size(0)] * ((plan.autosomes + len(CLASSES)) * MOST_ROUNDS)
        questions = [*([of_size(PAIRS_AT_ONCE)] * whole), of_size(rest), *last]
        return Foreseen(questions, rounds=-(-most // each) if each else 1, exact=False, usual_rounds=1)

    @property
    def pairs(self) -> int:
        return len(self.lag)

    @property
    def bound(self) -> int:
        return max(weights(self.chromosome).values()) * self.people

    @property
    def reach(self) -> int:
        return int(self.variants[-1]) + 1 if len(self.variants) else 0

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of both variants of each pair among the variants: int64 (pairs,)."""
        first = np.repeat(np.arange(len(self.variants)), self.ahead)
        return first, first + self.lag

    def local(self, cohort: Cohort) -> Arrays:
        inside = [(groups.members(group, cohort.samples), w) for group, w in weights(self.chromosome).items()]
        first, second = self.places()
        found, done = {sent.name: np.zeros(self.pairs) for sent in self.sends}, 0
        rows = max(1, AT_ONCE // max(1, len(cohort.samples) // 4), 2 * int(self.lag.max(initial=0)))
        for start in range(0, len(self.variants), rows):
            upto = done + int(self.ahead[start : start + rows].sum(dtype=np.int64))
            some = slice(done, upto)
            stop = int(second[some].max(initial=start)) + 1
            packed = cohort.packed(self.variants[start:stop].astype(np.int64))
            sign = np.where(
                packed.swapped, 1.0, -1.0
            )  # copies of A2 are those of the panel's first if swapped
            here, pair = slice(start, stop), (first[some] - start, second[some] - start)
            for members, weight in inside:
                for name, sums in self.of_members(packed.words, members, sign, here, pair).items():
                    found[name][some] += weight * sums
            done = upto
        return found

    def of_members(
        self, words: np.ndarray, members: np.ndarray, sign: np.ndarray, here: slice, pair: Pairs
    ) -> Mapping[str, np.ndarray]:
        """The sums over some people, of pairs among the variants `here`."""
        return {"products": kernel.products(kernel.planes(words, members), sign, self.mean[here] - 1, *pair)}


def of_size(pairs: int) -> SumPairs:
    """About so many pairs: only the size is meant."""
    one, variants = np.ones(pairs, np.uint32), np.arange(pairs + 1, dtype=np.uint32)
    return SumPairs(variants, np.zeros(pairs + 1), np.append(one, np.uint32(0)), one, 1, MT)


PRUNING_ASKS: tuple[type[Question], ...] = (CountFounders, CountOthers, CountGenotypes, SumPairs)
"""Questions that pruning may ask, in this order."""
