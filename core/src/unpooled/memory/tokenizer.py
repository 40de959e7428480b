"""Finding the words of a text: the one tokenizer under panels, .bim, .fam and tables.

A word is a run of bytes above 32, as in PLINK, so blanks, tabs and carriage returns separate and only a
line feed ends a line. Nothing is decoded and nothing is copied: words are positions in the text, and the
functions below turn a column of positions into numbers or strings. Each has a slow, clear twin in the tests.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]

_NEWLINE = 10
_BLANK = 32


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of a text, row by row; a row is a line with at least one word."""

    text: Bytes  # uint8 (bytes,)
    start: Positions  # (words,) index of a word's first byte
    end: Positions  # (words,) index after its last byte
    row: Positions  # (rows + 1,) index of each row's first word; the last entry is the number of words
    line: Positions  # (rows,) line number of each row, counted from 1, blank lines included

    def __len__(self) -> int:
        return len(self.line)

    @property
    def widths(self) -> Positions:
        """Number of words in each row, (rows,)."""
        return np.diff(self.row)

    def column(self, j: int) -> tuple[Positions, Positions]:
        """Start and end of word `j` of every row, each (rows,). Every row must have more than `j` words."""
        words = self.row[:-1] + j
        return self.start[words], self.end[words]

    def word(self, row: int, j: int) -> bytes:
        """Word `j` of one row: for messages, not for loops."""
        k = self.row[row] + j
        return self.text[self.start[k] : self.end[k]].tobytes()


def tokenize(text: bytes | Bytes, first_line: int = 1) -> Tokens:
    """Find the words of `text`, whose first line has the number `first_line`."""
    data = np.frombuffer(text, np.uint8) if isinstance(text, bytes) else text
    words, rows = _count(data)
    start, end = np.empty(words, np.int64), np.empty(words, np.int64)
    row, line = np.empty(rows + 1, np.int64), np.empty(rows, np.int64)
    _fill(data, first_line, start, end, row, line)
    return Tokens(data, start, end, row, line)


def blocks(text: bytes | mmap.mmap, size: int = 1 << 20) -> Iterator[tuple[bytes, int]]:
    """A text in pieces of whole lines of about `size` bytes, each with the number of its first line.

    The positions of all words of a text at once would take many times its size.
    """
    start, line = 0, 1
    while start < len(text):
        stop = text.rfind(b"\n", start, start + size) + 1 or text.find(b"\n", start + size) + 1 or len(text)
        yield (piece := text[start:stop]), line
        line += piece.count(b"\n")
        start = stop


def load_kernels() -> None:
    """Load the machine code that lists are read with, while nobody waits for it: some half a second."""
    words = tokenize(b"1 2\n")
    strings(words.text, *words.column(0))
    integers(words.text, *words.column(0))
    classes(words.text, *words.column(1))


def strings(text: Bytes, start: Positions, end: Positions) -> NDArray[np.bytes_]:
    """The words as an array of dtype S, as wide as the longest; (words,)."""
    width = max(1, int((end - start).max(initial=0)))
    out = np.zeros((len(start), width), np.uint8)
    _copy(text, start, end, out)
    return out.reshape(-1).view(f"S{width}")


def integers(text: Bytes, start: Positions, end: Positions) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Decimal integers with an optional sign and at most 18 digits.

    Returns the values and which words were such integers, each (words,); the value of another word is 0.
    """
    values, good = np.zeros(len(start), np.int64), np.zeros(len(start), np.bool_)
    _integers(text, start, end, values, good)
    return values, good


def classes(text: Bytes, start: Positions, end: Positions) -> tuple[NDArray[np.uint32], Positions]:
    """Number the different words in order of first appearance.

    Returns the number of each word, (words,), and for each number the index of its first word, (numbers,).
    """
    # At least twice as many slots as words. Slots that are never used cost no memory: zeros come unmapped.
    table = np.zeros(1 << (2 * len(start)).bit_length(), np.int32)
    code = np.empty(len(start), np.uint32)
    first = np.empty(_classify(text, start, end, table, code), np.int64)
    words = table[table > 0] - 1
    first[code[words]] = words
    return code, first


def distinct(text: Bytes, start: Positions, end: Positions) -> tuple[NDArray[np.uint32], list[bytes]]:
    """Return the result of `classes` with the different words themselves: for columns with few of them."""
    code, first = classes(text, start, end)
    return code, [text[start[k] : end[k]].tobytes() for k in first]


@compiled
def _count(text: Bytes) -> tuple[int, int]:
    words, rows = 0, 0
    inside, empty = False, True
    for byte in text:
        if byte > _BLANK:
            words += not inside
            inside = True
            rows += empty
            empty = False
        else:
            inside = False
            empty |= byte == _NEWLINE
    return words, rows


@compiled
def _fill(
    text: Bytes, number: int, start: Positions, end: Positions, row: Positions, line: Positions
) -> None:
    words, rows = 0, 0
    inside, empty = False, True
    for i, byte in enumerate(text):
        if byte > _BLANK:
            if not inside:
                if empty:
                    row[rows], line[rows] = words, number
                    rows += 1
                    empty = False
                start[words] = i
                inside = True
        else:
            if inside:
                end[words] = i
                words += 1
                inside = False
            if byte == _NEWLINE:
                number += 1
                empty = True
    if inside:
        end[words] = len(text)
        words += 1
    row[rows] = words


@compiled
def _copy(text: Bytes, start: Positions, end: Positions, out: NDArray[np.uint8]) -> None:
    for k in range(len(start)):
        for i in range(end[k] - start[k]):
            out[k, i] = text[start[k] + i]


@compiled
def _integers(
    text: Bytes, start: Positions, end: Positions, values: NDArray[np.int64], good: NDArray[np.bool_]
) -> None:
    for k in range(len(start)):
        i = start[k]
        negative = text[i] == 45  # -
        if negative or text[i] == 43:  # +
            i += 1
        digits = end[k] - i
        fine = 0 < digits <= 18
        value = np.int64(0)
        for j in range(i, end[k] if fine else i):
            digit = np.int64(text[j]) - 48
            fine &= 0 <= digit <= 9
            value = value * 10 + digit
        if fine:
            values[k] = -value if negative else value
            good[k] = True


@compiled
def _same(text: Bytes, a: int, a_end: int, b: int, b_end: int) -> bool:
    if a_end - a != b_end - b:
        return False
    for i in range(a_end - a):  # noqa: SIM110  # numba compiles no generator expression
        if text[a + i] != text[b + i]:
            return False
    return True


@compiled
def _classify(
    text: Bytes, start: Positions, end: Positions, table: NDArray[np.int32], code: NDArray[np.uint32]
) -> int:
    """Open addressing over FNV-1a. A used slot of `table` holds 1 + the first word of its kind."""
    found = 0
    last = np.uint64(len(table) - 1)
    for k in range(len(start)):
        mixed = np.uint64(14695981039346656037)
        for i in range(start[k], end[k]):
            mixed = (mixed ^ np.uint64(text[i])) * np.uint64(1099511628211)
        slot = (mixed ^ (mixed >> np.uint64(32))) & last
        while table[slot] and not _same(text, start[table[slot] - 1], end[table[slot] - 1], start[k], end[k]):
            slot = (slot + np.uint64(1)) & last
        if table[slot]:
            code[k] = code[table[slot] - 1]
        else:
            table[slot] = k + 1
            code[k] = found
            found += 1
    return found
