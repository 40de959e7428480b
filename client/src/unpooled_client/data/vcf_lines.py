"""The lines of a VCF, looked at before htslib reads them: of some that are odd it dies without a word."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unpooled.errors import DataProblem
from unpooled_client.data.pieces import Told

_AT_ONCE = 1 << 24  # bytes
_FIXED = 9  # columns before the people
_NEWLINE, _TAB, _HASH = b"\n\t#"


def count_variants(path: Path, people: int, told: Told, *, is_packed: bool) -> int:
    """Count the variants; DataProblem, with its line, if one lacks a cell for one of the `people`.

    The last line may lack its line end.
    """
    variants, line, rest = 0, 1, b""
    with gzip.GzipFile(path) if is_packed else path.open("rb") as file:
        while data := file.read(_AT_ONCE):
            whole, newline, rest = (rest + data).rpartition(b"\n")
            variants += _count(path, np.frombuffer(whole + newline, np.uint8), line, people)
            line += whole.count(b"\n") + len(newline)
            told(variants, 0)
    return variants + (_count(path, np.frombuffer(rest + b"\n", np.uint8), line, people) if rest else 0)


def _count(path: Path, text: NDArray[np.uint8], first_line: int, people: int) -> int:
    """Count those of some whole lines."""
    ends = np.flatnonzero(text == _NEWLINE)
    starts = np.append(0, ends[:-1] + 1)
    is_record = text[starts] != _HASH
    if len(zeros := np.flatnonzero(text == 0)):
        raise DataProblem(
            "a line has a zero byte",
            file=path,
            line=first_line + int(np.searchsorted(ends, zeros[0])),
            remedy="The file is damaged: copy it again.",
        )
    if len(late := np.flatnonzero(~is_record & (np.cumsum(is_record) > 0))):
        raise DataProblem(
            "a line among the variants begins with #, and would be passed over",
            file=path,
            line=first_line + int(late[0]),
            remedy="Copy the file again, or remove the line.",
        )
    tabs = np.flatnonzero(text == _TAB)
    cells = np.searchsorted(tabs, ends) - np.searchsorted(tabs, starts) + 1
    odd = np.flatnonzero(is_record & (cells != _FIXED + people))
    if len(odd):
        k = int(odd[0])
        is_empty = not text[starts[k] : ends[k]].tobytes().strip()
        raise DataProblem(
            "a line is empty" if is_empty else f"a line has {cells[k]:,} cells between tabs",
            file=path,
            line=first_line + k,
            remedy="Remove the line."
            if is_empty
            else f"It needs {_FIXED + people:,}, one for each of {people:,} people. Copy the file again: it "
            "may have been cut off, or edited.",
        )
    return int(np.count_nonzero(is_record))
