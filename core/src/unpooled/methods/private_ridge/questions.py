"""Products of columns with differential privacy: one sum with noise, in which everyone is.

Limits in the plan bound what a person adds. With each of k columns from -1 at the lowest to 1 at the highest
value, the constant 1 among them, a row adds the k (k + 1) / 2 products of two of them, each from -1 to 1. A
row counts as a person.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import Arrays, Foreseen, Question, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.methods.learning.reading import examples
from unpooled.methods.shared.privacy import FARTHEST, Promise, noise_of
from unpooled.methods.tables.noisy import promise_of
from unpooled.plan.plan import Plan

UNITS = 1 << 12
"""Each product is rounded to a whole number of so many units in 1: little beside any noise."""
MOST_COLUMNS = 200
"""Largest number of columns: of more, noise would hide nearly everything of any pool."""
_AT_ONCE = 1 << 21
"""Products of people's columns at once."""


@dataclass(frozen=True, eq=False)
class SumProductsWithNoise(
    Question, name="private-ridge/products", title="Sum products with noise", ring_bits=64
):
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

    low: np.ndarray
    """float64 (columns,): the limits in the plan, the outcome's last"""
    high: np.ndarray
    outcome: int
    """The place of the outcome among the columns of a table."""
    promise: Promise

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls.of(plan)])

    @classmethod
    def of(cls, plan: Plan) -> SumProductsWithNoise:
        columns = sorted(plan.features, key=lambda column: column.is_outcome)
        low, high = (np.array([getattr(c, end) for c in columns], float) for end in ("low", "high"))
        place = next(k for k, column in enumerate(plan.features) if column.is_outcome)
        return cls(low, high, place, promise_of(plan))

    @property
    def draws(self) -> bool:
        return True

    @property
    def columns(self) -> int:
        """The columns with the constant."""
        return len(self.low) + 1

    @property
    def size(self) -> int:
        return self.columns * (self.columns + 1) // 2

    @property
    def middle(self) -> np.ndarray:
        return self.low / 2 + self.high / 2

    @property
    def half(self) -> np.ndarray:
        return self.high / 2 - self.low / 2

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of all cohorts in a sum of numbers from -1 to 1."""
        return self.promise.deviation(self.size, UNITS) * math.sqrt(self.promise.cohorts) / UNITS

    def local(self, table: Table) -> Arrays:
        noise = noise_of(table, self, self.promise.deviation(self.size, UNITS), self.size)
        total = sum((each.sum(axis=0) for each in self._of_people(table)), start=noise.astype(float))
        return {"products": np.clip(total, -FARTHEST, FARTHEST)}

    def _of_people(self, table: Table) -> Iterator[np.ndarray]:
        """The products of each row, by blocks: whole float64 (rows, size)."""
        values = examples(table).values
        ordered = np.column_stack([np.delete(values, self.outcome, axis=1), values[:, self.outcome]])
        # A feature that is missing is halfway between its limits.
        x = np.nan_to_num(np.clip((ordered - self.middle) / self.half, -1, 1), nan=0.0)
        z = np.column_stack([np.ones(len(x)), x])
        upper, most = np.triu_indices(self.columns), max(1, _AT_ONCE // self.size)
        for at in range(0, len(z), most):
            some = z[at : at + most]
            # Rounded person by person, so that nobody's is longer than the bound.
            yield np.rint(some[:, upper[0]] * some[:, upper[1]] * UNITS)

    def matrix(self, products: np.ndarray) -> np.ndarray:
        """The symmetric matrix of sums of products of columns from -1 to 1: float64 (columns, columns)."""
        found = np.zeros((self.columns, self.columns))
        upper = np.triu_indices(self.columns)
        found[upper] = found.T[upper] = products / UNITS
        return found
