"""The reader of Parquet tables: which types are numbers, and how it says what is wrong, with the row."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from unpooled.schema import Column, read_schema
from unpooled_client.data.report import Code, Finding, Report, Severity
from unpooled_client.data.schema_command import schema
from unpooled_client.data.tables import open_table, schema_of

SCHEMA = (Column("age", "integer"), Column("site", "text"), Column("mean.glucose"))
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


def error(report: Report) -> Finding:
    (found,) = report.of(Severity.ERROR)
    return found


@pytest.mark.parametrize(
    ("changes", "code", "column", "said"),
    [
        ({"mean.glucose": ["5", "6", "7", "8"]}, Code.COLUMN_TYPE, 1, "holds no numbers"),
        ({"mean.glucose": [True] * 4}, Code.COLUMN_TYPE, 1, "holds no numbers"),
        ({"mean.glucose": [1, np.inf, -np.inf, 2]}, Code.VALUE_INFINITE, 1, "row 2: inf, row 3: -inf"),
        ({"age": [1, 2.5, 3, 4]}, Code.VALUE_FRACTION, 3, "row 2: 2.5"),
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
        Column("id", "text"),
        Column("empty"),
        Column("on", "text"),
    )
    path.write_text("a,b\n1\n")
    assert "no CSV" in str(CliRunner().invoke(schema, [str(path)]).exception)
