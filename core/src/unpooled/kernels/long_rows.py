"""A few long rows: their products with one another, and sums of multiples of them, in an order that is fixed.

What is asked next follows from these, and every cohort finds it by itself: so they have the same bits on
every machine. A product is taken tile by tile, and in a tile in the lanes of `kernels.lanes`; a sum is taken
row by row. Nothing goes with the number of threads or the width of a processor's vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.lanes import Product, tile_sums

Floats = NDArray[np.float64]

TILE = 256
"""Numbers of a row at once: six such parts stay in the first cache, those of twenty rows in the second."""
_DOWN, _ACROSS = 2, 4
"""Rows of either side of which all products are taken at once."""


def _each_with_each(builder: Any, *rows: Any) -> list[Product]:
    return [(builder.fmul(a, b), None) for a in rows[:_DOWN] for b in rows[_DOWN:]]


_products = tile_sums(TILE, _DOWN * _ACROSS, _each_with_each)


def crossed(some: Floats, others: Floats) -> Floats:
    """The sum of the products of each row with each other one: float64 (k, l) from (k, m) and (l, m)."""
    k, l = len(some), len(others)  # noqa: E741
    out = np.zeros((k + -k % _DOWN, l + -l % _ACROSS))
    _crossed(np.ascontiguousarray(some), np.ascontiguousarray(others), out)
    return out[:k, :l]


def add(rows: Floats, shares: Floats, others: Floats) -> None:
    """Add shares @ others to rows, in place: (k, l) by (l, m) to (k, m), C-contiguous."""
    _add(rows, np.ascontiguousarray(shares), np.ascontiguousarray(others))


def lengths(rows: Floats) -> Floats:
    """The length of each: float64 (k,)."""
    return np.asarray(np.sqrt([crossed(row[None], row[None])[0, 0] for row in rows]))


def orthonormal(rows: Floats, least: float) -> tuple[Floats, Floats]:
    """Orthonormal rows, float64 (k, m), and by how much of each these were the rows, (b, k).

    They are in the memory of the rows, (b, m). A row of which no more than `least` is outside those before it
    makes none. By Gram and Schmidt, twice: once leaves too much where little is outside.
    """
    shares, found = np.zeros((len(rows), len(rows))), 0
    for i in range(len(rows)):
        row, before = rows[i : i + 1], rows[:found]
        for _ in range(2):
            share = crossed(row, before)
            add(row, -share, before)
            shares[i, :found] += share[0]
        (size,) = lengths(row)
        if size > least:
            shares[i, found] = size
            np.divide(row[0], size, out=rows[found])
            found += 1
    return rows[:found], shares[:, :found]


@compiled
def _crossed(some: Any, others: Any, out: Any) -> None:
    left, right = np.zeros((out.shape[0], TILE)), np.zeros((out.shape[1], TILE))
    for start in range(0, some.shape[1], TILE):
        _fill(left, some, start)
        _fill(right, others, start)
        for i in range(0, out.shape[0], _DOWN):
            for j in range(0, out.shape[1], _ACROSS):
                sums = _products((left[i], left[i + 1], right[j], right[j + 1], right[j + 2], right[j + 3]))
                for k in range(_ACROSS):
                    out[i, j + k] += sums[k]
                    out[i + 1, j + k] += sums[_ACROSS + k]


@compiled
def _fill(tile: Any, rows: Any, start: Any) -> None:
    """A part of some rows, and zeros where there is no more of them."""
    stop = min(start + TILE, rows.shape[1])
    for i in range(rows.shape[0]):
        tile[i, : stop - start] = rows[i, start:stop]
        tile[i, stop - start :] = 0.0


@compiled
def _add(rows: Any, shares: Any, others: Any) -> None:
    count = others.shape[0]
    for start in range(0, rows.shape[1], TILE):
        stop = min(start + TILE, rows.shape[1])
        for i in range(rows.shape[0]):
            row = rows[i, start:stop]
            for j in range(0, count - 3, 4):  # four at once: one load and store of the row for all
                a, b, c, d = shares[i, j], shares[i, j + 1], shares[i, j + 2], shares[i, j + 3]
                of_a, of_b = others[j, start:stop], others[j + 1, start:stop]
                of_c, of_d = others[j + 2, start:stop], others[j + 3, start:stop]
                for t in range(len(row)):
                    row[t] = row[t] + a * of_a[t] + b * of_b[t] + c * of_c[t] + d * of_d[t]
            for j in range(count - count % 4, count):
                a, of_a = shares[i, j], others[j, start:stop]
                for t in range(len(row)):
                    row[t] += a * of_a[t]
