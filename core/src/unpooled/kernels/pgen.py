"""Dosages, straight from the records of a .pgen in which most people have one.

A record has the calls, two bits a person unless that is longer; then a bit for each person who has a dosage,
unless everyone has; then the dosages, 16 bits each. What has other tracks besides, or calls as differences
from another record's, is left to Pgenlib. So is what has not the length that it must have: nothing is read
beyond a record, and whatever is damaged Pgenlib tells. The format is PLINK 2's: `pgen_spec` of plink-ng.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled, intrinsic, ir, types
from unpooled.kernels.dosages import COPY, NO_DOSAGE

_CALLS, _OF_EVERYONE, _OF_SOME, _DOSAGES, _OTHERS = 0x07, 0x40, 0x60, 0x60, 0x98
"""Bits of a record's kind: how it has its calls; whether everyone has a dosage, or those people whose bit is
set; and that there are tracks of several alternate alleles, or of phases.
"""

_ONE_BIT, _NO_ALT = 1, 5
_AGAINST_ANOTHER = (2, 3)
"""Kinds of calls: one bit for the two usual calls, and none as everyone has none; those that differ from
another record's. Of 4, 6 and 7 the lower bits are the usual call. All but 0 and 5 have differences."""

_GROUP = 64
"""People in a list of differences whose first one is named whole."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
"""Number of set bits of each byte."""

_AT_ONCE = 8
"""People whose dosages are put in their places at once: 16 bytes, and those whose bits are in one byte."""


def _orders() -> NDArray[np.uint8]:
    """Return which two of the next 16 bytes each person takes, for each byte of bits: uint8 (256, 16).

    A person whose bit is not set takes any.
    """
    bits = np.arange(256)[:, None] >> np.arange(_AT_ONCE) & 1
    before = np.cumsum(bits, axis=1) - bits
    octets: NDArray[np.int64] = 2 * before[:, :, None] + np.arange(2)
    return octets.reshape(256, 2 * _AT_ONCE).astype(np.uint8)


_ORDERS = _orders()

_OF_CODES = np.array([0, COPY, 2 * COPY, NO_DOSAGE], np.uint16)
# Of the four calls in each byte, as one number: a row is looked up four people at a time.
_OF_BYTES = _OF_CODES[np.arange(256)[:, None] >> np.arange(0, 8, 2) & 3].view(np.uint64)[:, 0]


def unpack_dosages(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    places: NDArray[np.int64],
    out: NDArray[np.uint16],
) -> NDArray[np.bool_]:
    """Unpack k records' dosages of ALT into rows of `out`; mark the records that could be: bool (k,).

    Records are in `data` at `starts`, of such `lengths` and `kinds` as the file's header says; `places` are
    their rows of `out`, (m, n) as in `unpooled.asking.cohort.Dosages`. Rows of other records hold anything.
    """
    done = np.zeros(len(starts), np.bool_)
    _unpack(data, starts, lengths, kinds, places, out, done)
    return done


@compiled
def _unpack(data: Any, starts: Any, lengths: Any, kinds: Any, places: Any, out: Any, done: Any) -> None:
    people = out.shape[1]
    calls = np.empty(people + 3, np.uint16)
    fours = calls[: (people + 3) // 4 * 4].view(np.uint64)
    for k in range(starts.shape[0]):
        record = data[starts[k] : starts[k] + lengths[k]]
        if kinds[k] & _OTHERS:
            continue
        at = _unpack_calls(record, kinds[k] & _CALLS, people, calls, fours)
        if at < 0:
            continue
        if kinds[k] & _DOSAGES == _OF_EVERYONE:
            done[k] = _take_all(record[at:], out[places[k]])
        elif kinds[k] & _DOSAGES == _OF_SOME:
            values = at + (people + 7) // 8
            if record.shape[0] >= values:
                done[k] = _take_some(record[at:values], record[values:], calls, out[places[k]])


@compiled
def _unpack_calls(record: Any, kind: Any, people: Any, calls: Any, fours: Any) -> Any:
    """Whole copies of ALT of everyone. Gives where the calls end in the record, or -1."""
    if kind in _AGAINST_ANOTHER:
        return -1
    if kind == 0:
        size = (people + 3) // 4
        if record.shape[0] < size:
            return -1
        for k in range(size):
            fours[k] = _OF_BYTES[record[k]]
        return size
    if kind != _ONE_BIT:
        calls[:people] = _OF_CODES[0 if kind == _NO_ALT else kind & 3]
        return 0 if kind == _NO_ALT else _differ(record, 0, people, calls)
    size = 1 + (people + 7) // 8
    if record.shape[0] < size:
        return -1
    unset, more = record[0] >> 2, record[0] & 3
    if unset + more > 3:
        return -1
    both = _OF_CODES[unset], _OF_CODES[unset + more]
    for s in range(people):
        calls[s] = both[1] if record[1 + (s >> 3)] >> (s & 7) & 1 else both[0]
    return _differ(record, size, people, calls)


@compiled
def _differ(record: Any, at: Any, people: Any, calls: Any) -> Any:
    """Set the calls that differ from the usual ones, from their list. Gives where it ends, or -1."""
    count, at = _number(record, at)
    if at < 0 or count > people or count == 0:
        return at if count == 0 else -1
    width = 1 if people < 1 << 8 else 2 if people < 1 << 16 else 3 if people < 1 << 24 else 4
    groups = (count + _GROUP - 1) // _GROUP
    names, codes = at, at + groups * (width + 1) - 1
    at = codes + (count + 3) // 4
    if at > record.shape[0]:
        return -1
    person = np.int64(0)
    for k in range(count):
        if k % _GROUP:
            more, at = _number(record, at)
            if at < 0:
                return -1
            person += more
        else:
            person = np.int64(0)
            for byte in range(width):
                person |= np.int64(record[names + k // _GROUP * width + byte]) << (8 * byte)
        if person >= people:
            return -1
        calls[person] = _OF_CODES[record[codes + k // 4] >> (2 * (k % 4)) & 3]
    return at


@compiled
def _number(record: Any, at: Any) -> Any:
    """A number of seven bits a byte, the lowest first, and where it ends: -1 if it does not."""
    value = np.int64(0)
    for shift in range(0, 35, 7):
        if at >= record.shape[0]:
            break
        value |= np.int64(record[at] & 127) << shift
        at += 1
        if record[at - 1] < 128:
            return value, at
    return np.int64(-1), -1


@compiled
def _take_all(values: Any, row: Any) -> Any:
    """Dosages of everyone. False if one is missing, too: then the call counts, which Pgenlib finds."""
    if values.shape[0] != 2 * row.shape[0]:
        return False
    raw = row.view(np.uint8)
    for s in range(raw.shape[0]):
        raw[s] = values[s]
    lacking = 0
    for s in range(row.shape[0]):
        lacking += row[s] == NO_DOSAGE
    return lacking == 0


@compiled
def _take_some(bits: Any, values: Any, calls: Any, row: Any) -> Any:
    """Dosages of those whose bit is set, and calls of the others. False if there are not as many."""
    people, count = row.shape[0], 0
    for k in range(bits.shape[0]):
        count += _BITS[bits[k]]
    if values.shape[0] != 2 * count:
        return False
    taken = start = np.int64(0)
    # Eight values are read whatever the bits are: the last ones are taken one by one.
    while start + _AT_ONCE <= people and taken + _AT_ONCE <= count:
        byte = bits[start // _AT_ONCE]
        _place(byte, _ORDERS, values, taken, calls, row, start)
        taken += _BITS[byte]
        start += _AT_ONCE
    for s in range(start, people):
        row[s] = calls[s]
        if bits[s >> 3] >> (s & 7) & 1:
            row[s] = np.uint16(values[2 * taken]) | np.uint16(values[2 * taken + 1]) << np.uint16(8)
            taken += 1
    return True


@intrinsic
def _placer(
    context: Any, byte: Any, orders: Any, values: Any, taken: Any, calls: Any, row: Any, start: Any
) -> Any:
    """Fill eight people of `row`, (n,), from `start`, with the next `values`, as bytes, where a bit of `byte`
    is set, else with `calls`.

    Written in LLVM's own language, which makes of bytes taken in a given order one instruction (PSHUFB, TBL).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i8, i16, i32, i64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
        dosages, octets = ir.VectorType(i16, _AT_ONCE), ir.VectorType(i8, 2 * _AT_ONCE)
        byte, _, _, taken, _, _, start = arguments

        def place(position: int, kind: Any, scale: int, index: Any) -> Any:
            array = context.make_array(signature.args[position])(context, builder, arguments[position])
            at = builder.gep(array.data, [builder.mul(index, ir.Constant(i64, scale))])
            return builder.bitcast(at, kind.as_pointer())

        order = builder.load(place(1, octets, 2 * _AT_ONCE, builder.zext(byte, i64)), align=1)
        following = builder.load(place(2, octets, 2, taken), align=1)
        placed = ir.Constant(octets, ir.Undefined)
        for k in range(2 * _AT_ONCE):
            at = ir.Constant(i32, k)
            octet = builder.extract_element(following, builder.extract_element(order, at))
            placed = builder.insert_element(placed, octet, at)
        others = builder.load(place(4, dosages, 1, start), align=2)
        has_one = builder.bitcast(byte, ir.VectorType(ir.IntType(1), _AT_ONCE))
        filled = builder.select(has_one, builder.bitcast(placed, dosages), others)
        builder.store(filled, place(5, dosages, 1, start), align=2)
        return context.get_dummy_value()

    return types.void(byte, orders, values, taken, calls, row, start), generate


_place: Any = _placer
