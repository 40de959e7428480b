"""A cohort's table: CSV with the columns that the plan's schema names, checked cell by cell.

The first line names the columns, in any order. Numbers have a decimal point; an empty cell, NA and NaN are
missing. The columns of type text are neither read nor changed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.cohort import ArrayTable
from unpooled.schema import INTEGER, Column
from unpooled_client.data.options import MIN_SAMPLES
from unpooled_client.data.report import EXAMPLES, Code, Report, at_lines, shown
from unpooled_client.data.source import BYTE_ORDER_MARK, exists, good_line_ends, is_text, unreadable

WHAT = "the table"
MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "null"))


@dataclass(frozen=True, eq=False)
class Lines:
    """The cells of a table, as text."""

    header: list[str]
    rows: list[list[str]]
    numbers: list[int]
    """Line in the file of each row, from 1."""


def open_table(path: Path, schema: Sequence[Column], fewest: int | None, report: Report) -> ArrayTable | None:
    """The features of a table, in the schema's order; None if there is any error, which the report has.

    `fewest`: how many rows a cohort must have to take part.
    """
    lines = read_lines(path, report)
    values = None if lines is None else read_features(lines, schema, path, report)
    if values is None:
        return None
    _check_floor(len(values), MIN_SAMPLES if fewest is None else fewest, path, report)
    report.summary = {"table": {"rows": len(values), "features": values.shape[1]}}
    return ArrayTable(values) if report.ok else None


def read_features(lines: Lines, schema: Sequence[Column], path: Path, report: Report) -> np.ndarray | None:
    """The schema's numbers, float64 (rows, features); None if there is any error, which the report has."""
    if not _check_header(lines.header, schema, path, report) or not _check_widths(lines, path, report):
        return None
    features = [column for column in schema if column.is_number]
    values = np.empty((len(lines.rows), len(features)))
    for k, column in enumerate(features):
        values[:, k] = _numbers(lines, column, path, report)
    return values if report.ok else None


def read_lines(path: Path, report: Report) -> Lines | None:
    """The cells of a CSV file in UTF-8; None with the reason in the report. Blank lines are passed over."""
    if (text := _read_text(path, report)) is None:
        return None
    found = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, numbers = [], []
    try:
        for row in found:
            if row:
                rows.append(row)
                numbers.append(found.line_num)
    except csv.Error as error:
        report.error(
            Code.CSV,
            f"{WHAT} is no CSV: {error}",
            file=path,
            line=found.line_num,
            expected="cells between commas, in double quotes where they hold a comma or a quote",
            remedy="Export the table as CSV anew.",
        )
        return None
    if not rows:
        report.error(Code.FILE_EMPTY, f"{WHAT} is empty", file=path, remedy="Write the file anew.")
        return None
    return Lines(rows[0], rows[1:], numbers[1:])


def _read_text(path: Path, report: Report) -> str | None:
    if not exists(path, WHAT, report):
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        unreadable(error, path, WHAT, report)
        return None
    if not is_text(data[:4096], path, WHAT, report) or not good_line_ends(data[:4096], path, WHAT, report):
        return None
    try:
        return data.removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        report.error(
            Code.FILE_NOT_TEXT,
            f"{WHAT} is not in UTF-8",
            file=path,
            line=data.count(b"\n", 0, error.start) + 1,
            remedy="Save it as UTF-8.",
        )
        return None


def _check_header(header: list[str], schema: Sequence[Column], path: Path, report: Report) -> bool:
    """Whether the columns are those of the schema, each once."""
    wanted = [column.title for column in schema]
    expected = f"the columns of the plan: {shown(', '.join(wanted))}"
    for title in wanted:
        if header.count(title) > 1:
            report.error(
                Code.COLUMN_AMBIGUOUS,
                f"the column {shown(title)} stands twice in {WHAT}",
                file=path,
                line=1,
                column=len(header) - header[::-1].index(title),
                expected=expected,
                remedy="Remove the wrong one, or give it another name.",
            )
        elif title not in header:
            report.error(
                Code.COLUMN_MISSING,
                f"the column {shown(title)} is missing in {WHAT}",
                file=path,
                line=1,
                expected=expected,
                remedy=_why_missing(title, header),
            )
    for place, title in enumerate(header, 1):
        if title not in wanted:
            report.error(
                Code.COLUMN_UNKNOWN,
                f"{WHAT} has a column that the plan does not have",
                file=path,
                line=1,
                column=place,
                read=shown(title),
                expected=expected,
                remedy="Leave it out, or have the coordinator name it in the schema, if need be as text.",
                examples=(f"column {place}: {shown(title)}",),
            )
    return report.ok


