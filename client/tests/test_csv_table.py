"""The reader of tables: what it reads, and how it says what is wrong, with line and column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unpooled.schema import Column
from unpooled_client.data.csv_table import open_table
from unpooled_client.data.report import Code, Finding, Report, Severity

SCHEMA = (Column("age", "integer", "years"), Column("site", "text"), Column("mean glucose"))
HEADER = b"mean glucose,site,age\n"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[np.ndarray | None, Report]]:
    def call(data: bytes, fewest: int = 1) -> tuple[np.ndarray | None, Report]:
        path = tmp_path / "table.csv"
        path.write_bytes(data)
        report = Report()
        table = open_table(path, SCHEMA, fewest, report)
        return None if table is None else table.values, report

    return call


Read = Callable[..., tuple[np.ndarray | None, Report]]


def test_columns_come_in_the_order_of_the_schema(read: Read) -> None:
    values, report = read(HEADER + b'5.5,Graz,61\n-1e-3,"Tartu, old",7\n')
    assert values is not None and report.ok
    assert values.tolist() == [[61, 5.5], [7, -1e-3]]


@pytest.mark.parametrize("cell", ["", "NA", "N/A", "NaN", "nan", "null", " NA "])
def test_what_is_missing(read: Read, cell: str) -> None:
    values, _ = read(HEADER + f"{cell},Graz,61\n1,Graz,2\n".encode())
    assert values is not None and np.isnan(values[0, 1]) and values[1, 1] == 1


def test_as_spreadsheets_write_it(read: Read) -> None:
    """A byte order mark, Windows line ends, quotes, a blank line at the end."""
    values, report = read(b'\xef\xbb\xbf"mean glucose","site","age"\r\n"5.5","x\r\ny","61"\r\n\r\n')
    assert values is not None and values.tolist() == [[61, 5.5]]
    assert not report.of(Severity.WARNING)


def error(report: Report) -> Finding:
    (found,) = report.of(Severity.ERROR)
    return found


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("high", Code.VALUE_TEXT),
        ("5,5", Code.VALUE_TEXT),
        ("1_000", Code.VALUE_TEXT),
        ("inf", Code.VALUE_INFINITE),
        ("-1e999", Code.VALUE_INFINITE),
    ],
)
def test_cells_that_are_no_numbers(read: Read, cell: str, code: Code) -> None:
    values, report = read(HEADER + f'1,Graz,3\n"{cell}","a\nb",4\n"{cell}",Graz,5\n'.encode())
    found = error(report)
    assert values is None
    assert (found.code, found.line, found.column, found.count, found.read) == (code, 4, 1, 2, cell)
    assert found.file and found.expected and found.remedy and "mean glucose" in found.message
    assert found.examples == (f"line 4: {cell}", f"line 5: {cell}")


def test_a_fraction_in_a_column_of_integers(read: Read) -> None:
    _, report = read(HEADER + b"1,Graz,3.5\n")
    assert (error(report).code, error(report).line, error(report).column) == (Code.VALUE_FRACTION, 2, 3)


@pytest.mark.parametrize(
    ("data", "code", "line", "column", "said"),
    [
        (b"site,age\nGraz,3\n", Code.COLUMN_MISSING, 1, None, "mean glucose is missing"),
        (
            HEADER.replace(b"age", b"age,weight") + b"1,Graz,3,80\n",
            Code.COLUMN_UNKNOWN,
            1,
            4,
            "does not have",
        ),
        (HEADER.replace(b"age", b"age,age") + b"1,Graz,3,3\n", Code.COLUMN_AMBIGUOUS, 1, 4, "stands twice"),
        (HEADER + b"1,Graz,3\n1,Graz\n", Code.TOO_FEW_COLUMNS, 3, 3, "another number of cells"),
        (HEADER + b'1,"Graz,3\n', Code.CSV, 2, None, "no CSV"),
        (b"", Code.FILE_EMPTY, None, None, "is empty"),
        (b"\n\n", Code.FILE_EMPTY, None, None, "is empty"),
        (HEADER + b"1,Gr\xe4z,3\n", Code.FILE_NOT_TEXT, 2, None, "not in UTF-8"),
        (b"PK\x03\x04", Code.FILE_NOT_TEXT, None, None, "no"),
    ],
)
def test_tables_that_are_not_as_planned(
    read: Read, data: bytes, code: Code, line: int | None, column: int | None, said: str
) -> None:
    values, report = read(data)
    found = error(report)
    assert values is None
    assert (found.code, found.line, found.column) == (code, line, column)
    assert said in found.message and found.remedy


@pytest.mark.parametrize(
    ("header", "remedy"),
    [(b"Mean Glucose,site,age", "letter by letter"), (b"mean glucose;site;age", "between commas")],
)
def test_the_remedy_of_a_missing_column(read: Read, header: bytes, remedy: str) -> None:
    _, report = read(header + b"\n")
    assert remedy in next(f for f in report.findings if f.code == Code.COLUMN_MISSING).remedy


def test_a_column_without_values_counts_nothing(read: Read) -> None:
    values, report = read(HEADER + b",Graz,3\nNA,Graz,4\n")
    assert values is not None and np.isnan(values[:, 1]).all()
    assert [found.code for found in report.findings] == [Code.COLUMN_EMPTY]


def test_a_cohort_of_few_rows_declines(read: Read) -> None:
    _, report = read(HEADER + b"1,Graz,3\n", fewest=2)
    assert error(report).code == Code.TOO_FEW_SAMPLES
