"""Aligned tables of text, whole numbers and real numbers, written a block of rows at a time.

PLINK 1.9's reports are such tables: every column is right-aligned in a width of its own, a wider value
stays whole and pushes the rest of its line to the right, one blank stands between columns, and the
header is aligned in the same way. A new report is a list of columns; nothing here needs to change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unpooled.formats.number import (
    LONGEST,
    blanks,
    count_digits,
    write_real,
    write_scaled,
    write_text,
    write_whole,
)
from unpooled.kernels.compiled import compiled, inlined

BLOCK_ROWS = 16_384
AT_ONCE = 2
"""Blocks that are rendered side by side."""

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pool:
    """Byte strings, one after the other, that the text columns of a table point into."""

    data: NDArray[np.uint8]
    start: Index
    end: Index

    @classmethod
    def of(cls, *parts: Sequence[bytes]) -> tuple[Pool, list[int]]:
        """A pool of all parts' strings, and the number of the first string of each part."""
        strings = [string for part in parts for string in part]
        end = np.cumsum(np.array([len(string) for string in strings], np.int64))
        start = np.append(0, end[:-1]) if len(end) else end
        firsts = np.cumsum([0, *(len(part) for part in parts)])
        return cls(np.frombuffer(b"".join(strings), np.uint8), start, end), firsts[:-1].tolist()


@dataclass(frozen=True, eq=False)
class Text:
    """A column of strings that recur: their numbers in the table's pool, (rows,)."""

    title: str
    width: int
    values: Index


@dataclass(frozen=True, eq=False)
class Name:
    """A column of strings that stand for themselves, (rows,)."""

    title: str
    width: int
    values: NDArray[np.bytes_]


@dataclass(frozen=True, eq=False)
class Whole:
    """A column of whole numbers from 0 to 2^32 - 1, (rows,)."""

    title: str
    width: int
    values: NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Real:
    """A column of real numbers, (rows,). What is `missing` prints as `NA`: NaN, unless a mask says what.

    Then NaN prints as `nan`: PLINK has both, the one for "not computed", the other for 0/0. In one report
    something else than `NA` stands for what has no number; `instead` says what.
    """

    title: str
    width: int
    values: NDArray[np.float64]
    missing: NDArray[np.bool_] | None = None
    digits: int = 4
    instead: bytes = b"NA"


@dataclass(frozen=True, eq=False)
class Scaled(Real):
    """A column of real numbers of which some are smaller than any float64: those are from 1 to 10, and to be
    divided by 10 so many times as `down` says, (rows,); 0 for the others."""

    down: NDArray[np.integer] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Slashed:
    """A column of three whole numbers with slashes between them, (3, rows)."""

    title: str
    width: int
    values: NDArray[np.integer]


Column: TypeAlias = Text | Name | Whole | Real | Scaled | Slashed

_KINDS = (Text, Name, Whole, Real, Scaled, Slashed)
_TEXT, _NAME, _WHOLE, _REAL, _SCALED, _SLASHED = range(6)
_SLASH = ord("/")


def write_table(
    file: BinaryIO,
    rows: int,
    block: Callable[[slice], Sequence[Column]],
    pool: Pool,
    *,
    header_ending: bytes = b"\n",
    ending: bytes = b"\n",
    separator: bytes = b" ",
) -> None:
    """Write header and rows, one `separator` (a byte) between columns.

    `block` makes the columns of a slice of rows, so that memory stays bounded. Compiled code renders them
    without the interpreter's lock, so the next blocks are made while one is written.
    """
    titles = [column.title.encode().rjust(column.width) for column in block(slice(0, 0))]
    file.write(separator.join(titles) + header_ending)

    def text(part: slice) -> Any:
        return _render(block(part), part.stop - part.start, pool, ending, separator)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        parts = blocks(rows)
        made = deque(threads.submit(text, part) for part in islice(parts, AT_ONCE + 1))
        while made:
            file.write(made.popleft().result())
            made.extend(threads.submit(text, part) for part in islice(parts, 1))


def blocks(rows: int) -> Iterator[slice]:
    """All rows, a block at a time."""
    for start in range(0, rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, rows))


