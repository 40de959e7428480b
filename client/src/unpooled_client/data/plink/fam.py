"""The .fam or .psam file: who the samples are.

A .fam as plink1.9 reads it (tried with v1.90b6.26): at least six words a line, further ones are ignored (but
here all lines have as many, else two may have become one);
lines that begin with `#` are comments; sex is `1` or `2` and anything else unknown; a founder has `0` for
both parents; an IID may not be `0`.

A .psam as plink2 reads it (tried with v2.00a3.5): the line that begins with `#FID` or `#IID` names the
columns; without FID that is `0`, and whoever has no PAT and MAT is a founder; sex may also be `M` or `F`;
the first column that is none of these is the phenotype. Without such a line it is a .fam. Its rows are kept
as those of a .fam.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.asking.cohort import FEMALE, MALE, UNKNOWN_SEX
from unpooled.memory import tokenizer
from unpooled.memory.tokenizer import Tokens, tokenize
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, at, shown
from unpooled_client.data.findings.source import (
    enough_columns,
    even_columns,
    read_bytes,
    select,
    without_comments,
)

COLUMNS = "FID, IID, father, mother, sex, phenotype"
NAMES = (b"FID", b"IID", b"PAT", b"MAT", b"SEX")
"""The first five of these as a .psam calls them."""
ABSENT = (b"0", b"0", b"0", b"0", b"NA", b"NA")
"""Words that stand for columns that a .psam lacks."""
_SEXES = ({MALE: [b"1"], FEMALE: [b"2"]}, {MALE: [b"1", b"M", b"m"], FEMALE: [b"2", b"F", b"f"]})
"""Words for each sex in a .fam and in a .psam."""
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
    """The words of COLUMNS; word 5 of a row is the phenotype."""
    rows: int
    """Samples in the file, lines that are too short included."""
    place: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    """Column of the file, from 1, that holds each of COLUMNS; 0 for one that it lacks."""
    phenotype: str = ""
    """Name of the phenotype in the file, if it has one."""
    kind: str = ".fam"
    """The kind of the file, by its header or its name: .fam or .psam."""

    def __len__(self) -> int:
        return len(self.iid)

    @property
    def what(self) -> str:
        """Name of the file in messages, as "the .fam file"."""
        return _called(self.kind)

    @property
    def words_of_sex(self) -> np.ndarray:
        """bytes (n,): the sexes as they are written."""
        return tokenizer.strings(self.tokens.text, *self.tokens.column(4))

    def name(self, row: int) -> str:
        """FID and IID of a sample, fit to be shown."""
        return shown(self.fid[row] + b" " + self.iid[row])

    def at(
        self, rows: np.ndarray, column: int | None = None, said: Iterable[bytes | str] | None = None
    ) -> dict[str, Any]:
        """Return details of a finding about these rows, by name or as `said` of the first."""
        texts = map(self.name, rows[:EXAMPLES]) if said is None else said
        return at(self.path, self.tokens.line[rows], texts, column)

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


def read_fam(path: Path, report: Report, *, by_header: bool = False) -> Fam | None:
    """Read a .fam or .psam file, or None where it cannot be read; the report says why, and what is odd.

    `by_header`: a file of any name may be a .psam. In a .fam that PLINK 1.9 reads, `#` begins a comment.
    """
    kind = kind_of(path)
    data = read_bytes(path, _called(kind), report)
    if data is None:
        return None
    words = tokenize(data)
    header = _header(words) if by_header or kind == ".psam" else []
    kind = ".psam" if header else kind
    what = _called(kind)
    rows = _without_header(without_comments(words, path, what, report), path, what, report)
    columns = ", ".join(shown(name) for name in header) or COLUMNS
    tokens = enough_columns(rows, len(header) or 6, path, what, columns, report)
    if len(tokens):
        width = len(header) or int(tokens.widths[0])
        tokens = even_columns(tokens, width, path, what, report)
    if not len(tokens):
        if not len(rows):
            report.error(Code.FILE_EMPTY, f"{what} has no samples", file=path, remedy=f"Columns: {columns}.")
        return None
    place = _places(header)
    if header:
        tokens = _as_fam(tokens, place)
    fid, iid, father, mother, sex = (tokenizer.strings(tokens.text, *tokens.column(j)) for j in range(5))
    founder = (father == b"0") & (mother == b"0")
    phenotype = shown(header[place[5]]) if header and place[5] < len(header) else ""
    numbers = tuple(0 if j == _NONE else j + 1 for j in place)
    fam = Fam(path, fid, iid, _sex(sex, kind), founder, tokens, len(rows), numbers, phenotype, kind)
    _check_ids(fam, report)
    return fam


def kind_of(path: Path) -> str:
    """A .psam by its name, else a .fam."""
    return ".psam" if path.suffix == ".psam" else ".fam"


def _called(kind: str) -> str:
    """Return the name of a kind of file in messages, as "the .fam file"."""
    return f"the {kind} file"


def _header(words: Tokens) -> list[bytes]:
    """The names of the columns of a .psam, FID for #FID; none if it has no header."""
    for row in range(len(words)):
        first = words.word(row, 0)
        if first in (b"#FID", b"#IID"):
            return [first[1:], *(words.word(row, j) for j in range(1, int(words.widths[row])))]
        if not first.startswith(b"#"):
            break
    return []


