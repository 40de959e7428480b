"""One pass over a table of real numbers: sums to about twice float64's digits, and counts of sizes.

Tables are (rows, columns) in either order in memory; NaN is a missing value and counts nowhere. Rows are
taken in blocks, so that a table by rows is read from memory once, and not once per column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

BLOCK = 512
_SMALLEST, _LARGEST = -1100, 1100
"""Exponents of two: beyond those of all float64."""


def moments(
    values: NDArray[np.float64], centre: NDArray[np.float64], exponent: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over each column of z = (x - centre) / 2^exponent, and of z^2: float64 (columns,) both.

    Errors of rounding are summed along (Neumaier 1974), so a sum is as if added with twice float64's digits
    and rounded once: of n terms it is wrong by that rounding, and by n^2 2^-106 of the sum of their sizes at
    most (Ogita, Rump and Oishi 2005). Only where terms cancel to so little does the order of the rows count.
    """
    sums, squares = np.zeros((2, len(centre))), np.zeros((2, len(centre)))
    half = exponent // 2  # 2^-exponent itself may be no float64
    _moments(values, centre, np.ldexp(1.0, -half), np.ldexp(1.0, half - exponent), sums, squares)
    return sums[0] + sums[1], squares[0] + squares[1]


def within_powers(values: NDArray[np.float64], powers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many values of each column are at most 2^power in size: int64 (columns, k), as `powers` is."""
    counts = np.zeros((values.shape[1], _LARGEST - _SMALLEST + 1), np.int64)
    _count_exponents(values, counts)
    at = np.clip(powers, _SMALLEST, _LARGEST) - _SMALLEST
    found: NDArray[np.int64] = np.take_along_axis(np.cumsum(counts, axis=1), at, axis=1)
    return found


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def add(total: Any, lost: Any, x: Any) -> Any:
    """Sum and what its rounding lost, with x added."""
    new = total + x
    back = new - total
    return new, lost + ((total - (new - back)) + (x - back))


@njit(cache=True, nogil=True, error_model="numpy")
def _moments(values: Any, centre: Any, first: Any, second: Any, sums: Any, squares: Any) -> None:
    for start in range(0, values.shape[0], BLOCK):
        for k in range(values.shape[1]):
            total, lost = sums[0, k], sums[1, k]
            square, square_lost = squares[0, k], squares[1, k]
            for row in range(start, min(start + BLOCK, values.shape[0])):
                z = (values[row, k] - centre[k]) * first[k] * second[k]
                if z == z:
                    total, lost = add(total, lost, z)
                    square, square_lost = add(square, square_lost, z * z)
            sums[0, k], sums[1, k] = total, lost
            squares[0, k], squares[1, k] = square, square_lost


@njit(cache=True, nogil=True, error_model="numpy")
def _count_exponents(values: Any, counts: Any) -> None:
    """Add to `counts` how many values of each column need which power of two to cover them."""
    for start in range(0, values.shape[0], BLOCK):
        for k in range(values.shape[1]):
            for row in range(start, min(start + BLOCK, values.shape[0])):
                x = abs(values[row, k])
                if x == 0:
                    counts[k, 0] += 1
                elif x == x:
                    fraction, power = math.frexp(x)  # x = fraction 2^power, 1/2 <= fraction < 1
                    counts[k, power - (fraction == 0.5) - _SMALLEST] += 1
