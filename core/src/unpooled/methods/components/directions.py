"""Directions of a block as they are stored and sent: whole numbers of four bytes.

What matters is that everybody multiplies with the same numbers, not which these are: so they are rounded
before, and the rounded ones are the block. A number is off by 2⁻³² of the largest's power of two or less,
hence a direction by some 10⁻⁹ of its length; and last bits that another machine finds are lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

_BITS = 31  # without the sign's
_LEAST_EXPONENT = -1000
"""Smallest exponent of two: with it, a float64 holds even the smallest numbers exactly."""


@dataclass(frozen=True, eq=False)
class Directions:
    """b directions in m dimensions."""

    name: ClassVar[str] = "directions"

    packed: np.ndarray
    """int32 (b, m)"""
    exponent: int
    """The power of two that is 1 of them."""

    @classmethod
    def of(cls, rows: np.ndarray) -> Directions:
        """The nearest to these, float64 (b, m)."""
        exponent = max(int(np.frexp(np.abs(rows).max(initial=0))[1]) - _BITS, _LEAST_EXPONENT)
        most = (1 << _BITS) - 1  # the largest number may be a little below a power of two
        packed = np.empty(rows.shape, np.int32)
        for row, into in zip(rows, packed, strict=True):  # one by one: for the memory
            into[:] = np.minimum(np.rint(row * math.ldexp(1.0, -exponent)), most)
        return cls(packed, exponent)

    @property
    def shape(self) -> tuple[int, int]:
        return self.packed.shape[0], self.packed.shape[1]

    def rows(self) -> np.ndarray:
        """float64 (b, m)"""
        return np.asarray(self.packed * math.ldexp(1.0, self.exponent))
