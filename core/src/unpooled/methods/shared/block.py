"""Questions about a block of variants whose genotypes are read as numbers, some people at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unpooled.asking.cohort import Cohort, dosages_of
from unpooled.asking.question import UnderPlan
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods.shared.options import DOSAGES

_PEOPLE_AT_ONCE = 1 << 13
"""People whose genotypes of a block are in memory as numbers: 32 MB of 500 variants."""


@dataclass(frozen=True, eq=False)
class OfBlock(UnderPlan):
    """About the variants of a block."""

    variants: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    mean: np.ndarray
    """float64 (m,): copies of the panel's first allele in the pool, which stand for missing calls"""

    @property
    def count(self) -> int:
        return len(self.variants)

    @property
    def pairs(self) -> int:
        return self.count * (self.count + 1) // 2

    @property
    def reach(self) -> int:
        return int(self.variants[-1]) + 1 if len(self.variants) else 0

    @property
    def items(self) -> np.ndarray:
        return self.variants.astype(np.int64)

    def genotypes(self, cohort: Cohort) -> Iterator[tuple[slice, np.ndarray]]:
        """Copies of the panel's first allele about the means, some people at a time: float64 (people, m)."""
        items, people = self.items, len(cohort.samples)
        found = cohort.dosages(items) if DOSAGES.of(self.plan) else dosages_of(cohort.packed(items), people)
        for start in range(0, people, _PEOPLE_AT_ONCE):
            some = slice(start, start + _PEOPLE_AT_ONCE)
            copies = found.values[:, some] / COPY
            copies = np.where(found.swapped[:, None], 2 - copies, copies) - self.mean[:, None]
            yield some, np.where(found.values[:, some] == NO_DOSAGE, 0.0, copies).T
