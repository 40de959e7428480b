"""Quotes that the library passes over without a word, and that hide what follows them."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.compiled import compiled

_BEGIN, _PLAIN, _QUOTED, _AFTER_QUOTE = range(4)
"""Where a byte stands: at the begin of a cell, in one without quotes, between quotes, or after one there."""
_QUOTE, _COMMA, _NEWLINE, _RETURN = b'",\n\r'


def first_odd_line(path: Path, skipped: int) -> int:
    """The line, from 1, of the first quote that is never closed, or is closed within a cell; 0 without one.

    `skipped` bytes at the begin of the file are not looked at: its header.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        text = np.frombuffer(content, np.uint8)
        line = int(_first_odd(text, skipped))
        del text  # else the map cannot be closed
        return line


@compiled
def _first_odd(text: NDArray[np.uint8], skipped: int) -> Any:
    state, line, opened = _BEGIN, 1, 0
    for i in range(len(text)):
        byte = text[i]
        line += byte == _NEWLINE
        if i < skipped:
            continue
        if state == _QUOTED:
            if byte == _QUOTE:
                state = _AFTER_QUOTE
        elif byte in (_COMMA, _NEWLINE, _RETURN):
            state = _BEGIN
        elif state == _AFTER_QUOTE:
            if byte != _QUOTE:
                return line
            state = _QUOTED
        elif state == _BEGIN and byte == _QUOTE:
            state, opened = _QUOTED, line
        else:
            state = _PLAIN
    return opened if state == _QUOTED else 0
