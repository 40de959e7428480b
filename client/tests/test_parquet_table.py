"""The reader of Parquet tables: which types are numbers, and how it says what is wrong, with the row."""

from __future__ import annotations

from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled.plan.schema import Column, read_schema
from unpooled_client.commands.schema import schema
from unpooled_client.data.findings.report import Code, Finding, Report, Severity
from unpooled_client.data.tables import cells_of, open_table, schema_of

SCHEMA = (Column("age", "integer", high=300), Column("site", "text"), Column("mean.glucose"))
EXACT = Context(prec=100)
SOUND = {"mean.glucose": [5.5, -1e-3, None, np.nan], "site": ["Graz", None, "x", "y"], "age": [61, 7, 8, 9]}


def read(path: Path, columns: dict[str, Any] | pa.Table, **how: Any) -> tuple[np.ndarray | None, Report]:
    table = pa.table(columns) if isinstance(columns, dict) else columns
    pq.write_table(table, path, **how)
    table, report = open_table(path, SCHEMA, 1, report := Report()), report
    return None if table is None else table.values, report


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.pq"  # the name does not matter


def test_columns_come_in_the_order_of_the_schema(path: Path) -> None:
    values, report = read(path, SOUND, row_group_size=3)
    assert values is not None and report.ok
    assert np.array_equal(values, [[61, 5.5], [7, -1e-3], [8, np.nan], [9, np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (pa.int8(), [1, -2]),
        (pa.uint64(), [1, 2**63 + 1]),
        (pa.int64(), [1, 2**53 + 1]),
        (pa.float32(), [1.5, -2.5]),
        (pa.float16(), np.array([1.5, 2], np.float16)),
        (pa.decimal128(6, 2), [Decimal("1.25"), Decimal("-3.50")]),
    ],
)
def test_all_kinds_of_numbers_are_numbers(path: Path, kind: Any, given: Any) -> None:
    columns = {"age": [1, 2], "site": [True, False], "mean.glucose": pa.array(given, kind)}
    values, _ = read(path, columns)
    assert values is not None and values[:, 1].tolist() == [float(value) for value in given]


@st.composite
def decimals(draw: st.DrawFn) -> pa.Array:
    """A column of decimals of any width, precision and scale that Parquet has, and what is missing."""
    make, digits = draw(
        st.sampled_from(
            [
                (pa.decimal32, 9),
                (pa.decimal64, 18),
                (pa.decimal128, 16),
                (pa.decimal128, 38),
                (pa.decimal256, 76),
            ]
        )
    )
    precision = draw(st.integers(1, digits))
    scale = draw(st.integers(0, precision))
    unscaled = st.integers(1 - 10**precision, 10**precision - 1)
    near = st.integers(-precision, precision).map(lambda k: int(np.sign(k)) * (10 ** abs(k) - 1))
    column = draw(st.lists(st.none() | near | unscaled, min_size=1, max_size=20))
    return pa.array(
        [None if number is None else Decimal(number).scaleb(-scale, EXACT) for number in column],
        make(precision, scale),
    )


@settings(max_examples=200)
@given(decimals())
def test_a_decimal_becomes_the_float64_next_to_it(tmp_path: Path, column: pa.Array) -> None:
    """The same number in CSV and in Parquet is the same, to the last bit."""
    schema, want = (
        (Column("x"),),
        [np.nan if cell is None else float(str(cell)) for cell in column.to_pylist()],
    )
    (csv := tmp_path / "x.csv").write_text("x\n" + "".join(f"{c}\n" for c in map(_cell, column.to_pylist())))
    pq.write_table(pa.table({"x": column}), parquet := tmp_path / "x.parquet")
    for path in (csv, parquet):
        table = open_table(path, schema, 1, Report())
        assert table is not None and table.values.tobytes() == np.array(want).tobytes(), path


def _cell(number: Decimal | None) -> str:
    return "NA" if number is None else str(number)


def test_decimals_in_many_row_groups(path: Path) -> None:
    """All of decimal(5, 1) and of decimal(7, 2), of which a cast of the library has one in six a bit off."""
    for precision, scale in ((5, 1), (7, 2)):
        unscaled = np.arange(1 - 10**precision, 10**precision, 7)
        written = [Decimal(number).scaleb(-scale) for number in unscaled.tolist()]
        table = pa.table({"x": pa.array(written, pa.decimal128(precision, scale))})
        pq.write_table(table, path, row_group_size=4096)
        values = open_table(path, (Column("x"),), 1, Report())
        assert values is not None and np.array_equal(values.values[:, 0], unscaled / 10**scale)


def error(report: Report) -> Finding:
    (found,) = report.of(Severity.ERROR)
    return found


@pytest.mark.parametrize(
    ("changes", "code", "column", "said"),
    [
        ({"mean.glucose": ["5", "6", "7", "8"]}, Code.COLUMN_TYPE, 1, "contains no numbers"),
        ({"mean.glucose": [1, np.inf, -np.inf, 2]}, Code.VALUE_INFINITE, 1, "row 2: inf, row 3: -inf"),
        ({"age": [1, 2.5, 3, 4]}, Code.VALUE_FRACTION, 3, "row 2: 2.5"),
        ({"age": [1, 2, 301, 300]}, Code.VALUE_OUTSIDE, 3, "row 3: 301.0"),
        ({"weight": [1, 2, 3, 4]}, Code.COLUMN_UNKNOWN, 4, "column 4: weight"),
    ],
)
def test_tables_that_are_not_as_planned(
    path: Path, changes: dict[str, Any], code: Code, column: int, said: str
) -> None:
    values, report = read(path, SOUND | changes)
    found = error(report)
    assert values is None and (found.code, found.column) == (code, column)
    assert said in f"{found.message}, {', '.join(found.examples)}" and found.remedy and found.expected


def test_columns_missing_and_twice(path: Path) -> None:
    _, report = read(path, {name: SOUND[name] for name in ("site", "age")})
    assert error(report).code == Code.COLUMN_MISSING
    twice = pa.Table.from_arrays([pa.array([1])] * 4, ["mean.glucose", "site", "age", "age"])
    _, report = read(path, twice)
    assert error(report).code == Code.COLUMN_AMBIGUOUS


def test_a_column_without_values_counts_nothing(path: Path) -> None:
    values, report = read(path, SOUND | {"mean.glucose": pa.nulls(4, pa.float64())})
    assert values is not None and np.isnan(values[:, 1]).all()
    assert [found.code for found in report.findings] == [Code.COLUMN_EMPTY]


def test_a_column_of_nothing_but_null_counts_nothing(path: Path) -> None:
    """It has no type then, as a data frame writes it; in CSV it would be an empty column."""
    values, report = read(path, SOUND | {"mean.glucose": pa.nulls(4), "site": pa.nulls(4)})
    assert values is not None and values[:, 0].tolist() == SOUND["age"] and np.isnan(values[:, 1]).all()
    assert [found.code for found in report.findings] == [Code.COLUMN_EMPTY]
    assert schema_of(path, Report()) == (Column("mean.glucose"), Column("site"), Column("age"))
    assert cells_of(path, Report()) == [
        ("mean.glucose", {}, 4),
        ("site", {}, 4),
        ("age", {b"61": 1, b"7": 1, b"8": 1, b"9": 1}, 0),
    ]


@pytest.mark.parametrize("index", ["__index_level_0__", "visit"])
def test_the_index_of_a_data_frame_is_left_out(path: Path, index: str) -> None:
    """Unless the plan names it."""
    frame = pd.DataFrame(SOUND, index=pd.Index([3, 4, 9, 7], name=index if index == "visit" else None))
    table = pa.Table.from_pandas(frame)
    assert table.column_names[-1] == index
    values, report = read(path, table)
    (note,) = report.findings
    assert values is not None and values[:, 0].tolist() == SOUND["age"]
    assert (note.code, note.severity, note.read) == (Code.COLUMN_INDEX, Severity.NOTE, index) and note.remedy
    assert schema_of(path, Report()) == (Column("mean.glucose"), Column("site", "text"), Column("age"))
    named = open_table(path, (*SCHEMA, Column(index)), 1, report := Report())
    assert named is not None and named.values[:, 2].tolist() == [3, 4, 9, 7] and not report.findings


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[]", b'{"index_columns": [{"kind": "range"}, 7]}', b'{"index_columns": 7}', b"\xff"]
)
def test_metadata_that_name_no_index(path: Path, said: bytes) -> None:
    table = pa.table(SOUND | {"weight": [1, 2, 3, 4]}).replace_schema_metadata({b"pandas": said})
    _, report = read(path, table)
    assert error(report).code == Code.COLUMN_UNKNOWN


def test_a_damaged_file(path: Path) -> None:
    read(path, SOUND)
    path.write_bytes(path.read_bytes()[:-20])
    assert open_table(path, SCHEMA, 1, report := Report()) is None
    assert error(report).code == Code.PARQUET and error(report).remedy


def test_the_schema_of_a_table_from_its_types(path: Path) -> None:
    read(path, SOUND)
    assert schema_of(path, Report()) == (Column("mean.glucose"), Column("site", "text"), Column("age"))


def test_the_command_that_prints_a_schema(path: Path) -> None:
    """It can be read back; of CSV by what the cells hold."""
    path.write_text('"age, years",id,empty,on\n61,007,,2024-01-01\nNA,A8,,\n')
    done = CliRunner().invoke(schema, [str(path)])
    assert read_schema(done.stdout, "x") == (
        Column("age, years"),
        Column("id", "text", role="patient"),
        Column("empty"),
        Column("on", "text"),
    )
    path.write_text("a,b\n1\n")
    assert "not CSV" in str(CliRunner().invoke(schema, [str(path)]).exception)
