"""The reader of CSV tables: what it reads, and how it says what is wrong, with line and column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled.plan.categories import MARKERS
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Code, Finding, Report, Severity
from unpooled_client.data.tables import cells, open_table
from unpooled_client.data.tables.faults import Faults

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


LONG = b"x" * 200_000


def test_a_long_text_hides_no_fault_and_is_none(read: Read) -> None:
    row = b"5.5," + LONG + b",61\n"
    values, report = read(HEADER + row + b"high,Graz,7\n")
    found = error(report)
    assert values is None and (found.code, found.line, found.column) == (Code.VALUE_TEXT, 3, 1)
    values, report = read(HEADER + row + b" NA ,Graz,7\n")
    assert values is not None and report.ok
    assert np.array_equal(values, [[61, 5.5], [7, np.nan]], equal_nan=True)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("below", "numbers"),
    [
        (["1", "", "2", ""], [1, np.nan, 2]),
        (["1", "", "2"], [1, np.nan, 2]),
        (["1", "2", "", "", ""], [1, 2, np.nan, np.nan]),
        (["", "1", " NA ", "", '"3"', ""], [np.nan, 1, np.nan, np.nan, 3]),
        (["", ""], [np.nan]),
    ],
)
def test_a_blank_line_of_a_single_column_is_a_missing_value(
    tmp_path: Path, below: list[str], numbers: list[float], end: str
) -> None:
    """Every end of a line ends a row; behind the last one there is none. Blank lines above the name count as
    little as elsewhere."""
    (path := tmp_path / "x.csv").write_bytes(end.join(["", "x", *below]).encode())
    table = open_table(path, (Column("x"),), 1, Report())
    assert table is not None and np.array_equal(table.values[:, 0], numbers, equal_nan=True)


def error(report: Report) -> Finding:
    (found,) = report.of(Severity.ERROR)
    return found


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("high", Code.VALUE_TEXT),
        ("NAN", Code.VALUE_TEXT),
        ("0x10", Code.VALUE_TEXT),
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
    assert (found.code, found.line, found.column, found.count, found.read) == (code, 3, 1, 2, cell)
    assert found.file and found.expected and found.remedy and "mean glucose" in found.message
    assert found.examples == (f"line 3: {cell}", f"line 5: {cell}")


def test_a_fraction_in_a_column_of_integers(read: Read) -> None:
    _, report = read(HEADER + b"1,Graz,3.5\n")
    assert (error(report).code, error(report).line, error(report).column) == (Code.VALUE_FRACTION, 2, 3)


def test_values_outside_the_plans_limits(tmp_path: Path) -> None:
    """Such as a code for a missing value. Both readers must see it, and a value at a limit is none."""
    (path := tmp_path / "t.csv").write_text("age,weight\n0,7.5\n120,\n999,1e9\n-1,3\n17,NA\n")
    schema = (Column("age", "integer", low=0, high=120), Column("weight", high=500))
    report = Report()
    assert open_table(path, schema, 1, report) is None
    age, weight = report.of(Severity.ERROR)
    assert (age.code, age.line, age.column, age.count, age.read) == (Code.VALUE_OUTSIDE, 4, 1, 2, "999")
    assert (weight.line, weight.count, weight.expected) == (4, 1, "values up to 500")
    assert age.expected == "values from 0 to 120" and "999" in age.remedy
    path.write_text("age,weight\n0,500\n120,-1e300\nNA,\n")
    assert open_table(path, schema, 1, Report()) is not None


def test_values_without_the_logarithm_that_a_model_takes(tmp_path: Path) -> None:
    (path := tmp_path / "t.csv").write_text("crp,drinks\n0.1,0\n0,-0.5\n-3,-1\n,NA\n")
    schema = (Column("crp", encoding="log"), Column("drinks", encoding="log1p", low=-5))
    report = Report()
    assert open_table(path, schema, 1, report) is None
    crp, drinks = report.of(Severity.ERROR)
    assert (crp.code, crp.line, crp.column, crp.count, crp.read) == (Code.VALUE_OUTSIDE, 3, 1, 2, "0")
    assert crp.expected == "values above 0" and "has no log" in crp.remedy and "yeo-johnson" in crp.remedy
    assert (drinks.line, drinks.count, drinks.expected) == (4, 1, "values above -1, from -5 on")
    path.write_text("crp,drinks\n1e-300,0\n,-0.9\n")
    assert open_table(path, schema, 1, Report()) is not None


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
        (HEADER.replace(b"age", b"age,age") + b"1,Graz,3,3\n", Code.COLUMN_AMBIGUOUS, 1, 4, "appears twice"),
        (HEADER + b"1,Graz,3\n1,Graz\n", Code.TOO_FEW_COLUMNS, 3, 3, "does not have as many cells"),
        (HEADER + b"1,Graz,3,9\n", Code.TOO_FEW_COLUMNS, 2, 4, "does not have as many cells"),
        (HEADER + b'1,"Graz,3\n', Code.CSV, 2, None, "not CSV"),
        (b"mean glucose;site;age\n5,5;Graz;3\n", Code.CSV, 1, None, "separated by semicolons"),
        (b"mean glucose\tsite\tage\n5,5\tGraz\t3\n", Code.CSV, 1, None, "separated by tabs"),
        (b'mean glucose,"site\n', Code.CSV, 1, None, "not CSV"),
        (b"mean gluc\xf6se,site\n", Code.FILE_NOT_TEXT, 1, None, "not in UTF-8"),
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


def test_the_remedy_of_a_column_that_is_written_otherwise(read: Read) -> None:
    _, report = read(b"Mean Glucose,site,age\n")
    assert "letter by letter" in next(f for f in report.findings if f.code == Code.COLUMN_MISSING).remedy


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("1,000", "thousands: 1000. If the comma is a decimal one, write 1.000"),
        ("12,500", "thousands: 12500."),
        ("1,100.5", "thousands: 1100.5."),
        ("1,234,567", "thousands: 1234567."),
        ("<0.5", "limit of detection"),
        (">= 300", "limit of detection"),
    ],
)
def test_the_remedy_of_what_is_nearly_a_number(read: Read, cell: str, says: str) -> None:
    _, report = read(HEADER + f'"{cell}",Graz,3\n'.encode())
    assert says in error(report).remedy


@pytest.mark.parametrize(
    ("data", "why", "remedy"),
    [
        (b"sep=,\n" + HEADER, "sep= is no name of a column", "remove that line"),
        (HEADER.rstrip() + b",\n1,Graz,3,\n", "a column has no name", "comma at the end of every line"),
        (b"," + HEADER + b"0,1,Graz,3\n", "a column has no name", "Name it"),
    ],
)
def test_a_first_line_that_does_not_name_the_columns(read: Read, data: bytes, why: str, remedy: str) -> None:
    values, report = read(data)
    assert values is None and error(report).line == 1
    assert why in error(report).message and remedy in error(report).remedy


def test_the_remedy_of_a_decimal_comma(read: Read) -> None:
    _, report = read(HEADER + b'"5,5",Graz,3\n')
    assert "not with a comma: 5.5" in error(report).remedy


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CELLS = st.one_of(
    NUMBERS.map(repr),
    NUMBERS.map("{:.20e}".format),
    st.from_regex(r"[-+]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from([*MARKERS, " 7 ", " NA", "inf", "NAN", "-", "1e", "1 2", "_1", "0x1p3", "٣", "."]),
)


@settings(max_examples=150)
@given(st.lists(CELLS, min_size=1, max_size=8), st.booleans())
def test_the_fast_reader_reads_as_the_slow_one(tmp_path: Path, column: list[str], alone: bool) -> None:
    """Every number to its last bit, and every cell that is none is told by both alike."""
    path, schema = tmp_path / "both.csv", (Column("x"), Column("y", "text"))[: 1 if alone else 2]
    end = "\n" if alone else ",y\n"
    path.write_text("".join(f"{cell}{end}" for cell in ["x", *column]), encoding="utf-8")
    fast, slow = Report(), Report()
    table = open_table(path, schema, 1, fast)
    values = cells.read(path, [column.title for column in schema], schema, Faults(path, slow))
    if values is None or table is None:
        assert values is table is None and fast.of(Severity.ERROR) == slow.of(Severity.ERROR)
    else:
        assert table.values.tobytes() == values.tobytes()


def test_a_column_without_values_counts_nothing(read: Read) -> None:
    values, report = read(HEADER + b",Graz,3\nNA,Graz,4\n")
    assert values is not None and np.isnan(values[:, 1]).all()
    assert [found.code for found in report.findings] == [Code.COLUMN_EMPTY]


def test_a_cohort_of_few_rows_declines(read: Read) -> None:
    _, report = read(HEADER + b"1,Graz,3\n", fewest=2)
    assert error(report).code == Code.TOO_FEW_SAMPLES


@pytest.mark.parametrize(
    ("rows", "code", "line"),
    [
        ('5.5,"Graz,61\n1,Riga",2\n', Code.CSV, 2),  # the quote after Graz was moved
        ('5.5,"Graz,61\n1,a,3\n1,Riga",2\n', Code.CSV, 2),
        ('5.5,"Tartu, old"",61\n1,say ""x"", y",2\n', Code.CELL_OF_LINES, 2),
        ("1,a,2\n" * 999 + '5.5,"Gr\0az",61\n', Code.CSV, 1001),
        ("1,a,2\r5.5,b,61\n", Code.CSV, 2),
        ("1,a,2\n5.5,b,61", Code.LAST_LINE, None),
    ],
)
def test_what_may_hide_rows_is_told(read: Read, rows: str, code: Code, line: int | None) -> None:
    values, report = read(HEADER + rows.encode())
    assert (values is None) == (code == Code.CSV)
    [finding] = [each for each in report.findings if each.code == code]
    assert finding.line == line


def test_a_cell_may_have_several_lines(read: Read) -> None:
    values, report = read(HEADER + b'5.5,"fever, cough\nand, in short,\nnone",61\n')
    assert values is not None and not report.findings
