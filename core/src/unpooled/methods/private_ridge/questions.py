"""Products of columns with differential privacy: one sum with noise, in which everyone is.

Limits in the plan bound what a person adds. With each of k columns from -1 at the lowest to 1 at the highest
value, the constant 1 among them, a row adds the k (k + 1) / 2 products of two of them, each from -1 to 1. A
row counts as a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import Arrays, Real, Sent
from unpooled.methods.learning.reading import examples
from unpooled.methods.shared.privacy import FARTHEST, noise_of
from unpooled.methods.tables.noisy import WithNoise

MOST_COLUMNS = 200
"""Largest number of columns: of more, noise would hide nearly everything of any pool."""
_AT_ONCE = 1 << 21
"""Products of people's columns at once."""


@dataclass(frozen=True, eq=False)
class SumProductsWithNoise(WithNoise, name="private-ridge/products", title="Sum products with noise"):
    """Products of all pairs of columns, the constant 1 among them, within limits and with noise."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "products",
            ("size",),
            FARTHEST,
            "the number of rows, per column its sum, and per pair of columns the sum of their products: of "
            "values cut off at the limits, and all with noise",
            "how columns vary together, no more exactly than epsilon and delta allow",
            fraction_bits=0,
        ),
    )
    each: ClassVar[dict[str, str]] = {"size": "pair of columns"}

    units: ClassVar[int] = 1 << 12

    @property
    def columns(self) -> int:
        """The columns with the constant."""
        return len(self.plan.features) + 1

    @property
    def size(self) -> int:
        return self.columns * (self.columns + 1) // 2

    def local(self, table: Table) -> Arrays:
        noise = noise_of(table, self, self.noise, self.size)
        total = sum((each.sum(axis=0) for each in self._of_people(table)), start=noise.astype(float))
        return {"products": np.clip(total, -FARTHEST, FARTHEST)}

    def _of_people(self, table: Table) -> Iterator[np.ndarray]:
        """The products of each row, by blocks: whole float64 (rows, size)."""
        ordered = examples(table).values[:, self.order]
        # A feature that is missing is halfway between its limits.
        x = np.nan_to_num(np.clip((ordered - self.middle) / self.half, -1, 1), nan=0.0)
        z = np.column_stack([np.ones(len(x)), x])
        upper, most = np.triu_indices(self.columns), max(1, _AT_ONCE // self.size)
        for at in range(0, len(z), most):
            some = z[at : at + most]
            # Rounded person by person, so that nobody's is longer than the bound.
            yield np.rint(some[:, upper[0]] * some[:, upper[1]] * self.units)

    def matrix(self, products: np.ndarray) -> np.ndarray:
        """The symmetric matrix of sums of products of columns from -1 to 1: float64 (columns, columns)."""
        found = np.zeros((self.columns, self.columns))
        upper = np.triu_indices(self.columns)
        found[upper] = found.T[upper] = products / self.units
        return found
