"""Copies of an allele of some variants at one cohort, called or as dosages, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.kernels import dosages as of_dosages
from unpooled.kernels import products as of_calls
from unpooled.kernels import scores as scores_of_calls

_COPIES, _ONES = (0.0, 1.0, 2.0), (1.0, 1.0, 1.0)
"""Factors of what 0, 1 and 2 copies count."""


@dataclass(frozen=True, eq=False)
class CalledCopies:
    """Copies of m variants in n people, from their calls."""

    values: np.ndarray
    """Words of calls, uint64 (m, w), as in `unpooled.asking.cohort.Packed`."""
    second: np.ndarray
    """bool (m,): those of the file's A2 count, else of its A1."""

    def products(self, columns: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Multiply as `unpooled.kernels.dosages.products`: float64 (m, c) from (n, c) and (2, 3, c)."""
        return of_calls.coded_products(self.values, self.second, columns, factors[0] * factors[1])

    def with_squares(self, columns: np.ndarray, squared: np.ndarray) -> np.ndarray:
        """Multiply as `unpooled.kernels.products.products`: float64 (m, c + s) from (n, c) and (n, s)."""
        return of_calls.products(self.values, self.second, columns, squared)

    def over_missing(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Sum columns, (n, c), over the people of whom some variants, bool (m,), are not known."""
        return of_calls.over_missing(self.values[which], columns)

    def add_scores(self, mean: np.ndarray, weights: np.ndarray, out: np.ndarray, power: int) -> None:
        """Add to each person's sums of weighted copies as `unpooled.kernels.scores.add_scores`."""
        scores_of_calls.add_scores(self.values, self.second, mean, weights, out, power)


@dataclass(frozen=True, eq=False)
class DosageCopies:
    """The same, from dosages."""

    values: np.ndarray
    """uint16 (m, n), as in `unpooled.asking.cohort.Dosages`."""
    second: np.ndarray

    def products(self, columns: np.ndarray, factors: np.ndarray) -> np.ndarray:
        return of_dosages.products(self.values, self.second, columns, factors)

    def with_squares(self, columns: np.ndarray, squared: np.ndarray) -> np.ndarray:
        factors = np.repeat(
            [[_COPIES, _ONES], [_COPIES, _COPIES]], [columns.shape[1], squared.shape[1]], axis=0
        )
        every = np.concatenate([columns, squared], axis=1)
        return self.products(every, factors.transpose(1, 2, 0))

    def over_missing(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return of_dosages.over_missing(self.values[which], columns)

    def add_scores(self, mean: np.ndarray, weights: np.ndarray, out: np.ndarray, power: int) -> None:
        of_dosages.add_scores(self.values, self.second, mean, weights, out, power)


Copies = CalledCopies | DosageCopies


def copies_of(cohort: Cohort, variants: slice | np.ndarray, *, dosed: bool) -> Copies:
    """Read the copies of the panel's first allele of some variants: `dosed` says whether as dosages."""
    if dosed:
        found = cohort.dosages(variants)
        return DosageCopies(found.values, found.swapped)
    packed = cohort.packed(variants)
    return CalledCopies(packed.words, packed.swapped)
