"""Directions of a block as they are stored and sent: whole numbers of five bytes.

What matters is that everybody multiplies with the same numbers, not which these are: so they are rounded
before, and the rounded ones are the block. A number is off by 2⁻⁴⁰ of the largest or less, hence a direction
by some 10⁻¹² of its length, where float64 would be three bytes longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

_BYTES = 5
_BITS = 8 * _BYTES - 1  # without the sign's
_LEAST_EXPONENT = -1000
"""Of two: with it no number is too small for a float64 to hold it exactly."""


@dataclass(frozen=True, eq=False)
class Directions:
    """b directions in m dimensions."""

    name: ClassVar[str] = "directions"

    packed: np.ndarray
    """uint8 (b, m, 5): whole numbers, little-endian, negative ones as two's complement"""
    exponent: int
    """The power of two that is 1 of them."""

    @classmethod
    def of(cls, rows: np.ndarray) -> Directions:
        """The nearest to these, float64 (b, m)."""
        exponent = max(int(np.frexp(np.abs(rows).max(initial=0))[1]) - _BITS, _LEAST_EXPONENT)
        most = (1 << _BITS) - 1  # the largest number may be a little below a power of two
        packed = np.empty((*rows.shape, _BYTES), np.uint8)
        for row, into in zip(rows, packed, strict=True):  # one by one, as they are unpacked: for the memory
            whole = np.minimum(np.rint(np.ldexp(row, -exponent)), most).astype("<i8")
            into[:] = whole.view(np.uint8).reshape(-1, 8)[:, :_BYTES]
        return cls(packed, exponent)

    @property
    def are_plausible(self) -> bool:
        """Whether they are of this form, and no number beyond 2: one of length 1 can have a 1."""
        good = self.packed.dtype == np.uint8 and self.packed.ndim == 3 and self.packed.shape[2] == _BYTES
        return good and _LEAST_EXPONENT <= self.exponent <= 1 - _BITS

    @property
    def shape(self) -> tuple[int, int]:
        return self.packed.shape[0], self.packed.shape[1]

    def rows(self) -> np.ndarray:
        """float64 (b, m)"""
        rows, wide = np.empty(self.shape), np.zeros((self.shape[1], 8), np.uint8)
        for row, packed in zip(rows, self.packed, strict=True):
            wide[:, -_BYTES:] = packed  # at the upper end, where the sign is
            np.ldexp(wide.view("<i8")[:, 0] >> (64 - 8 * _BYTES), self.exponent, out=row)
        return rows
