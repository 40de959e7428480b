"""The .fam file: who the samples are.

As plink1.9 reads it (tried with v1.90b6.26): at least six words a line, further ones are ignored; lines that
begin with `#` are comments; sex is `1` or `2` and anything else unknown; a founder has `0` for both
parents; an IID may not be `0`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled import text
from unpooled.cohort import FEMALE, MALE, UNKNOWN_SEX
from unpooled.text import Tokens
from unpooled_client.data.report import Code, Report, at_lines, shown
from unpooled_client.data.source import enough_columns, read_bytes, rows_of, select

COLUMNS = "FID, IID, father, mother, sex, phenotype"
_ODD = re.compile(rb"[^A-Za-z0-9_.:@#~+\-/*=|()\[\]]")


@dataclass(frozen=True, eq=False)
class Fam:
    """The n samples, in the order of the file."""

    path: Path
    fid: np.ndarray
    """bytes (n,), dtype S."""
    iid: np.ndarray
    """bytes (n,), dtype S."""
    sex: np.ndarray
    """uint8 (n,): 1 male, 2 female, 0 unknown."""
    founder: np.ndarray
    """bool (n,): both parents are `0`."""
    tokens: Tokens
    """The words of the file; word 5 of a row is the phenotype."""
    rows: int
    """Samples in the file, lines that are too short included."""

    def __len__(self) -> int:
        return len(self.iid)

    @property
    def words_of_sex(self) -> np.ndarray:
        """bytes (n,): the sexes as they are written."""
        return text.strings(self.tokens.text, *self.tokens.column(4))

    @functools.cached_property
    def index(self) -> dict[tuple[bytes, bytes], int]:
        """Row of each (FID, IID); of a duplicate the first."""
        pairs = list(zip(self.fid.tolist(), self.iid.tolist(), strict=True))
        return dict(zip(reversed(pairs), range(len(pairs) - 1, -1, -1), strict=True))

    @functools.cached_property
    def index_by_iid(self) -> dict[bytes, int]:
        """Row of each IID that stands once."""
        iids, first, times = np.unique(self.iid, return_index=True, return_counts=True)
        return {
            iid: row
            for iid, row, n in zip(iids.tolist(), first.tolist(), times.tolist(), strict=True)
            if n == 1
        }

    @property
    def has_duplicates(self) -> bool:
        return len(self.index) < len(self)


def read_fam(path: Path, report: Report) -> Fam | None:
    """Read a .fam file, or None where it cannot be read; the report says why and what else is to be seen."""
    data = read_bytes(path, "the .fam file", report)
    if data is None:
        return None
    rows = _without_header(rows_of(data), path, report)
    tokens = enough_columns(rows, 6, path, "the .fam file", COLUMNS, report)
    if not len(tokens):
        if not len(rows):
            report.error(
                Code.FILE_EMPTY, "the .fam file has no samples", file=path, remedy=f"Columns: {COLUMNS}."
            )
        return None
    fid, iid, father, mother, sex = (text.strings(tokens.text, *tokens.column(j)) for j in range(5))
    fam = Fam(path, fid, iid, _sex(sex), (father == b"0") & (mother == b"0"), tokens, len(rows))
    _check_ids(fam, report)
    return fam


def _without_header(rows: Tokens, path: Path, report: Report) -> Tokens:
    if (
        not len(rows)
        or rows.widths[0] < 2
        or (rows.word(0, 0).upper(), rows.word(0, 1).upper()) != (b"FID", b"IID")
    ):
        return rows
    report.error(
        Code.HEADER_LINE,
        "the .fam file has a header line, which PLINK takes for a sample",
        file=path,
        line=int(rows.line[0]),
        read=shown(b" ".join(rows.word(0, j) for j in range(rows.widths[0]))),
        remedy="Delete the line, or start it with #.",
    )
    return select(rows, np.arange(len(rows)) > 0)


def _sex(words: np.ndarray) -> np.ndarray:
    return np.select([words == b"1", words == b"2"], [MALE, FEMALE], UNKNOWN_SEX).astype(np.uint8)


def _check_ids(fam: Fam, report: Report) -> None:
    line = fam.tokens.line
    zero = np.flatnonzero(fam.iid == b"0")
    if len(zero):
        report.error(
            Code.SAMPLE_ID,
            "a sample has the IID 0, which PLINK does not accept",
            file=fam.path,
            line=int(line[zero[0]]),
            column=2,
            read="0",
            expected="an ID other than 0",
            remedy="Give each sample an ID of its own.",
            count=len(zero),
            examples=at_lines(line[zero], fam.iid[zero]),
        )
    _check_odd(fam, report)


def _check_odd(fam: Fam, report: Report) -> None:
    for column, words in ((1, fam.fid), (2, fam.iid)):
        odd = [k for k, word in enumerate(words.tolist()) if _ODD.search(word)]
        if odd:
            report.warning(
                Code.SAMPLE_ID_ODD,
                f"the {'FID' if column == 1 else 'IID'} of a sample contains unusual characters",
                file=fam.path,
                line=int(fam.tokens.line[odd[0]]),
                column=column,
                read=shown(words[odd[0]]),
                expected="ASCII letters, digits, and _ . - : and the like",
                remedy="They are compared byte by byte: an ID must be written in the same way, quotes and "
                "encoding included, in every file.",
                count=len(odd),
                examples=at_lines(fam.tokens.line[odd], words[odd]),
            )


def check_duplicates(fam: Fam, needs_unique: bool, report: Report) -> None:
    """Samples that stand twice: PLINK stops only where a second file is matched by ID."""
    if not fam.has_duplicates:
        return
    again = [
        k
        for k, pair in enumerate(zip(fam.fid.tolist(), fam.iid.tolist(), strict=True))
        if fam.index[pair] != k
    ]
    words = [fam.fid[k] + b" " + fam.iid[k] for k in again]
    tell = report.error if needs_unique else report.warning
    tell(
        Code.SAMPLE_DUPLICATE,
        "a sample appears more than once (same FID and IID)",
        file=fam.path,
        line=int(fam.tokens.line[again[0]]),
        column=1,
        read=shown(words[0]),
        expected="each pair of FID and IID once",
        remedy="Remove or rename the second one: rows of other files cannot be matched to it."
        if needs_unique
        else "PLINK counts both. Remove one if it is the same person.",
        count=len(again),
        examples=at_lines(fam.tokens.line[again], words),
    )
