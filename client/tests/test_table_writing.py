"""The normalized table: other numbers, and everything else as it was."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unpooled.fitted.scaler import Scaler
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled_client.data.tables import csv_table, csv_write
from unpooled_client.study.own_table import beside, normalize_to

FEATURES = [{"name": "age", "unit": "", "n": 9, "mean": 0.1, "deviation": 3.0},
            {"name": "bmi", "unit": "", "n": 9, "mean": -7.0, "deviation": 3.0}]  # fmt: skip
SCALER = Scaler({"format": "unpooled/normalization", "version": 1, "method": "z-score", "features": FEATURES})
SCHEMA = (Column("age"), Column("note", "text"), Column("bmi"), Column("site", "text"))
PLAN = Plan("z-score", "", 3, NO_KEY, trait="none", panel_mode="none", files=("parameters",), schema=SCHEMA)


def z(age: float, bmi: float) -> tuple[str, str]:
    """Return the cells as Python writes them, which csv.reader and float give back."""
    return repr((age - 0.1) / 3.0), repr((bmi + 7.0) / 3.0)


def write_beside(table: Path, plan: Plan, scaler: Scaler) -> Path:
    normalize_to(target := beside(table, plan), table, plan, scaler)
    return target


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "cohort.csv"
    path.write_bytes(text.encode())
    target = write_beside(path, PLAN, SCALER)
    assert target == tmp_path / "cohort.z-score.csv" and path.read_bytes() == text.encode()
    assert sorted(tmp_path.iterdir()) == [path, target]
    return target.read_bytes().decode()


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines(keepends=True), strict=True))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_cells_that_stay_are_the_same_bytes(tmp_path: Path, end: str, mark: str) -> None:
    """The table is as R writes it: text in quotes, whether it needs them or not; every missing value as it
    was.
    """
    rows = [
        '"site","age","bmi","note"',
        '"1",61,NA,"a ""b"""',
        "007,NaN,5.5, x ",
        ",,null,é",
        '"NA","",1e3,NA',
    ]
    found = written(tmp_path, mark + end.join(rows) + end)
    age, bmi = z(61, 5.5)
    wanted = [
        rows[0],
        f'"1",{age},NA,"a ""b"""',
        f"007,NaN,{bmi}, x ",
        ",,null,é",
        f'"NA","",{z(0, 1e3)[1]},NA',
    ]
    assert found == mark + end.join(wanted) + end


def test_commas_and_lines_in_quotes(tmp_path: Path) -> None:
    text = 'note,age,bmi,site\n"a, b",1,2,plain\n"two\nlines",,4,"say ""x"""\n\n"quoted",5,6,\n'
    found = written(tmp_path, text)
    rows = cells(text)
    rows = [row for row in rows if row]
    assert [[row[0], row[3]] for row in cells(found)] == [[row[0], row[3]] for row in rows]
    assert cells(found)[2][1] == "" and cells(found)[3][1:3] == list(z(5, 6))


def test_a_table_of_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number reads back as the same float64; pandas and Python's csv agree on the file."""
    monkeypatch.setattr(csv_write, "CELLS", 64)
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"age": random.normal(size=999) * 10.0 ** random.integers(-300, 300, 999)})
    frame["note"] = [f"row {k}" for k in range(999)]
    frame["bmi"] = np.where(random.random(999) < 0.2, np.nan, random.normal(size=999))
    frame["site"] = "Graz, west"
    found = written(tmp_path, frame.to_csv(index=False, na_rep="NA"))
    again = pd.read_csv(tmp_path / "cohort.z-score.csv")
    assert list(again) == list(frame) and again[["note", "site"]].equals(frame[["note", "site"]])
    wanted = SCALER.transform(frame[["age", "bmi"]])
    assert np.array_equal(again[["age", "bmi"]].to_numpy(), wanted, equal_nan=True)
    assert sum(row[2] == "NA" for row in cells(found)) == frame["bmi"].isna().sum()


