"""The lines of a VCF, looked at before htslib reads them: of some that are odd it dies without a word."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.errors import DataProblem
from unpooled.kernels.compiled import compiled
from unpooled_client.data.findings.report import shown
from unpooled_client.data.imputed.pieces import Progress
from unpooled_client.data.plink.split import misspelt

_AT_ONCE = 1 << 24  # bytes
_FIXED = 9  # columns before the people
_POSITION, _ALTERNATES = 1, 4  # columns, from 0
_NEWLINE, _TAB, _HASH, _COLON, _COMMA, _RETURN = b"\n\t#:,\r"
_OF_CALLS = (ord("."), ord("/"), ord("|"))


def count_rows(path: Path, people: int, progress: Progress, *, is_packed: bool) -> int:
    """Count the alternate alleles; DataProblem, with its line, if one lacks a cell for one of the `people`.

    The last line may lack its line end.
    """
    rows, line, rest = 0, 1, b""
    with gzip.GzipFile(path) if is_packed else path.open("rb") as file:
        while data := file.read(_AT_ONCE):
            # A line at the end of a piece is looked at with the next one.
            whole, newline, rest = (rest + data).rpartition(b"\n")
            rows += _count(path, np.frombuffer(whole + newline, np.uint8), line, people)
            line += whole.count(b"\n") + len(newline)
            progress(rows, 0)
    return rows + (_count(path, np.frombuffer(rest + b"\n", np.uint8), line, people) if rest else 0)


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
    tabs = np.flatnonzero(text == _TAB)
    cells = np.searchsorted(tabs, ends) - np.searchsorted(tabs, starts) + 1
    is_like_one = (cells == _FIXED + people) & (text[np.minimum(starts + 1, len(text) - 1)] != ord("C"))
    if len(late := np.flatnonzero(~is_record & ((np.cumsum(is_record) > 0) | is_like_one))):
        raise DataProblem(
            "a line among the variants begins with #, and would be passed over",
            file=path,
            line=first_line + int(late[0]),
            remedy="Copy the file again, or remove the line.",
        )
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
    records = np.flatnonzero(is_record)
    alternates = np.ones(len(records), np.int64)
    k, column = _first_odd(text, starts[records], ends[records], alternates)
    if k >= 0:
        raise DataProblem(
            "a position is no whole number"
            if column == _POSITION
            else "a genotype is no call such as 0/1, 0|1 or ./.",
            file=path,
            line=first_line + int(records[k]),
            column=int(column) + 1,
            remedy="Copy the file again: it may be damaged.",
        )
    for k in np.flatnonzero(alternates > 1).tolist():
        before = np.searchsorted(tabs, starts[records[k]]) + _ALTERNATES
        word = text[tabs[before - 1] + 1 : tabs[before]].tobytes()
        if wrong := misspelt(word):
            raise DataProblem(
                f"{wrong}: {shown(word)}",
                file=path,
                line=first_line + int(records[k]),
                column=_ALTERNATES + 1,
                remedy="Write the file again, or leave the variant out.",
            )
    return int(alternates.sum())


@compiled
def _first_odd(text: Any, starts: Any, ends: Any, alternates: Any) -> Any:
    """The first line with a position or a GT that htslib cannot read, and its column, from 0; else -1.

    To each line's `alternates`, int64 (k,), the commas between them are added.
    """
    for k in range(len(starts)):
        column, at, has_calls = 0, 0, False  # at: which byte of its cell this is; beyond 9, some later field
        for i in range(starts[k], ends[k]):
            byte = text[i]
            if byte == _TAB:
                column, at = column + 1, 0
                continue
            is_digit = ord("0") <= byte <= ord("9")
            if column == _POSITION and not is_digit:
                return k, column
            if column == _ALTERNATES and byte == _COMMA:
                alternates[k] += 1
            if column == _FIXED - 1 and at == 0:
                has_calls = byte == ord("G") and text[i + 1] == ord("T") and text[i + 2] in (_TAB, _COLON)
            if column >= _FIXED and has_calls and at >= 0:
                if byte == _COLON:
                    at = -1 << 30
                elif not is_digit and byte not in _OF_CALLS and not (byte == _RETURN and i + 1 == ends[k]):
                    return k, column
            at += 1
    return -1, 0