_NONE = 1 << 20
"""The place of a column that is not there."""


def _places(header: list[bytes]) -> tuple[int, ...]:
    """Find the word of a row, from 0, that holds each of COLUMNS; the usual places without a header."""
    if not header:
        return tuple(range(6))
    known = (*NAMES, b"SID")
    phenotype = next((j for j, name in enumerate(header) if name not in known), _NONE)
    return (*(header.index(name) if name in header else _NONE for name in NAMES), phenotype)


def _as_fam(rows: Tokens, place: tuple[int, ...]) -> Tokens:
    """The rows of a .psam with the words of COLUMNS; what stands for absent ones is added to the text."""
    absent = b" ".join(ABSENT)
    ends = len(rows.text) + np.cumsum([len(word) + 1 for word in ABSENT]) - 1
    start, end = np.empty((2, len(rows), len(ABSENT)), np.int64)
    for j, (column, word) in enumerate(zip(place, ABSENT, strict=True)):
        if column == _NONE:
            start[:, j], end[:, j] = ends[j] - len(word), ends[j]
        else:
            start[:, j], end[:, j] = rows.column(column)
    longer = np.concatenate([rows.text, np.frombuffer(absent, np.uint8)])
    longer.flags.writeable = False  # as the text of a file is: one compiled kernel serves both
    return Tokens(longer, start.ravel(), end.ravel(), np.arange(len(rows) + 1) * len(ABSENT), rows.line)


def _without_header(rows: Tokens, path: Path, what: str, report: Report) -> Tokens:
    if (
        not len(rows)
        or rows.widths[0] < 2
        or (rows.word(0, 0).upper(), rows.word(0, 1).upper()) != (b"FID", b"IID")
    ):
        return rows
    report.error(
        Code.HEADER_LINE,
        f"{what} has a header line, which PLINK takes for a sample",
        file=path,
        line=int(rows.line[0]),
        read=shown(b" ".join(rows.word(0, j) for j in range(rows.widths[0]))),
        remedy="Delete the line, or start it with #.",
    )
    return select(rows, np.arange(len(rows)) > 0)


def _sex(words: np.ndarray, kind: str) -> np.ndarray:
    male, female = (np.isin(words, _SEXES[kind == ".psam"][sex]) for sex in (MALE, FEMALE))
    return np.select([male, female], [MALE, FEMALE], UNKNOWN_SEX).astype(np.uint8)


def _check_ids(fam: Fam, report: Report) -> None:
    zero = np.flatnonzero(fam.iid == b"0")
    if len(zero):
        report.error(
            Code.SAMPLE_ID,
            "a sample has the IID 0, which PLINK does not accept",
            expected="an ID other than 0",
            remedy="Give each sample an ID of its own.",
            **fam.at(zero, fam.place[1], fam.iid[zero[:EXAMPLES]]),
        )
    for name, place, words in zip(("FID", "IID"), fam.place, (fam.fid, fam.iid), strict=False):
        odd = np.array([k for k, word in enumerate(words.tolist()) if _ODD.search(word)], np.int64)
        if len(odd):
            report.warning(
                Code.SAMPLE_ID_ODD,
                f"the {name} of a sample contains unusual characters",
                expected="ASCII letters, digits, and _ . - : and the like",
                remedy="They are compared byte by byte: an ID must be written in the same way, quotes and "
                "encoding included, in every file.",
                **fam.at(odd, place, words[odd[:EXAMPLES]]),
            )


def check_duplicates(fam: Fam, needs_unique: bool, report: Report) -> None:
    """Samples that stand twice: PLINK stops only where a second file is matched by ID."""
    if not fam.has_duplicates:
        return
    pairs = enumerate(zip(fam.fid.tolist(), fam.iid.tolist(), strict=True))
    again = np.array([k for k, pair in pairs if fam.index[pair] != k])
    tell = report.error if needs_unique else report.warning
    tell(
        Code.SAMPLE_DUPLICATE,
        "a sample appears more than once (same FID and IID)",
        expected="each pair of FID and IID once",
        remedy="Remove or rename the second one: rows of other files cannot be matched to it."
        if needs_unique
        else "PLINK counts both. Remove one if it is the same person.",
        **fam.at(again, fam.place[0] or fam.place[1]),
    )