def _render(columns: Sequence[Column], rows: int, pool: Pool, ending: bytes, separator: bytes) -> Any:
    """The bytes of some rows."""
    names = [column.values for column in columns if isinstance(column, Name)]
    texts = _stack([column.values for column in columns if isinstance(column, Text)], rows, np.int64)
    reals = [column for column in columns if isinstance(column, Real)]
    wholes = [values for column in columns for values in np.atleast_2d(_whole_numbers(column))]
    missing = [np.isnan(column.values) if column.missing is None else column.missing for column in reals]
    room = sum(LONGEST + column.width for column in columns) + len(ending)
    lengths = int((pool.end[texts] - pool.start[texts]).sum()) + sum(name.nbytes for name in names)
    buffer = blanks(rows * room + lengths)
    end = _write_rows(
        buffer,
        rows,
        np.array([_KINDS.index(type(column)) for column in columns]),
        np.array([column.width for column in columns]),
        texts,
        np.frombuffer(b"".join(name.tobytes() for name in names), np.uint8),
        np.cumsum([0, *(name.nbytes for name in names)]),
        np.array([name.itemsize for name in names], np.int64),
        _stack(wholes, rows, np.int64),
        _stack([column.values for column in reals], rows, np.float64),
        _stack(missing, rows, np.bool_),
        np.array([column.digits for column in reals], np.int64),
        np.frombuffer(b"".join(column.instead for column in reals), np.uint8),
        np.cumsum([0, *(len(column.instead) for column in reals)]),
        pool.data,
        pool.start,
        pool.end,
        np.frombuffer(ending, np.uint8),
        np.uint8(separator[0]),
    )
    return buffer[:end].data


def _whole_numbers(column: Column) -> NDArray[np.integer]:
    """Return the whole numbers of a column: (rows,), (3, rows), or none."""
    if isinstance(column, Whole | Slashed):
        return column.values
    return column.down if isinstance(column, Scaled) else np.zeros((0, 0), np.int64)


def _stack(columns: Sequence[NDArray[Any]], rows: int, dtype: type) -> NDArray[Any]:
    return np.array(columns, dtype).reshape(len(columns), rows)


@inlined
def _end(names: Any, start: Any, size: Any) -> Any:
    """The index after the last byte of a name, without the zeros that fill it up."""
    end = start + size
    while end > start and names[end - 1] == 0:
        end -= 1
    return end


@compiled
def _write_slashed(buffer: Any, at: Any, values: Any, width: Any) -> Any:
    """Write whole numbers with slashes between them, right-aligned; return the index after the last."""
    length = values.shape[0] - 1
    for value in values:
        length += count_digits(value)
    at += max(width - length, 0)
    for part in range(values.shape[0]):
        if part:
            buffer[at] = _SLASH
            at += 1
        at = write_whole(buffer, at, values[part], 0)
    return at


@compiled
def _write_rows(
    buffer: Any,
    rows: Any,
    kinds: Any,
    widths: Any,
    texts: Any,
    names: Any,
    names_at: Any,
    names_size: Any,
    wholes: Any,
    reals: Any,
    missing: Any,
    digits: Any,
    instead: Any,
    instead_at: Any,
    pool: Any,
    pool_start: Any,
    pool_end: Any,
    ending: Any,
    separator: Any,
) -> Any:
    """Write all rows of a block, from index 0; return the index after the last.

    The arrays of each kind of column, (columns of that kind, rows), are used up in the order of the
    columns; a slashed column takes three of `wholes`, a scaled one takes one. `names` are those of one
    column, then of the next, each of as many bytes as `names_size` says, the last of them zeros.
    """
    at = 0
    for row in range(rows):
        text, name, whole, real = 0, 0, 0, 0
        for column in range(kinds.shape[0]):
            if column:
                buffer[at] = separator
                at += 1
            kind, width = kinds[column], widths[column]
            if kind == _TEXT:
                string = texts[text, row]
                at = write_text(buffer, at, pool, pool_start[string], pool_end[string], width)
                text += 1
            elif kind == _NAME:
                start = names_at[name] + row * names_size[name]
                at = write_text(buffer, at, names, start, _end(names, start, names_size[name]), width)
                name += 1
            elif kind == _WHOLE:
                at = write_whole(buffer, at, wholes[whole, row], width)
                whole += 1
            elif kind in (_REAL, _SCALED):
                down = wholes[whole, row] if kind == _SCALED else 0
                if missing[real, row]:
                    at = write_text(buffer, at, instead, instead_at[real], instead_at[real + 1], width)
                elif down:
                    at = write_scaled(buffer, at, reals[real, row], down, digits[real], width)
                else:
                    at = write_real(buffer, at, reals[real, row], digits[real], width)
                real += 1
                whole += kind == _SCALED
            else:
                at = _write_slashed(buffer, at, wholes[whole : whole + 3, row], width)
                whole += 3
        at = write_text(buffer, at, ending, 0, ending.shape[0], 0)
    return at
