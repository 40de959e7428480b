"""One pass over a table of real numbers: sums to about twice float64's digits, and counts of sizes.

Tables are (rows, columns) in either order in memory; NaN is a missing value and counts nowhere. Rows are
taken in blocks, so that a table by rows is read from memory once, and not once per column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled, inlined

BLOCK = 512
_SMALLEST, _LARGEST = -1100, 1100
"""Exponents of two: beyond those of all float64."""


def moments(
    values: NDArray[np.float64], centre: NDArray[np.float64], exponent: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over each column of z = (x - centre) / 2^exponent, and of z^2: float64 (columns,) both."""
    (sums, lost), (squares, squares_lost) = exact_moments(values, centre, exponent)
    return sums + lost, squares + squares_lost


def exact_moments(
    values: NDArray[np.float64], centre: NDArray[np.float64], exponent: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same sums, each with what its rounding lost: float64 (2, columns) both.

    Errors of rounding are summed along (Neumaier 1974), so the two add up to a sum as if added with twice
    float64's digits: of n terms it is wrong by n^2 2^-106 of the sum of their sizes at most (Ogita, Rump and
    Oishi 2005). The terms of the first sum are exact, what x - centre loses included; squares are rounded.
    """
    sums, squares = np.zeros((2, len(centre))), np.zeros((2, len(centre)))
    half = exponent // 2  # 2^-exponent itself may be no float64
    first, second = np.ldexp(1.0, -half), np.ldexp(1.0, half - exponent)
    _moments(values, centre * first * second, first, second, sums, squares)
    plain = add.py_func  # as it is written: for whole arrays
    return np.array(plain(sums[0], 0.0, sums[1])), np.array(plain(squares[0], 0.0, squares[1]))


def within_powers(values: NDArray[np.float64], powers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the values of each column that are at most 2^power in size: int64 (columns, k), as `powers`."""
    counts = np.zeros((values.shape[1], _LARGEST - _SMALLEST + 1), np.int64)
    _count_exponents(values, counts)
    at = np.clip(powers, _SMALLEST, _LARGEST) - _SMALLEST
    found: NDArray[np.int64] = np.take_along_axis(np.cumsum(counts, axis=1), at, axis=1)
    return found


@inlined
def add(total: Any, lost: Any, x: Any) -> Any:
    """Sum and what its rounding lost, with x added."""
    new = total + x
    back = new - total
    return new, lost + ((total - (new - back)) + (x - back))


@compiled
def _moments(values: Any, centre: Any, first: Any, second: Any, sums: Any, squares: Any) -> None:
    for start in range(0, values.shape[0], BLOCK):
        for k in range(values.shape[1]):
            total, lost = sums[0, k], sums[1, k]
            square, square_lost = squares[0, k], squares[1, k]
            for row in range(start, min(start + BLOCK, values.shape[0])):
                # Scaled before they are subtracted: the difference of two numbers may be none.
                z, rest = add(values[row, k] * first[k] * second[k], 0.0, -centre[k])
                if z == z:
                    total, lost = add(total, lost + rest, z)
                    square, square_lost = add(square, square_lost, z * z)
            sums[0, k], sums[1, k] = total, lost
            squares[0, k], squares[1, k] = square, square_lost


@compiled
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
