"""`unpooled-client schema`: what is drafted is what the tables hold, and can be used as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unpooled.plan.schema import Column, read_schema
from unpooled_client.commands.check import check
from unpooled_client.commands.schema import schema
from unpooled_client.data.findings.report import Report
from unpooled_client.data.tables import open_table

ROWS = 60


def ward(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": [f"{seed}-{k}" for k in range(ROWS)],
            "admitted": pd.date_range("2020-01-01", periods=ROWS).strftime("%Y-%m-%d"),
            "age": random.integers(20, 90, ROWS),
            "smoking": random.choice(["never", "former", "current"], ROWS),
            "diabetic": random.random(ROWS) < 0.5,
            "died": random.choice([0, 1], ROWS),
            "days": random.normal(9, 2, ROWS),
        }
    )


DRAFTED = [
    Column("patient", "text", role="patient"),
    Column("admitted", "text"),
    Column("age"),
    Column("smoking", "category", encoding="one-hot", levels=("current", "former", "never")),
    Column("diabetic"),
    Column("died", "category", levels=("0", "1"), role="outcome"),
    Column("days"),
]


def test_words_and_booleans_are_features_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    ward(1).to_csv(tmp_path / "a.csv", index=False)
    ward(2).to_parquet(tmp_path / "b.parquet")
    tables = tmp_path / "a.csv", tmp_path / "b.parquet"
    done = CliRunner().invoke(schema, list(map(str, tables)))
    assert list(read_schema(done.stdout, "schema")) == DRAFTED
    assert done.stderr.splitlines() == [
        "died: proposed as the outcome",
        "no features: patient (says whose row it is), admitted (text)",
    ]
    (drafted := tmp_path / "schema.csv").write_text(done.stdout)
    for table in tables:
        checked = CliRunner().invoke(check, ["--table", str(table), "--schema", str(drafted)])
        assert checked.exit_code == 0, checked.output
        assert "left out: patient (says whose row it is), admitted (text)" in checked.output


@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_booleans_are_0_and_1(written: str, tmp_path: Path) -> None:
    table, path = ward(1).astype({"diabetic": "boolean"}), tmp_path / f"a.{written}"
    table.loc[3, "diabetic"] = None
    table.to_csv(path, index=False) if written == "csv" else table.to_parquet(path)
    found = open_table(path, DRAFTED, 1, Report())
    assert found is not None
    np.testing.assert_array_equal(
        found.values[:, 1], table["diabetic"].astype("Float64").to_numpy(float, na_value=np.nan)
    )


def test_where_tables_disagree_is_said(tmp_path: Path) -> None:
    one, two = ward(1), ward(2).rename(columns={"days": "stay"})
    one["smoking"] = one["smoking"].replace("former", "ex")
    two["age"] = "old"
    two["remarks"] = [f"note {k} and more" for k in range(ROWS)]
    one.to_csv(tmp_path / "one.csv", index=False)
    two.to_csv(tmp_path / "two.csv", index=False)
    done = CliRunner().invoke(schema, [str(tmp_path / "one.csv"), str(tmp_path / "two.csv")])
    assert done.stderr.splitlines()[:6] == [
        "age: number in one.csv; text in two.csv; taken for text",
        "smoking: ex only in one.csv",
        "smoking: former only in two.csv",
        "days: not in two.csv",
        "stay: not in one.csv",
        "remarks: not in one.csv",
    ]
