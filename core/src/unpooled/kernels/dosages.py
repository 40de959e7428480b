"""Sums of dosages, straight from plink2's whole numbers of 1/16384.

    from_copies    dosages from copies as Pgenlib gives them
    count_dosages  for each variant and group of people: people with a dosage, their sum, that of squares
    products       for each variant and column: the sum over these of what copies of an allele count x column
    over_missing   for each variant and column: the sum of the column over people without a dosage
    add_scores     for each person: sums of weighted copies over the variants

Counts are whole numbers, hence exact. In `products` four variants are multiplied with eight columns at once,
so that what is summed stays in registers. Nothing goes through BLAS, whose order of sums depends on threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import cgutils, compiled, intrinsic, ir, types
from unpooled.kernels.lanes import looped

Dosages = NDArray[np.uint16]
Floats = NDArray[np.float64]

COPY = 1 << 14
"""A whole copy of an allele, in the units in which PLINK 2 keeps dosages."""

NO_DOSAGE = 0xFFFF
"""Value that stands for a missing dosage."""

LANES = 8
"""Columns that are summed at once: 64 bytes."""

ROWS = 4
"""Variants that are: with the lanes they take half the registers of AVX2."""

TILE = 512
"""People whose dosages are converted at once: with their columns they stay in the second cache."""

BLOCK = 1024
"""Variants that are multiplied with all people before the next ones are: many more, and their rows are in no
cache any longer when the next people are; many fewer, and columns are read too often."""

STRETCH = 64
"""People among whom a missing dosage is looked for at once: two vectors of AVX-512, or four of AVX2."""


def from_copies(copies: NDArray[np.float32]) -> Dosages:
    """Dosages from copies, 0 to 2 in whole numbers of 1/16384, below 0 where missing; of the same shape."""
    out = np.empty(copies.shape, np.uint16)
    _from_copies(np.ascontiguousarray(copies).reshape(-1), out.reshape(-1))
    return out


def count_dosages(values: Dosages, members: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the members of each group with a dosage, and sum their dosages and the squares of these.

    `values` are (m, n) as in `unpooled.asking.cohort.Dosages`, `members` (groups, n); int64 (m, groups, 3),
    in units of 1, `COPY`, and its square: exact up to 2^33 people.
    """
    out = np.empty((len(values), len(members), 3), np.int64)
    _count(np.ascontiguousarray(values), np.ascontiguousarray(members), out)
    return out


def products(values: Dosages, second: NDArray[np.bool_], columns: Floats, factors: Floats) -> Floats:
    """Sums over people with a dosage of what it counts times column: float64 (m, c).

    The copies, 0 to 2, are those of A1, where `second`, bool (m,), those of A2; `columns` are (n, c), and
    `factors`, (2, 3, c), what 0, 1 and 2 copies are in both factors of what counts in a column. Between whole
    copies a factor is interpolated; 0 copies must be 0 in the first, for so counts a missing dosage.
    """
    out = np.empty((len(values), columns.shape[1]))
    kinds, kind = np.unique(factors.reshape(6, -1), axis=1, return_inverse=True)
    for k, coded in enumerate(kinds.T):
        which = kind.reshape(-1) == k
        out[:, which] = _products_of(values, second, columns[:, which], coded.reshape(2, 3))
    return out