def of_ages(tmp_path: Path, text: str) -> str:
    """Write a table with one column of ages, normalize it, and return the text of the result."""
    plan = replace(PLAN, schema=SCHEMA[:1])
    (path := tmp_path / "age.csv").write_bytes(text.encode())
    scaler = Scaler(dict(SCALER.parameters) | {"features": FEATURES[:1]})
    return write_beside(path, plan, scaler).read_bytes().decode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_of_a_single_column_stay(tmp_path: Path, end: str) -> None:
    age = [z(number, 0)[0] for number in (1, 2, 3)]
    found = of_ages(tmp_path, end.join(["age", "1", "", "2", "NA", '"3"', "", ""]))
    assert found == end.join(["age", age[0], "", age[1], "NA", age[2], "", ""])


def test_a_line_longer_than_a_block(tmp_path: Path) -> None:
    """The slow reader has read it, and so it is to be written."""
    long = "x" * (5 * csv_table.BLOCK // 2)
    found = cells(written(tmp_path, f'age,note,bmi,site\n61,"{long},",,a\n7,y,5.5,b\n'))
    assert found[1:] == [[z(61, 0)[0], f"{long},", "", "a"], [z(7, 0)[0], "y", z(0, 5.5)[1], "b"]]


def test_a_table_of_numbers_only(tmp_path: Path) -> None:
    plan = Plan("z-score", "", 3, NO_KEY, trait="none", panel_mode="none", files=("parameters",),
                schema=(Column("age"), Column("bmi")))  # fmt: skip
    (path := tmp_path / "x.txt").write_text("bmi,age\n5.5,61")
    assert write_beside(path, plan, SCALER) == tmp_path / "x.z-score.txt"
    assert cells((tmp_path / "x.z-score.txt").read_text()) == [["bmi", "age"], list(z(61, 5.5))[::-1]]


def test_nothing_is_left_of_a_file_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cohort.csv"
    path.write_text("age,note,bmi,site\n1,a,2,b\n")
    with pytest.raises(ValueError, match="expecting 1 features"):
        write_beside(path, PLAN, Scaler(dict(SCALER.parameters) | {"features": FEATURES[:1]}))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
def test_parquet(tmp_path: Path, codec: str) -> None:
    """Types, nulls, metadata and row groups of what stays are the same; features become float64."""
    columns: dict[str, Any] = {
        "site": pa.array(["Graz", "Graz", None, "x"]).dictionary_encode(),
        "age": pa.array([61, 7, None, 9], pa.int16()),
        "bmi": pa.array([5.5, None, np.nan, 2.0]),
        "note": pa.array([1, 2, None, 4], pa.timestamp("ns", "UTC")),
    }
    table = pa.table(columns).replace_schema_metadata({"made by": "a test"})
    pq.write_table(table, path := tmp_path / "cohort.parquet", compression=codec, row_group_size=3)
    target = write_beside(path, PLAN, SCALER)
    found = pq.ParquetFile(target)
    assert target.name == "cohort.z-score.parquet" and found.num_row_groups == 2
    assert found.metadata.row_group(0).column(0).compression == {"none": "UNCOMPRESSED"}.get(
        codec, codec.upper()
    )
    again = found.read()
    assert again.schema.metadata[b"made by"] == b"a test" and again.column_names == table.column_names
    for name in ("site", "note"):
        assert again[name].to_pylist() == table[name].to_pylist() and again[name].type == table[name].type
    assert again["age"].to_pylist() == [(61 - 0.1) / 3, (7 - 0.1) / 3, None, (9 - 0.1) / 3]
    bmi = again["bmi"].to_pylist()
    assert bmi[1] is None and np.isnan(bmi[2]) and bmi[0] == (5.5 + 7) / 3


def test_a_data_frame_in_parquet_keeps_its_index(tmp_path: Path) -> None:
    """A column of nothing but null stays null, too, whatever it would hold."""
    frame = pd.DataFrame({"note": ["a", "b"], "age": [61, 7], "bmi": [None, None], "site": "x"}, index=[4, 2])
    frame.to_parquet(path := tmp_path / "cohort.parquet")
    found = pd.read_parquet(write_beside(path, PLAN, SCALER))
    assert found.index.tolist() == [4, 2] and list(found) == list(frame) and found["bmi"].isna().all()
    assert found["age"].tolist() == [(61 - 0.1) / 3, (7 - 0.1) / 3]
