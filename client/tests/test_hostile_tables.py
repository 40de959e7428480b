"""Whatever bytes a table has, CSV or Parquet: it is read, or the report says why not."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import example, given
from hypothesis import strategies as st

from unpooled.errors import DataProblem
from unpooled.fitted.scaler import Scaler
from unpooled.plan.schema import Column
from unpooled_client.data.draft import draft
from unpooled_client.data.findings.report import Report
from unpooled_client.data.show import plain_lines
from unpooled_client.data.tables import cells_of, read_features, schema_of, write_normalized

SCHEMA = (Column("age", "integer"), Column("site", "text"), Column("glucose"))
SCALER = Scaler(
    {
        "format": "unpooled/normalization",
        "version": 1,
        "method": "z-score",
        "features": [{"name": name, "n": 9, "mean": 5.0, "deviation": 2.0} for name in ("age", "glucose")],
    }
)
HEADER = b"age,site,glucose\n"
PARTS = [
    b"61",
    b"5.5",
    b"NA",
    b"1e999",
    b"-0",
    b"0x1",
    b"1,5",
    b"nan",
    b"Graz",
    b"age",
    b"glucose",
    b"\xc3\xa9",
]
PARTS += [b",", b",", b"\n", b"\n", b"\r", b'"', b'""', b" ", b"\t", b";", b"\0", b"\xff", b"\xef\xbb\xbf"]

rows = st.lists(
    st.tuples(*[st.sampled_from(PARTS[:9])] * 3).map(lambda row: b",".join(row) + b"\n"), max_size=4
)
csv = st.tuples(
    st.sampled_from([b"", HEADER, b'"age","site","glucose"\r\n']),
    rows.map(b"".join),
    st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join),
    rows.map(b"".join),
).map(b"".join)


def parquet(**how: str) -> bytes:
    table = {"age": [61, 7, None], "site": ["Graz", None, "x"], "glucose": [5.5, np.nan, -1.0]}
    pq.write_table(pa.table(table), out := io.BytesIO(), **how)
    return out.getvalue()


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes of which some are others; now and then the rest is gone."""
    made = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        made[draw(st.integers(4, len(made) - 1))] = draw(st.integers(0, 255))
    return bytes(made[: draw(st.sampled_from([len(made), len(made), draw(st.integers(0, len(made)))]))])


def look(content: bytes) -> None:
    """Read a table in every way there is."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        path.write_bytes(content)
        ways: list[Callable[[Report], object]] = [
            lambda report: schema_of(path, report),
            lambda report: draft([path], report),
            lambda report: cells_of(path, report),
        ]
        for way in ways:
            report = Report()
            assert (way(report) is not None) == report.ok
            _is_fit_to_be_shown(report)
        values = read_features(path, SCHEMA, report := Report())
        assert (values is not None) == report.ok
        _is_fit_to_be_shown(report)
        if values is not None:
            assert values.dtype == np.float64 and values.shape[1] == 2
            written = path.with_name("written")
            try:
                write_normalized(path, written, SCHEMA, values, SCALER)
            except DataProblem as problem:  # in a column of text
                assert problem.remedy and not written.exists()
            else:
                again = read_features(written, (Column("age"), *SCHEMA[1:]), Report())
                assert again is not None and again.shape == values.shape


def _is_fit_to_be_shown(report: Report) -> None:
    assert all(line.isprintable() for line in plain_lines(report))
    json.dumps(report.to_json())


@given(csv | st.binary(max_size=60))
def test_any_csv(content: bytes) -> None:
    look(content)


@given(st.sampled_from([parquet(), parquet(compression="none", version="1.0")]).flatmap(damaged))
@example(parquet().replace(b"\x16\x06\x19\x1c", b"\x16\x01\x19\x1c"))  # -1 row, says the file
@example(parquet().replace(b"\x16\x06\x19\x1c", b"\x16\x00\x19\x1c"))
@example(b"PAR1PAR1")
@example(b"PAR1" + bytes(4) + b"PAR1")
@example(b"PAR1" + b"\xff" * 8 + b"PAR1")
def test_any_parquet(content: bytes) -> None:
    look(content)
