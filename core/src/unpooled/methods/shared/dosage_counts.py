"""The question that sums the dosages of a chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Count
from unpooled.kernels.dosages import COPY
from unpooled.methods.shared.dosage_table import DosageTable, counted
from unpooled.methods.shared.genotype_counts import CountGenotypes
from unpooled.methods.shared.groups import Group


# Dosages are whole numbers of 1/16384, as plink2 keeps them, so these sums are exact.
@dataclass(frozen=True)
class OfDosages(CountGenotypes):
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

    @property
    def most_dosages(self) -> int:
        return self.most * 2 * COPY

    @property
    def most_squares(self) -> int:
        return self.most * (2 * COPY) ** 2

    def local(self, cohort: Cohort) -> Arrays:
        found = counted(cohort, slice(self.start, self.stop), self.groups)
        return {array.name: found[..., k] for k, array in enumerate(OfDosages.sends)}

    @classmethod
    def table(cls, sums: Arrays, groups: tuple[Group, ...], chromosome: str) -> DosageTable:
        """Build the pool's table from the sums."""
        names = (array.name for array in cls.sends if array.dims == OfDosages.sends[0].dims)
        return DosageTable(np.stack([sums[name] for name in names], axis=-1), groups, chromosome)
