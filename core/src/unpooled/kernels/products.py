"""Sums of genotypes times columns, straight from PLINK's two bits a sample.

    products       for each variant and column: the sum over called samples of (copies of an allele) x column
    over_missing   for each variant and column: the sum of the column over samples without a call

A table turns a byte into the copies of its four samples, 0 for a missing call: one load and one store of a
vector. A tile of the columns stays in the first cache while the variants of a block go over it, two at a
time, so that each number is loaded for two variants.

The sums may be taken in any order (`reassoc`, `nsz`), and a product need not be rounded before it is added
(`contract`): LLVM needs that to vectorise a sum. No other liberty of `fastmath` is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

TILE = 256
"""Samples of a tile: 2 KiB of a column."""

_BLOCK = 64
"""Variants that go over a tile before the next one is loaded."""

_FREEDOMS = {"reassoc", "contract", "nsz"}

_PAIRS = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3
_COPIES = np.stack([np.array([2.0, 0.0, 1.0, 0.0])[_PAIRS], np.array([0.0, 0.0, 1.0, 2.0])[_PAIRS]]).reshape(
    2, -1
)
"""(2, 256 x 4): copies of A1, and of A2, of the four samples of a byte."""
_SQUARES = _COPIES * _COPIES


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns laid out for `products`."""

    tiles: Floats
    """(tiles, columns, TILE)"""

    @classmethod
    def of(cls, columns: Floats) -> Columns:
        """From (samples, columns). Who is 0 in a column counts nowhere in it."""
        samples, count = columns.shape
        tiles = max(1, -(-samples // TILE))
        padded = np.zeros((tiles * TILE, count))
        padded[:samples] = columns
        return cls(np.ascontiguousarray(padded.reshape(tiles, TILE, count).transpose(0, 2, 1)))

    @property
    def count(self) -> int:
        return int(self.tiles.shape[1])


def products(words: Words, swapped: NDArray[np.bool_], columns: Columns, *, squares: bool = False) -> Floats:
    """Sums over called samples of copies, or their squares, times column: float64 (variants, columns).

    `words` is (variants, w) as in `unpooled.cohort.Packed`. The copies are those of A1, where `swapped` those
    of A2: always of the panel's first allele. What pads a row counts nowhere.
    """
    quads = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    out = np.zeros((len(quads), columns.count))
    _products(quads, swapped, _SQUARES if squares else _COPIES, columns.tiles, out)
    return out


def over_missing(words: Words, columns: Floats) -> Floats:
    """Sums of columns over the samples without a call, float64 (variants, columns).

    `columns` is (samples, columns), C-contiguous; zero for whoever is not to count.
    """
    out = np.zeros((len(words), columns.shape[1]))
    _over_missing(np.ascontiguousarray(words), np.ascontiguousarray(columns), out)
    return out


@intrinsic
def _move_four(context: Any, table: Any, row: Any, copies: Any, at: Any) -> Any:
    """copies[at : at + 4] = table[4 * row : 4 * row + 4], as one vector: LLVM does not find it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def four(array: int, index: Any) -> Any:
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            vector = ir.VectorType(ir.DoubleType(), 4).as_pointer()
            return builder.bitcast(builder.gep(data, [index]), vector)

        source = four(0, builder.mul(arguments[1], ir.Constant(ir.IntType(64), 4)))
        builder.store(builder.load(source, align=8), four(2, arguments[3]), align=8)
        return context.get_dummy_value()

    return types.void(table, row, copies, at), generate


_move: Any = _move_four


@njit(cache=True, nogil=True, error_model="numpy")
def _decode(quads: Any, table: Any, copies: Any) -> None:
    """Copies of four samples a byte, then zeros. `table` is one of `_COPIES`, flat."""
    for i in range(quads.shape[0]):
        _move(table, np.int64(quads[i]), copies, np.int64(4 * i))
    copies[4 * quads.shape[0] :] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FREEDOMS)
def _products(quads: Any, swapped: Any, tables: Any, tiles: Any, out: Any) -> None:
    variants, length = quads.shape
    a, b = np.empty(TILE), np.empty(TILE)
    for start in range(0, variants, _BLOCK):
        stop = min(start + _BLOCK, variants)
        for tile in range(tiles.shape[0]):
            left = tile * (TILE // 4)
            right = min(left + TILE // 4, length)
            columns = tiles[tile]
            for v in range(start, stop - 1, 2):
                _decode(quads[v, left:right], tables[np.int64(swapped[v])], a)
                _decode(quads[v + 1, left:right], tables[np.int64(swapped[v + 1])], b)
                _dot_two(a, b, columns, out[v], out[v + 1])
            if (stop - start) % 2:
                _decode(quads[stop - 1, left:right], tables[np.int64(swapped[stop - 1])], a)
                _dot_one(a, columns, out[stop - 1])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FREEDOMS)
def _dot_two(a: Any, b: Any, columns: Any, out_a: Any, out_b: Any) -> None:
    count, size = columns.shape
    for c in range(0, count - 1, 2):
        y, z = columns[c], columns[c + 1]
        ay = az = by = bz = 0.0
        for i in range(size):
            ay += a[i] * y[i]
            az += a[i] * z[i]
            by += b[i] * y[i]
            bz += b[i] * z[i]
        out_a[c] += ay
        out_a[c + 1] += az
        out_b[c] += by
        out_b[c + 1] += bz
    if count % 2:
        y = columns[count - 1]
        ay = by = 0.0
        for i in range(size):
            ay += a[i] * y[i]
            by += b[i] * y[i]
        out_a[count - 1] += ay
        out_b[count - 1] += by


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FREEDOMS)
def _dot_one(a: Any, columns: Any, out: Any) -> None:
    for c in range(columns.shape[0]):
        y = columns[c]
        ay = 0.0
        for i in range(columns.shape[1]):
            ay += a[i] * y[i]
        out[c] += ay


_EVEN_64 = np.uint64(0x5555555555555555)


@njit(cache=True, nogil=True, error_model="numpy")
def _over_missing(words: Any, columns: Any, out: Any) -> None:
    samples, count = columns.shape
    one = np.uint64(1)
    for v in range(words.shape[0]):
        for w in range(words.shape[1]):
            missing = words[v, w] & ~(words[v, w] >> one) & _EVEN_64
            while missing:
                lowest = missing & (~missing + one)
                sample = 32 * w + _position(lowest) // 2
                if sample < samples:
                    for c in range(count):
                        out[v, c] += columns[sample, c]
                missing ^= lowest


@njit(cache=True, nogil=True, error_model="numpy")
def _position(bit: Any) -> Any:
    """Which bit of a word is the only one that is set."""
    place = 0
    for step, mask in (
        (32, np.uint64(0xFFFFFFFF00000000)),
        (16, np.uint64(0xFFFF0000FFFF0000)),
        (8, np.uint64(0xFF00FF00FF00FF00)),
        (4, np.uint64(0xF0F0F0F0F0F0F0F0)),
        (2, np.uint64(0xCCCCCCCCCCCCCCCC)),
        (1, np.uint64(0xAAAAAAAAAAAAAAAA)),
    ):
        if bit & mask:
            place += step
    return place
