"""Damage of a CSV file that its readers pass over without a word, and that hides rows or moves cells."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled

_BEGIN, _PLAIN, _QUOTED, _AFTER_QUOTE = range(4)
"""States of the parser at a byte: at the start of a cell, in one without quotes, between quotes, or after a
closing quote.
"""
_QUOTE, _COMMA, _NEWLINE, _RETURN = b'",\n\r'
_QUOTES, _ZERO, _ROWS = 1, 2, 3

WHY = {
    _QUOTES: "a quote is not closed, or not at the end of its cell",
    _ZERO: "a byte is zero",
    _RETURN: "a line ends in CR without LF",
    _ROWS: "a cell in quotes holds what looks like whole rows: a quote may be missing or in a wrong place",
}


def first_fault(path: Path, skipped: int, columns: int) -> tuple[int, str, int]:
    """Find the first damage in a table of so many columns: its line, from 1, and what it is; else 0 and "".

    The third number is the first line of a cell whose lines may be rows, though not for sure; 0 if none.
    `skipped` bytes at the beginning of the file are not looked at: its header.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        text = np.frombuffer(content, np.uint8)
        line, why, doubtful = _first_fault(text, skipped, columns - 1)
        del text  # else the map cannot be closed
        return int(line), WHY.get(int(why), ""), int(doubtful)


@compiled
def _first_fault(text: NDArray[np.uint8], skipped: int, wanted: int) -> Any:
    """`wanted`: the commas of a row.

    Lines in a cell look like rows if the first has the commas of one, and each further line, read as if no
    quote were open before it, is one: a quote was lost there, or closed too late, and swallowed them. They
    may be rows if they only have as many commas, or more.
    """
    state, line, opened, record, doubtful = _BEGIN, 1, 0, 1, 0
    commas = 0  # of this line all, but from the second line of a row on those between cells, read alone
    alone, exact, alike = _BEGIN, True, True
    for i in range(len(text) + 1):
        byte = text[i] if i < len(text) else _NEWLINE  # the last line may lack its end
        if i < skipped:
            line += byte == _NEWLINE
            record = line
            continue
        if byte == 0:
            return line, _ZERO, doubtful
        if byte == _NEWLINE:
            if i == len(text) and state == _QUOTED:
                return opened, _QUOTES, doubtful
            exact &= line == record or (alone != _QUOTED and commas == wanted)
            alike &= commas >= wanted
            if state != _QUOTED:
                if line > record and alike:
                    if exact:
                        return record, _ROWS, doubtful
                    doubtful = doubtful or record
                exact, alike, record = True, True, line + 1
            commas, alone = 0, _BEGIN
        else:
            commas += byte == _COMMA and (line == record or alone != _QUOTED)
            alone = _next(alone, byte)
        is_last = i + 1 >= len(text)
        if byte == _RETURN and state != _QUOTED and not is_last and text[i + 1] not in (_NEWLINE, _RETURN):
            return line, _RETURN, doubtful
        if state == _AFTER_QUOTE and byte not in (_QUOTE, _COMMA, _NEWLINE, _RETURN):
            return line, _QUOTES, doubtful
        if state == _BEGIN and byte == _QUOTE:
            opened = line
        state = _next(state, byte)
        line += byte == _NEWLINE
    return 0, 0, doubtful


@compiled
def _next(state: int, byte: int) -> int:
    """Find where the byte after this one stands."""
    if state == _QUOTED:
        return _AFTER_QUOTE if byte == _QUOTE else _QUOTED
    if byte in (_COMMA, _NEWLINE, _RETURN):
        return _BEGIN
    return _QUOTED if byte == _QUOTE and state in (_BEGIN, _AFTER_QUOTE) else _PLAIN
