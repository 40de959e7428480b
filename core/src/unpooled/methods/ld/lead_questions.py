"""Questions about the variants around a lead: their genotypes, and products with those of the lead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real
from unpooled.asking.sizes import Sizes
from unpooled.kernels import pairs as kernel
from unpooled.methods.ld import questions
from unpooled.methods.ld.questions import Pairs, SumPairs
from unpooled.methods.shared.chunks import foreseen_chunks
from unpooled.methods.shared.genotype_counts import CAPPED, carriers, counted
from unpooled.methods.shared.groups import Group
from unpooled.methods.shared.without_any import capped
from unpooled.plan.clump_option import is_clumped
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

MOST_TURNS = 100
"""Largest number of turns in which leads are chosen. Leads of one turn are further apart than a window
reaches to one side.
"""
_MOST_PAIRS = 2 * MOST_TURNS
"""Largest number of leads that one variant is paired with: in each turn, one before and one behind it are
within reach.
"""


def groups_on(chromosome: str) -> tuple[Group, ...]:
    """The groups of founders that are counted on a class of chromosomes."""
    return tuple(questions.weights(chromosome))


@dataclass(frozen=True)
class CountFounders(questions.CountFounders):
    """Asks for the number of founders, whose haplotypes are compared."""

    name: ClassVar[str] = "leads/founders"
    asked_if: ClassVar[Condition] = is_clumped

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        """Only if there are leads."""
        return Foreseen([cls()], exact=False)


@dataclass(frozen=True, eq=False)
class CountAround(Question):
    """Genotype counts of founders of the variants around leads."""

    name: ClassVar[str] = "leads/genotypes"
    asked_if: ClassVar[Condition] = is_clumped
    title: ClassVar[str] = "Count genotypes around lead variants"
    sends: ClassVar[tuple[Count, ...]] = questions.CountGenotypes.sends
    each: ClassVar[dict[str, str]] = {**questions.CountGenotypes.each}

    indices: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    groups: tuple[Group, ...]
    most: int
    chromosome: str
    """The class of chromosomes that the variants are on."""

    @property
    def variants(self) -> int:
        return len(self.indices)

    @property
    def group_count(self) -> int:
        return len(self.groups)

    @property
    def reach(self) -> int:
        return int(self.indices[-1]) + 1 if len(self.indices) else 0

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Every variant beside as many leads as there can be; as a rule few are near one."""
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        each = [
            cls(np.arange(chunk.variants, dtype=np.uint32), groups_on(chunk.chromosome), 0, chunk.chromosome)
            for chunk in chunks
        ]
        return Foreseen(each, rounds=MOST_TURNS, exact=False, usual_rounds=1)

    def parts(self, cohort: Cohort) -> Iterator[CountAround]:
        for part in blocks(self.variants, len(cohort.samples)):
            yield replace(self, indices=self.indices[part])

    def local(self, cohort: Cohort) -> Arrays:
        found = counted(cohort, self.indices.astype(np.int64), self.groups)
        return {"genotypes": found, CAPPED.name: capped(carriers(found.sum(axis=1, dtype=np.int64)))}


@dataclass(frozen=True, eq=False)
class SumWithLeads(SumPairs):
    """Sums over lead variants and others: of products, and of who is heterozygous at both."""

    name: ClassVar[str] = "leads/pairs"
    asked_if: ClassVar[Condition] = is_clumped
    title: ClassVar[str] = "Compare variants with lead variants"
    sends: ClassVar[tuple[Real, ...]] = (
        *SumPairs.sends,
        Real(
            "both_heterozygous",
            ("pairs",),
            "bound",
            "bits",
            "per pair of variants: number of founders who are heterozygous at both; a missing call is the "
            "pool's share",
            "how many of the pool have both alleles of both variants, which tells haplotypes apart; only of "
            f"variants of which each allele has at least {FEWEST_AT_A_LEVEL} carriers there without any one "
            "cohort",
        ),
    )

    heterozygous: np.ndarray
    """float64 (v,): share of heterozygous people, which stands for missing calls."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Every variant beside as many leads as there can be; as a rule few are near one."""
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        each = [cls.sized(chunk.variants) for chunk in chunks]
        return Foreseen(each, rounds=_MOST_PAIRS, exact=False, usual_rounds=1)

    @classmethod
    def sized(cls, pairs: int) -> SumWithLeads:
        """About so many pairs: only the size is meant."""
        of_size = questions.of_size(pairs)
        return cls(**vars(of_size), heterozygous=np.zeros(len(of_size.variants)))

    def of_members(
        self,
        words: np.ndarray,
        members: np.ndarray,
        sign: np.ndarray,
        here: slice,
        pair: Pairs,
    ) -> Mapping[str, np.ndarray]:
        sums = super().of_members(words, members, sign, here, pair)
        both = kernel.both_heterozygous(words, members, self.heterozygous[here], *pair)
        return {**sums, "both_heterozygous": both}


LEADS_ASKS = (CountFounders, CountAround, SumWithLeads)
"""Questions that may be asked about the variants around leads, in this order."""
