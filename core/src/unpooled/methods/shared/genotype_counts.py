"""Genotype counts of the pool, and which of two equally frequent alleles is A1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.question import Arrays, Count, Foreseen, Question
from unpooled.asking.sizes import Sizes
from unpooled.kernels.counts import count_genotypes, group_masks
from unpooled.methods.shared import groups as people
from unpooled.methods.shared.chunks import DIPLOID, Chunk, OfChunk, foreseen_chunks, foreseen_of
from unpooled.methods.shared.dosage_table import DosageTable
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import COMPLETE, Group
from unpooled.methods.shared.without_any import capped, holds_without_any
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

FIRST_ALLELE_TELLS = "how many cohorts' files call which allele A1"

MOST_PEOPLE = (1 << 30) - 1  # more than are in any pool; their alleles can still be counted in 32 bits


@dataclass(frozen=True)
class CountGenotypes(OfChunk, title="Count genotypes"):
    """Genotype counts of one chunk in each group. Subclasses say which groups a plan has."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "genotypes",
            ("variants", "group_count", 3),
            "most",
            "per variant and group of people: how many have two copies of an allele, one, none",
            "the genotypes of each group of the pool; for a group of one person, that person's",
            of_one=True,
        ),
    )
    each: ClassVar[dict[str, str]] = {"variants": "variant", "group_count": "group of people"}

    start: int
    stop: int
    groups: tuple[Group, ...]
    most: int
    chromosome: str = DIPLOID
    """The class of chromosomes that the variants are on."""

    @property
    def group_count(self) -> int:
        return len(self.groups)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return foreseen_of(
            cls.foreseen_chunks(plan, sizes),
            lambda chunk: cls(chunk.start, chunk.stop, cls.foreseen_groups(chunk.chromosome, plan), 0),
        )

    @classmethod
    def foreseen_chunks(cls, plan: Plan, sizes: Sizes | None) -> Iterable[Chunk] | None:
        """The chunks that can be asked about; None if the sizes do not tell."""
        return foreseen_chunks(plan, sizes)

    @classmethod
    def foreseen_groups(cls, chromosome: str, plan: Plan) -> tuple[Group, ...]:
        """The groups that are asked for if the pool has people in all of them."""
        raise NotImplementedError

    def local(self, cohort: Cohort) -> Arrays:
        return {"genotypes": counted(cohort, slice(self.start, self.stop), self.groups)}


CAPPED = Count(
    "capped",
    ("variants", 2),
    FEWEST_AT_A_LEVEL,
    f"per variant and allele: number of people who carry it, {FEWEST_AT_A_LEVEL} where there are more",
    f"whether {FEWEST_AT_A_LEVEL} people of the pool carry the allele without any one cohort",
)
"""Nothing is summed of an allele that fewer people carry."""


def carriers(counts: np.ndarray) -> np.ndarray:
    """Count carriers of the first and of the second allele from genotype counts (..., 3): int64 (..., 2)."""
    two, one, none = np.moveaxis(counts, -1, 0)
    return np.stack([two + one, one + none], axis=-1)


@dataclass(frozen=True)
class CountCarried(CountGenotypes):
    """Genotype counts of one chunk, and who carries each allele, capped.

    Subclasses say which of its groups sums over genotypes are of.
    """

    sends: ClassVar[tuple[Count, ...]] = (*CountGenotypes.sends, CAPPED)

    @staticmethod
    def is_summed(group: Group) -> bool:
        """Tell whether the people of a group are in sums over genotypes."""
        return True

    def local(self, cohort: Cohort) -> Arrays:
        found = super().local(cohort)
        inside = [self.is_summed(group) for group in self.groups]
        everyone = found["genotypes"][:, inside].sum(axis=1, dtype=np.int64)
        return {**found, CAPPED.name: capped(carriers(everyone))}


@dataclass(frozen=True, eq=False)
class CountListed(Question):
    """Genotype counts of variants one by one, and who with complete data carries each allele, capped."""

    sends: ClassVar[tuple[Count, ...]] = CountCarried.sends
    each: ClassVar[dict[str, str]] = CountCarried.each

    items: np.ndarray
    """Panel indices: uint32 (m,)."""
    groups: tuple[Group, ...]
    most: int

    @property
    def variants(self) -> int:
        return len(self.items)

    @property
    def group_count(self) -> int:
        return len(self.groups)

    @property
    def reach(self) -> int:
        return int(self.items.max(initial=-1)) + 1

    def local(self, cohort: Cohort) -> Arrays:
        counts = counted(cohort, self.items.astype(np.int64), self.groups)
        inside = [COMPLETE in group for group in self.groups]
        carried = carriers(counts[:, inside].sum(axis=1, dtype=np.int64))
        return {"genotypes": counts, CAPPED.name: capped(carried)}

    def parts(self, cohort: Cohort) -> Iterable[Question]:
        return (replace(self, items=self.items[part]) for part in blocks(self.variants, len(cohort.samples)))


