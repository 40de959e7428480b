"""The question that sums the dosages of a chunk, and what is known of its variants then, called or dosed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Count
from unpooled.kernels.dosages import COPY
from unpooled.methods.shared import filters
from unpooled.methods.shared.chunks import Chunk
from unpooled.methods.shared.dosage_table import DosageTable, counted, nearest
from unpooled.methods.shared.genotype_counts import (
    CAPPED,
    CountCarried,
    CountGenotypes,
    CountListed,
    carriers,
    is_carried,
)
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import COMPLETE, Group
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.without_any import capped


class _Bounds:
    """Sums over at most `most` people."""

    most: int

    @property
    def most_dosages(self) -> int:
        return self.most * 2 * COPY

    @property
    def most_squares(self) -> int:
        return self.most * (2 * COPY) ** 2


# Dosages are whole numbers of 1/16384, as plink2 keeps them, so these sums are exact.
@dataclass(frozen=True)
class OfDosages(_Bounds, CountGenotypes, title="Sum dosages", ring_bits=64):
    """Sums of dosages of one chunk in each group, in place of genotype counts."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            ("variants", "group_count"),
            "most",
            "per variant and group of people: how many have a dosage",
            "how many people of each group of the pool have a dosage",
        ),
        Count(
            "dosages",
            ("variants", "group_count"),
            "most_dosages",
            "per variant and group of people: sum of dosages, in units of 1/16384 of a copy",
            "allele frequencies in each group of the pool; for a group of one person, that person's dosage",
            of_one=True,
        ),
        Count(
            "squares",
            ("variants", "group_count"),
            "most_squares",
            "per variant and group of people: sum of squared dosages, likewise",
            "how far dosages vary in each group of the pool; for a group of one person, that person's "
            "dosage, for one of two, both, without name or cohort",
            of_one=True,
        ),
    )

    def local(self, cohort: Cohort) -> Arrays:
        found = counted(cohort, slice(self.start, self.stop), self.groups)
        return {array.name: found[..., k] for k, array in enumerate(OfDosages.sends)}

    @classmethod
    def table(cls, sums: Arrays, groups: tuple[Group, ...], chromosome: str) -> DosageTable:
        """Build the pool's table from the sums."""
        names = (array.name for array in cls.sends if array.dims == OfDosages.sends[0].dims)
        return DosageTable(np.stack([sums[name] for name in names], axis=-1), groups, chromosome)


@dataclass(frozen=True)
class CarriedDosages(OfDosages):
    """Sums of dosages of one chunk in each group, and who carries each allele, capped."""

    sends: ClassVar[tuple[Count, ...]] = (*OfDosages.sends, CAPPED)

    def local(self, cohort: Cohort) -> Arrays:
        counts = nearest(cohort, slice(self.start, self.stop), self.groups).sum(axis=1)
        return {**super().local(cohort), CAPPED.name: capped(carriers(counts))}


@dataclass(frozen=True, eq=False)
class SumListed(_Bounds, CountListed, title="Sum dosages", ring_bits=64):
    """Sums of dosages of variants one by one, and who with complete data carries each allele, capped."""

    sends: ClassVar[tuple[Count, ...]] = CarriedDosages.sends

    def local(self, cohort: Cohort) -> Arrays:
        items = self.items.astype(np.int64)
        sums = counted(cohort, items, self.groups)
        inside = [group for group in self.groups if COMPLETE in group]
        carried = carriers(nearest(cohort, items, inside).sum(axis=1, dtype=np.int64))
        return {
            **{array.name: sums[..., k] for k, array in enumerate(OfDosages.sends)},
            CAPPED.name: capped(carried),
        }


@dataclass(frozen=True, eq=False)
class Known:
    """Counts of the variants of a chunk, and which of them pass."""

    table: GenotypeTable | DosageTable
    passing: np.ndarray
    """bool (m,): which pass the plan's filters, are on an autosome, and have enough carriers"""

    @property
    def sums(self) -> tuple[np.ndarray, ...]:
        """People with a call, copies of the panel's first allele, and their squares; copies of the first and
        of the second among those who count in frequencies: (m,) each.
        """
        first, second = self.table.frequency_alleles()
        if isinstance(self.table, DosageTable):
            people, copies, squares = self.table.counts.sum(axis=1, dtype=np.int64).T
            return people, copies / COPY, squares / COPY**2, first / (2 * COPY), second / (2 * COPY)
        two, one, none = np.moveaxis(self.table.counts.sum(axis=1, dtype=int), 1, 0)
        counted = two + one + none, 2 * two + one, 4 * two + one
        return (*counted, first.astype(np.int64), second.astype(np.int64))


def count_copies(
    study: Study,
    chunk: Chunk,
    groups: tuple[Group, ...],
    people: Sequence[int],
    called: type[CountCarried],
    dosed: type[CarriedDosages],
) -> Asks[Known]:
    """Count the genotypes of groups of so many people, or sum their dosages, by questions of these kinds."""
    plan, about = study.plan, (chunk.start, chunk.stop, groups, max(people), chunk.chromosome)

    def of_calls(sums: Arrays) -> GenotypeTable:
        return GenotypeTable(sums["genotypes"], groups, sum(people), chunk.chromosome, ())

    table: GenotypeTable | DosageTable
    if DOSAGES.of(plan):
        sums = yield dosed(*about)
        calls = of_calls((yield called(*about))) if filters.of_calls(plan) else None
        table = dosed.table(sums, groups, chunk.chromosome)
        passing = filters.passing_of_dosages(table, calls, plan)
    else:
        sums = yield called(*about)
        table = of_calls(sums)
        passing = filters.passing(table, plan)
    code = study.panel.chromosome[chunk.start : chunk.stop]
    placed = (code >= 1) & (code <= plan.autosomes)  # not those without a place, nor XY
    return Known(table, passing & placed & is_carried(plan, sums))
