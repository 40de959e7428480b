"""Copies of an allele, called or imputed, as a cohort multiplies them with columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unpooled.kernels import dosages as of_dosages
from unpooled.kernels import products as of_calls


class Copies(Protocol):
    """Copies of an allele of m variants, in n people."""

    @property
    def values(self) -> np.ndarray:
        """Words of calls, uint64 (m, w), or dosages, uint16 (m, n), as `unpooled.asking.cohort` has them."""

    @property
    def second(self) -> np.ndarray:
        """bool (m,): those of the file's A2 count, else of its A1."""

    def products(self, columns: np.ndarray, coded: np.ndarray) -> np.ndarray:
        """Multiply as `unpooled.kernels.products.coded_products`: float64 (m, c) from (n, c)."""

    def with_squares(self, columns: np.ndarray, squared: np.ndarray) -> np.ndarray:
        """Multiply as `unpooled.kernels.products.products`: float64 (m, c + s) from (n, c) and (n, s)."""

    def over_missing(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Sums of columns, (n, c), over the people of whom some variants, bool (m,), are not known."""


@dataclass(frozen=True, eq=False)
class CalledCopies:
    values: np.ndarray
    second: np.ndarray

    def products(self, columns: np.ndarray, coded: np.ndarray) -> np.ndarray:
        return of_calls.coded_products(self.values, self.second, columns, coded)

    def with_squares(self, columns: np.ndarray, squared: np.ndarray) -> np.ndarray:
        return of_calls.products(self.values, self.second, columns, squared)

    def over_missing(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return of_calls.over_missing(self.values[which], columns)


@dataclass(frozen=True, eq=False)
class DosageCopies:
    values: np.ndarray
    second: np.ndarray

    def products(self, columns: np.ndarray, coded: np.ndarray) -> np.ndarray:
        """`coded` says that copies count as they are: dosages have no other model."""
        return of_dosages.products(self.values, self.second, columns)

    def with_squares(self, columns: np.ndarray, squared: np.ndarray) -> np.ndarray:
        first = of_dosages.products(self.values, self.second, columns)
        second = of_dosages.products(self.values, self.second, squared, squared=True)
        return np.concatenate([first, second], axis=1)

    def over_missing(self, which: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return of_dosages.over_missing(self.values[which], columns)
