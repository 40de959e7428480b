"""Sums of genotypes times columns, straight from PLINK's two bits a sample.

    products       for each variant and column: the sum over called samples of (copies of an allele) x column
    over_missing   for each variant and column: the sum of the column over samples without a call

Two samples have sixteen pairs of genotypes. What each pair adds to eight columns is worked out once; then a
variant costs one load and one addition of eight numbers for two samples, instead of two multiplications each
("the method of four Russians"; Arlazarov and others 1970). The tables of a tile stay in the second cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled, intrinsic, ir, types
from unpooled.kernels.lanes import looped
from unpooled.kernels.two_bits import COPIES, first_sample, next_samples, without_call

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

LANES = 8
"""Columns that are summed at once: 64 bytes."""

TILE = 448
"""Bytes of a row, of four samples each, that one set of tables is for: 896 KiB of tables."""


def products(
    words: Words, second: NDArray[np.bool_], columns: Floats, squared: Floats | None = None
) -> Floats:
    """Sums over called samples of copies times column, then of their squares times column `squared`.

    `words` is (m, w) as in `unpooled.asking.cohort.Packed`, the columns are (n, c) and (n, s), and the result
    is float64 (m, c + s). The copies are those of A1, where `second` those of A2. Who is 0 in a column counts
    nowhere in it; neither does what pads a row.
    """
    squared = np.zeros((len(columns), 0)) if squared is None else squared
    power = np.repeat([1.0, 2.0], [columns.shape[1], squared.shape[1]])
    return coded_products(
        words, second, np.concatenate([columns, squared], axis=1), np.arange(3.0)[:, None] ** power
    )


def coded_products(words: Words, second: NDArray[np.bool_], columns: Floats, coded: Floats) -> Floats:
    """Sums over called samples of what a genotype counts times column: float64 (m, c).

    `coded`, (3, c), is what 0, 1 and 2 copies count in each column; 0 copies must count 0, for so does a
    missing call. The rest as above.
    """
    count = columns.shape[1]
    padded = np.zeros((words.shape[1] * 32, -(-count // LANES) * LANES))
    padded[: len(columns), :count] = columns
    of_copies = np.zeros((3, padded.shape[1]))
    of_copies[:, :count] = coded
    quads = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    out = np.zeros((len(quads), padded.shape[1]))
    tables = _aligned(2 * min(TILE, quads.shape[1]) * 16 * LANES)
    for allele in (False, True):
        which = np.flatnonzero(second == allele)
        if len(which):
            values = of_copies[COPIES[int(allele)].astype(np.int64)]
            _products(quads, which, padded, np.ascontiguousarray(values), tables, out)
    return out[:, :count]


def over_missing(words: Words, columns: Floats) -> Floats:
    """Sums of columns over the samples without a call, float64 (variants, columns).

    `columns` is (samples, columns); zero for whoever is not to count.
    """
    out = np.zeros((len(words), columns.shape[1]))
    _over_missing(np.ascontiguousarray(words), np.ascontiguousarray(columns), out)
    return out


def _aligned(size: int) -> Floats:
    """Uninitialised float64 (size,) that begins with a line of the cache."""
    room = np.empty(size + LANES)
    start = -(room.ctypes.data // 8) % LANES
    return room[start : start + size]


@compiled
def _products(quads: Any, which: Any, columns: Any, values: Any, tables: Any, out: Any) -> None:
    """`values` is (4, columns): what a code counts in each column."""
    for start in range(0, quads.shape[1], TILE):
        stop = min(start + TILE, quads.shape[1])
        for lane in range(0, columns.shape[1], LANES):
            _tabulate(
                columns[4 * start : 4 * stop, lane : lane + LANES], values[:, lane : lane + LANES], tables
            )
            for v in which:
                _add_rows(tables, quads[v, start:stop], out[v, lane : lane + LANES])


@compiled
def _tabulate(columns: Any, values: Any, tables: Any) -> None:
    """Tabulate what each pair of genotypes of two samples adds: (samples / 2, 16, LANES), flat."""
    at = 0
    for s in range(0, columns.shape[0], 2):
        for pair in range(16):
            for lane in range(LANES):
                of_first = values[pair & 3, lane] * columns[s, lane]
                tables[at] = of_first + values[pair >> 2, lane] * columns[s + 1, lane]
                at += 1


@intrinsic
def _row_adder(context: Any, tables: Any, quads: Any, out: Any) -> Any:
    """out += the row of `tables` for the lower and for the upper half of each byte.

    Written in LLVM's own language, for it does not find vectors across a loop's turns. Four sums, of bytes
    and halves apart, are under way at once: an addition takes as long as four loads. Rows of `quads` are
    whole words, so that their number of bytes is even.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)

        def array(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, arguments[position])

        def row_of(half: Any, pair: Any) -> Any:
            row = builder.mul(builder.add(builder.mul(half, whole(16)), pair), whole(LANES))
            return builder.load(builder.bitcast(builder.gep(table, [row]), vector.as_pointer()), align=64)

        table, data = array(0).data, array(1).data
        length = builder.extract_value(array(1).shape, 0)
        target = builder.bitcast(array(2).data, vector.as_pointer())

        def add(byte: Any, sums: list[Any]) -> list[Any]:
            added = []
            for k, total in enumerate(sums):
                at = builder.add(byte, whole(k // 2))
                pairs = builder.zext(builder.load(builder.gep(data, [at])), whole)
                pair = builder.lshr(pairs, whole(4)) if k % 2 else builder.and_(pairs, whole(15))
                half = builder.add(builder.mul(at, whole(2)), whole(k % 2))
                added.append(builder.fadd(total, row_of(half, pair)))
            return added

        added = looped(builder, length, [ir.Constant(vector, None)] * 4, add, step=2)
        total = builder.fadd(builder.fadd(added[0], added[1]), builder.fadd(added[2], added[3]))
        builder.store(builder.fadd(builder.load(target, align=8), total), target, align=8)
        return context.get_dummy_value()

    return types.void(tables, quads, out), generate


_add_rows: Any = _row_adder


@compiled
def _over_missing(words: Any, columns: Any, out: Any) -> None:
    samples, count = columns.shape
    for v in range(words.shape[0]):
        for w in range(words.shape[1]):
            missing = without_call(words[v, w])
            while missing:
                sample = 32 * w + first_sample(missing)
                if sample < samples:
                    for c in range(count):
                        out[v, c] += columns[sample, c]
                missing = next_samples(missing)