def _why_missing(title: str, header: list[str]) -> str:
    alike = next((other for other in header if other.strip().lower() == title.strip().lower()), None)
    if alike is not None:
        return f"The file has {alike!r}: names must be the same letter by letter."
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        return "Cells must stand between commas: export the table as CSV with commas."
    return "Add it, empty if this cohort has no such values."


def _check_widths(lines: Lines, path: Path, report: Report) -> bool:
    for row, number in zip(lines.rows, lines.numbers, strict=True):
        if len(row) != len(lines.header):
            report.error(
                Code.TOO_FEW_COLUMNS,
                f"a line of {WHAT} has another number of cells than its first line",
                file=path,
                line=number,
                column=min(len(row), len(lines.header)) + 1,
                read=f"{len(row)} cells",
                expected=f"{len(lines.header)} cells",
                remedy="A missing value is an empty cell. A cell that holds a comma stands in double quotes.",
                examples=(f"line {number}",),
            )
    return report.ok


def _numbers(lines: Lines, column: Column, path: Path, report: Report) -> np.ndarray:
    """A column's numbers, float64 (rows,); NaN where they are missing."""
    place = lines.header.index(column.title)
    values = np.full(len(lines.rows), np.nan)
    bad: dict[Code, list[int]] = {}
    for k, row in enumerate(lines.rows):
        if (cell := row[place].strip()) not in MISSING:
            values[k] = value = _number(cell)
            if problem := _problem(value, column):
                bad.setdefault(problem, []).append(k)
    for code, rows in bad.items():
        _report_cells(code, rows, lines, place, column, path, report)
    if len(values) and np.isnan(values).all() and not bad:
        report.warning(
            Code.COLUMN_EMPTY,
            f"every value of {shown(column.title)} is missing here",
            file=path,
            column=place + 1,
            remedy="It counts 0 in the pool. Is it the right table?",
        )
    return values


def _number(cell: str) -> float:
    """The number in a cell; NaN if it is none."""
    try:
        return np.nan if "_" in cell else float(cell)  # Python's own 1_000 is no number of a table
    except ValueError:
        return np.nan


def _problem(value: float, column: Column) -> Code | None:
    if np.isnan(value):
        return Code.VALUE_TEXT
    if np.isinf(value):
        return Code.VALUE_INFINITE
    return Code.VALUE_FRACTION if column.type == INTEGER and value != np.floor(value) else None


_CELLS = {
    Code.VALUE_TEXT: (
        "holds text",
        "a number such as 12 or 1.5e-3, or an empty cell, NA or NaN for a missing value",
        "Write numbers with a decimal point. If the column is no number, its type in the schema is text.",
    ),
    Code.VALUE_INFINITE: (
        "holds an infinite number",
        "numbers of size up to 1.8e308",
        "Leave the cell empty if the value is not known.",
    ),
    Code.VALUE_FRACTION: (
        "holds a fraction",
        "whole numbers, for the plan says integer",
        "Mend the value, or have the coordinator call the column a number.",
    ),
}


def _report_cells(
    code: Code, rows: list[int], lines: Lines, place: int, column: Column, path: Path, report: Report
) -> None:
    message, expected, remedy = _CELLS[code]
    first = rows[:EXAMPLES]
    words = [lines.rows[k][place].encode() for k in first]
    report.error(
        code,
        f"the column {shown(column.title)} {message}",
        file=path,
        line=lines.numbers[rows[0]],
        column=place + 1,
        read=shown(words[0]),
        expected=expected,
        remedy=remedy,
        count=len(rows),
        examples=at_lines([lines.numbers[k] for k in first], words),
    )


def _check_floor(rows: int, fewest: int, path: Path, report: Report) -> None:
    if rows < fewest:
        report.error(
            Code.TOO_FEW_SAMPLES,
            f"{WHAT} has too few rows",
            file=path,
            read=str(rows),
            expected=f"at least {fewest}",
            remedy="A cohort this small is not to take part.",
        )


def text_of(header: Sequence[str], rows: Iterator[list[str]]) -> bytes:
    """The CSV file with these cells."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()
