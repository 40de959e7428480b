"""Tables whose rows belong to samples: --pheno, --covar, --keep and --remove.

As plink1.9 reads them (tried with v1.90b6.26): the first line is a header iff it starts `FID IID` or
`#FID IID`; empty lines are skipped; a row whose sample is not in the .fam is dropped, and may be short.
In addition a header may start `#IID`, as in PLINK 2: then rows have no FID, and are matched by an IID that
appears once in the .fam.

Unlike in PLINK an empty cell between tabs is a missing value, whatever else the line has. PLINK passes over a
tab after a tab, and takes the next column's value for it. So a row of a sample with more or fewer words than
the first line is refused.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.memory import tokenizer
from unpooled.memory.tokenizer import Tokens, tokenize
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, at, shown
from unpooled_client.data.findings.source import enough_columns, even_columns, read_bytes, select
from unpooled_client.data.plink.fam import Fam

HEADERS = {(b"FID", b"IID"): 2, (b"#FID", b"IID"): 2}
MATCHING = "matching"
"""Part of the summary: how the rows of each table and the samples match."""
_EMPTY = re.compile(rb"\t *\t")
NEARLY = ("FID", "IID", "#FID", "#IID", "ID", "SAMPLE", "FAMILY")


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table that belong to a sample."""

    path: Path
    what: str
    """Name of the file in messages: "the --pheno file"."""
    ids: int
    """Number of columns before the values: 2 for FID and IID, 1 for IID."""
    names: list[str] | None
    """Names of the value columns, if there is a header."""
    tokens: Tokens
    """Rows with values whose sample is in the .fam."""
    sample: np.ndarray
    """int64 (rows,): row of each one's sample in the .fam."""
    columns: int
    """Number of value columns of the first line."""


def read_table(path: Path, what: str, fam: Fam, report: Report, *, partial: bool = False) -> Table | None:
    """Read a table and find its samples, or None where it cannot be read; the report says what was seen.

    A `partial` table need not have a row for each sample, nor for any.
    """
    tokens = words_of(path, what, report)
    if tokens is None:
        return None
    ids, names = header_of(tokens)
    columns = int(tokens.widths[0]) - ids
    _warn_of_near_header(tokens, names, path, what, report)
    rows = select(tokens, np.arange(len(tokens)) >= (names is not None))
    rows = enough_columns(rows, ids, path, what, "FID, IID" if ids == 2 else "IID", report)
    sample = _samples(rows, ids, fam)
    known = sample >= 0
    table = Table(path, what, ids, names, select(rows, known), sample[known], columns)
    _report_matches(table, rows, known, fam, partial, report)
    return table if partial else _even(table, report)


def words_of(path: Path, what: str, report: Report) -> Tokens | None:
    """The words of a table, of at least one row; None where there is none, and the report says why."""
    data = read_bytes(path, what, report)
    if data is None:
        return None
    tokens = tokenize(data)
    if not len(tokens):
        report.error(Code.FILE_EMPTY, f"{what} has no rows", file=path, remedy="Write the file again.")
        return None
    return _with_missing_cells(data, tokens, path, what, report)


def _with_missing_cells(data: bytes, tokens: Tokens, path: Path, what: str, report: Report) -> Tokens:
    """The words, with NA in the empty cells of lines that have such between tabs, or at their end."""
    lines, filled, wanted = data.split(b"\n"), list[int](), int(tokens.widths[0])
    for number, width in zip(tokens.line.tolist(), tokens.widths.tolist(), strict=True):
        if width >= wanted and not _EMPTY.search(lines[number - 1]):
            continue
        cells = [cell.strip() for cell in lines[number - 1].split(b"\t")]
        while len(cells) > wanted and not cells[-1]:
            cells.pop()
        if b"" in cells:
            lines[number - 1] = b"\t".join(cell or b"NA" for cell in cells)
            filled.append(number)
            wanted = len(cells) if number == tokens.line[0] else wanted
    if not filled:
        return tokens
    if filled[0] == tokens.line[0] and header_of(tokens)[1] is not None:
        report.error(
            Code.HEADER,
            f"a column of {what} has no name",
            file=path,
            line=filled[0],
            column=lines[filled[0] - 1].split(b"\t").index(b"NA") + 1,
            remedy="Name it, or remove one of two tabs.",
        )
    report.warning(
        Code.CELL_EMPTY,
        f"a line of {what} has an empty cell, which is a missing value here",
        file=path,
        line=filled[0],
        remedy="Write NA there: PLINK takes the value of the next column for it.",
        count=len(filled),
        examples=tuple(f"line {number}" for number in filled[:EXAMPLES]),
    )
    return tokenize(b"\n".join(lines))


def _even(table: Table, report: Report) -> Table:
    """The rows that have as many words as the first line: in others one may stand in a wrong column."""
    wanted = table.ids + table.columns
    even = even_columns(table.tokens, wanted, table.path, table.what, report)
    return dataclasses.replace(table, tokens=even, sample=table.sample[table.tokens.widths == wanted])


def header_of(tokens: Tokens) -> tuple[int, list[str] | None]:
    """Return the number of ID columns, and the names of the others if the first line is a header."""
    words = [tokens.word(0, j) for j in range(tokens.widths[0])]
    ids = 1 if words[0] == b"#IID" else HEADERS.get((words[0], words[1]) if len(words) > 1 else (b"", b""), 0)
    if not ids:
        return 2, None
    return ids, [word.decode("utf-8", "backslashreplace") for word in words[ids:]]