def is_carried(plan: Plan, sums: Arrays) -> np.ndarray:
    """Tell which variants have enough carriers of either allele without any one cohort: bool (m,)."""
    return np.asarray(holds_without_any(plan, sums[CAPPED.name]).all(axis=1))


def counted(cohort: Cohort, variants: slice | np.ndarray, groups: Sequence[Group]) -> np.ndarray:
    """People of each group with two, one and no copies of the panel's first allele: int64 (m, groups, 3)."""
    return counted_in(cohort, variants, [people.members(group, cohort.samples) for group in groups])


def counted_in(cohort: Cohort, variants: slice | np.ndarray, inside: Sequence[np.ndarray]) -> np.ndarray:
    """Count as `counted` does, in groups of which bool (n,) each says who is in."""
    packed = cohort.packed(variants)
    masks = group_masks(np.array(inside, bool).reshape(len(inside), len(cohort.samples)))
    counts = count_genotypes(packed.words, masks)
    counts[packed.swapped] = counts[packed.swapped, :, ::-1]
    return counts


@dataclass(frozen=True, eq=False)
class AlleleOrder(Question, title="Order the alleles of ties"):
    """Question that finds which allele is A1 where both are equally frequent.

    It is A1 as in most cohorts' files, else by the alphabet.

    Asked about ties alone, of many chunks at once.
    """

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "first",
            ("count",),
            1,
            "per variant: 1 if this cohort's files call its first allele A1",
            FIRST_ALLELE_TELLS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"count": "variant of two equally frequent alleles"}

    variants: np.ndarray
    """Panel indices, (m,)."""

    @property
    def count(self) -> int:
        return len(self.variants)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        # All in one question, however many chunks they are of.
        return Foreseen([cls(np.arange(sum(chunk.variants for chunk in chunks)))], exact=False)

    @property
    def reach(self) -> int:
        return int(self.variants.max()) + 1 if len(self.variants) else 0

    def local(self, cohort: Cohort) -> Arrays:
        return {"first": 1 - cohort.packed(self.variants).swapped.astype(np.int64)}


A1_IN_FILES = Count(
    "first",
    ("variants",),
    1,
    "per variant: 1 if this cohort's files call its first allele A1",
    FIRST_ALLELE_TELLS,
)
"""Settles ties with the counts themselves: else all cohorts would be told these, to know which are ties."""


def most_say_first(first: np.ndarray, cohorts: int) -> np.ndarray:
    """Mark the variants whose first allele is A1, given how many cohorts' files call it so: bool (m,)."""
    # On a tie here, too, the first allele: the panel's pairs are in alphabetical order.
    return np.asarray(2 * first >= cohorts)


@dataclass(frozen=True, eq=False)
class Counted:
    """Variants whose genotypes are counted."""

    name: ClassVar[str] = "counted"

    variants: np.ndarray
    """Panel indices, uint32 (m,)."""
    table: GenotypeTable | DosageTable
    """Counts of these variants."""

    @classmethod
    def of(cls, chunk: Chunk, table: GenotypeTable | DosageTable) -> Counted:
        """All variants of a chunk."""
        return cls(np.arange(chunk.start, chunk.stop, dtype=np.uint32), table)

    @classmethod
    def joined(cls, parts: Sequence[Counted]) -> Counted:
        """Join the variants of one or more chunks whose people are counted in the same groups."""
        counts = np.concatenate([part.table.counts for part in parts])
        variants = np.concatenate([part.variants for part in parts])
        return cls(variants, replace(parts[0].table, counts=counts))

    @property
    def genotypes(self) -> GenotypeTable:
        """The table of a study of called genotypes. TypeError of one of dosages."""
        if isinstance(self.table, DosageTable):
            raise TypeError("dosages were counted, not genotypes")
        return self.table

    def some(self, which: np.ndarray) -> Counted:
        """Select variants: bool (m,), or their places."""
        if which.dtype == bool and which.all():
            return self  # of most chunks all are wanted, and nothing is to be copied
        return Counted(self.variants[which], self.table.take(which))

    def order(self) -> tuple[np.ndarray, np.ndarray]:
        """Mark the variants whose first allele is A1, and those whose alleles are tied: bool (m,) each."""
        first, second = self.table.frequency_alleles()
        return np.asarray(first < second), np.asarray(first == second)