def _products_of(values: Dosages, second: NDArray[np.bool_], columns: Floats, factors: Floats) -> Floats:
    """The same of columns in which dosages count alike: `factors` are (2, 3)."""
    lanes = _in_lanes(columns)
    out = np.zeros((-(-len(values) // ROWS) * ROWS, len(lanes) * LANES))
    _products(np.ascontiguousarray(values), np.ascontiguousarray(second), lanes, factors, out)
    return out[: len(values), : columns.shape[1]]


def _in_lanes(columns: Floats) -> Floats:
    """Columns (n, c) as they are summed, so many at once, then zeros: (lanes, n, LANES)."""
    lanes = np.zeros((-(-columns.shape[1] // LANES), len(columns), LANES))
    for start in range(0, columns.shape[1], LANES):
        some = columns[:, start : start + LANES]
        lanes[start // LANES, :, : some.shape[1]] = some
    return lanes


def over_missing(values: Dosages, columns: Floats) -> Floats:
    """Sums of columns, (n, c), over the people without a dosage: float64 (m, c)."""
    out = np.zeros((len(values), columns.shape[1]))
    _over_missing(np.ascontiguousarray(values), np.ascontiguousarray(columns), out)
    return out


def add_scores(
    values: Dosages, second: NDArray[np.bool_], mean: Floats, weights: Floats, out: Floats, power: int = 1
) -> None:
    """Add to each person's sums as `unpooled.kernels.scores.add_scores`: `out` is (n, s), C-contiguous."""
    sums = np.zeros((-(-len(out) // ROWS) * ROWS, -(-out.shape[1] // LANES) * LANES))
    unit, none = np.where(second, -1 / COPY, 1 / COPY), np.where(second, 2.0, 0.0) - mean
    _add_scores(np.ascontiguousarray(values), unit, none, _in_lanes(weights**power), power, sums)
    out += sums[: len(out), : out.shape[1]]


@compiled
def _from_copies(copies: Any, out: Any) -> None:
    for k in range(copies.shape[0]):
        # By way of int32: that is a vector instruction, and a conversion to 16 bits is none.
        out[k] = np.uint16(np.int32(copies[k] * np.float32(COPY))) if copies[k] >= 0 else NO_DOSAGE


@compiled
def _count(values: Any, members: Any, out: Any) -> None:
    for v in range(values.shape[0]):
        row = values[v]
        for group in range(members.shape[0]):
            inside = members[group]
            called = total = squares = np.uint64(0)
            for s in range(row.shape[0]):
                known = np.uint32(inside[s] & (row[s] != NO_DOSAGE))
                dosage = np.uint32(row[s]) * known
                called += known
                total += dosage
                squares += np.uint64(dosage) * np.uint64(dosage)
            out[v, group, 0], out[v, group, 1], out[v, group, 2] = called, total, squares


@compiled
def _products(values: Any, second: Any, lanes: Any, factors: Any, out: Any) -> None:
    copies = np.zeros((ROWS, TILE))
    as_they_are = factors[0, 1] == 1 and factors[0, 2] == 2 and (factors[1] == 1).all()
    people = values.shape[1]
    for block in range(0, values.shape[0], BLOCK):
        for start in range(0, people, TILE):
            stop = min(start + TILE, people)
            for v in range(block, min(block + BLOCK, values.shape[0]), ROWS):
                for k in range(ROWS):
                    if v + k < values.shape[0]:
                        _convert(values[v + k, start:stop], second[v + k], copies[k])
                    else:
                        copies[k] = 0.0
                if not as_they_are:
                    for k in range(ROWS):
                        _count_as(factors, copies[k])
                for lane in range(lanes.shape[0]):
                    some = out[v : v + ROWS, lane * LANES : (lane + 1) * LANES]
                    _add_up(copies, lanes[lane, start:stop], some)


@compiled
def _convert(dosages: Any, second: Any, copies: Any) -> None:
    """Copies of the allele that counts, 0 for a missing dosage."""
    sign, most = (-1.0 / COPY, 2.0) if second else (1.0 / COPY, 0.0)
    for s in range(dosages.shape[0]):
        known = dosages[s] != NO_DOSAGE
        copies[s] = (most + sign * np.float64(np.int32(dosages[s]))) if known else 0.0


@compiled
def _count_as(factors: Any, copies: Any) -> None:
    """Replace copies by the product of both factors."""
    (none, one, two), (other_none, other_one, other_two) = factors
    for s in range(copies.shape[0]):
        first = min(copies[s], 1.0)
        further = copies[s] - first
        coded = none + (one - none) * first + (two - one) * further
        copies[s] = coded * (
            other_none + (other_one - other_none) * first + (other_two - other_one) * further
        )


@intrinsic
def _adder(context: Any, copies: Any, columns: Any, out: Any) -> Any:
    """out += copies (ROWS, at least n) times columns (n, LANES).

    Written in LLVM's own language, for it does not keep sums of several rows in registers by itself.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)
        pointer = vector.as_pointer()

        def array(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, arguments[position])

        multiply_add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f64"
        )
        dosages, table, target = array(0).data, array(1).data, array(2)
        length = builder.extract_value(array(1).shape, 0)
        stride = builder.extract_value(target.strides, 0)
        rows = [
            builder.inttoptr(
                builder.add(builder.ptrtoint(target.data, whole), builder.mul(stride, whole(k))), pointer
            )
            for k in range(ROWS)
        ]
        starts = [builder.load(row, align=8) for row in rows]
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)

        def add(person: Any, sums: list[Any]) -> list[Any]:
            line = builder.gep(table, [builder.mul(person, whole(LANES))])
            column, added = builder.load(builder.bitcast(line, pointer), align=8), []
            for k, total in enumerate(sums):
                one = builder.load(builder.gep(dosages, [builder.add(person, whole(k * TILE))]))
                lone = builder.insert_element(ir.Constant(vector, ir.Undefined), one, ir.IntType(32)(0))
                each = builder.shuffle_vector(lone, lone, zeros)
                added.append(builder.call(multiply_add, [each, column, total]))
            return added

        for row, new in zip(rows, looped(builder, length, starts, add), strict=True):
            builder.store(new, row, align=8)
        return context.get_dummy_value()

    return types.void(copies, columns, out), generate


_add_up: Any = _adder


@compiled
def _over_missing(values: Any, columns: Any, out: Any) -> None:
    people = values.shape[1]
    for v in range(values.shape[0]):
        for start in range(0, people, STRETCH):
            some = values[v, start : min(start + STRETCH, people)]
            lacking = np.uint16(0)  # counted without a branch first: most stretches have none
            for s in range(some.shape[0]):
                lacking += np.uint16(some[s] == NO_DOSAGE)
            if lacking:
                for s in range(some.shape[0]):
                    if some[s] == NO_DOSAGE:
                        for c in range(columns.shape[1]):
                            out[v, c] += columns[start + s, c]


@compiled
def _add_scores(values: Any, unit: Any, none: Any, lanes: Any, power: Any, out: Any) -> None:
    """Sum as `_products`, with people and variants exchanged: a dosage of 0 is `none`, and a copy `unit`."""
    variants, people = values.shape
    copies = np.zeros((ROWS, TILE))
    for start in range(0, variants, TILE):
        stop = min(start + TILE, variants)
        for s in range(0, people, ROWS):
            for v in range(start, stop):
                for k in range(min(ROWS, people - s)):
                    value = values[v, s + k]
                    about = none[v] + unit[v] * np.float64(np.int32(value))
                    copies[k, v - start] = about if value != NO_DOSAGE else 0.0
            if power != 1:
                copies **= power
            for lane in range(lanes.shape[0]):
                some = out[s : s + ROWS, lane * LANES : (lane + 1) * LANES]
                _add_up(copies, lanes[lane, start:stop], some)