def _warn_of_near_header(
    tokens: Tokens, names: list[str] | None, path: Path, what: str, report: Report
) -> None:
    """A first line that looks like a header but is none for PLINK."""
    first = tokens.word(0, 0).decode("utf-8", "replace")
    if names is not None or first.strip('"').upper() not in NEARLY:
        return
    report.warning(
        Code.HEADER,
        f"the first line of {what} looks like a header but is taken for a row, as PLINK does",
        file=path,
        line=1,
        column=1,
        read=shown(b" ".join(tokens.word(0, j) for j in range(min(3, tokens.widths[0])))),
        expected="FID IID, or #FID IID, or #IID, in capitals",
        remedy="Let the line begin with FID IID, or remove it.",
    )


def _samples(rows: Tokens, ids: int, fam: Fam) -> np.ndarray:
    """Row of each row's sample in the .fam, -1 where there is none."""
    first, last = (tokenizer.strings(rows.text, *rows.column(j)).tolist() for j in (0, ids - 1))
    if ids == 1:
        return np.array([fam.index_by_iid.get(iid, -1) for iid in first], np.int64)
    return np.array([fam.index.get(pair, -1) for pair in zip(first, last, strict=True)], np.int64)


def _report_matches(
    table: Table, rows: Tokens, known: np.ndarray, fam: Fam, partial: bool, report: Report
) -> None:
    """Say how many rows were dropped and how many samples have none; nobody matched is an error."""
    strangers = np.flatnonzero(~known)
    without = np.setdiff1d(np.arange(len(fam)), table.sample)
    report.summary.setdefault(MATCHING, []).append(
        {
            "name": table.what,
            "rows with a sample": len(rows) - len(strangers),
            "rows without a sample": len(strangers),
            "samples without a row": len(without),
        }
    )
    ids = [b" ".join(rows.word(k, j) for j in range(table.ids)) for k in strangers[:EXAMPLES]]
    if not len(table.sample):
        tell = report.warning if partial else report.error
        tell(
            Code.NOBODY_MATCHED,
            f"no row of {table.what} belongs to a sample of the {fam.kind}",
            file=table.path,
            line=int(rows.line[0]) if len(rows) else 1,
            column=1,
            read=", ".join(shown(i) for i in ids) or "no rows",
            expected=f"FID and IID as in the {fam.kind}, e.g. {fam.name(0)}",
            remedy=_why_not(rows, table.ids, fam),
            count=max(1, len(strangers)),
        )
        return
    if len(strangers):
        report.note(
            Code.ROWS_UNMATCHED,
            f"a row of {table.what} has no sample in the {fam.kind} and is dropped",
            remedy=_why_not(select(rows, ~known), table.ids, fam),
            **at(table.path, rows.line[strangers], ids, 1),
        )
    if len(without) and not partial:
        report.warning(
            Code.SAMPLES_UNMATCHED,
            f"a sample of the {fam.kind} has no row in {table.what}: its values there are missing",
            remedy="FID and IID must be the same in both files, letter by letter.",
            **fam.at(without, 1),
        )


def _why_not(strangers: Tokens, ids: int, fam: Fam) -> str:
    """Suggest a change that would make most of some unmatched rows match."""
    usual = "FID and IID must be the same in both files, letter by letter."
    if ids == 1:
        return f"The IID must be the same in both files, letter by letter, and appear once in the {fam.kind}."
    pairs = [(strangers.word(k, 0), strangers.word(k, 1)) for k in range(min(1000, len(strangers)))]
    iids = set(fam.iid.tolist())
    folded = {(fid.lower(), iid.lower()) for fid, iid in fam.index}
    joined = {fid + b"_" + iid for fid, iid in fam.index}
    guesses = [
        (
            sum((iid, fid) in fam.index for fid, iid in pairs),
            "FID and IID are in the wrong order: swap them.",
        ),
        (
            sum((fid.lower(), iid.lower()) in folded for fid, iid in pairs),
            "They differ only in upper and lower case: PLINK tells these apart.",
        ),
        (
            sum((fid.strip(b'"'), iid.strip(b'"')) in fam.index for fid, iid in pairs),
            "The IDs are in quotes: write the file without them.",
        ),
        (sum(iid in joined for _, iid in pairs), f"The IID is FID_IID of the {fam.kind}: split it again."),
        (
            sum(iid in iids for _, iid in pairs),
            f"The IIDs match but the FIDs do not: use the {fam.kind}'s FID (e.g. {fam.name(0)}), or "
            "begin the header with #IID and leave the FID out.",
        ),
        (
            sum(fid in iids for fid, _ in pairs),
            "The first column is the IID: put the FID before it, or begin the header with #IID.",
        ),
    ]
    hits, remedy = max(guesses, key=lambda guess: guess[0])
    return remedy if hits * 2 > len(pairs) else usual


def one_row_each(table: Table, conflict_only: bool, column: int, report: Report) -> None:
    """Two rows of one sample are an error, as in --covar; with `conflict_only`, only if `column` differs.

    In --pheno plink1.9 takes the last one without a word.
    """
    seen: dict[int, int] = {}
    bad = []
    for k, sample in enumerate(table.sample.tolist()):
        before = seen.setdefault(sample, k)
        if before != k and not (conflict_only and _same_word(table.tokens, before, k, column)):
            bad.append(k)
    if not bad:
        return
    words = [b" ".join(table.tokens.word(k, j) for j in range(table.ids)) for k in bad[:EXAMPLES]]
    report.error(
        Code.ROW_DUPLICATE,
        f"a sample has two rows in {table.what}",
        expected="one row for each sample",
        remedy="Remove the wrong one.",
        **at(table.path, table.tokens.line[bad], words, 1),
    )


def _same_word(tokens: Tokens, a: int, b: int, column: int) -> bool:
    return min(tokens.widths[a], tokens.widths[b]) > column and tokens.word(a, column) == tokens.word(
        b, column
    )
