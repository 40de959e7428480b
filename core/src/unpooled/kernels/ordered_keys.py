"""Integers of the same order as float64 numbers, for searches that go by bits."""

from __future__ import annotations

import numpy as np

BITS = 64
_SIGN = np.uint64(1 << 63)


def keys(values: np.ndarray) -> np.ndarray:
    """Integers of the same order as the values, none of them NaN: uint64 from float64. Both zeros are one."""
    bits = (values + 0.0).view(np.uint64)
    # Of a negative number all bits are turned, for the larger its size, the smaller it is.
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def values_of(found: np.ndarray) -> np.ndarray:
    """The values whose `keys` these are."""
    return np.where(found & _SIGN, found ^ _SIGN, ~found).view(np.float64)
