"""`unpooled rehearse --encode`: from words to dictionaries and tables; tests/fuzz asks scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unpooled.fitted.encoder import Encoder
from unpooled_client.commands.check import check

from ..conftest import Rehearse

SCHEMA = """name,type,encoding,values
patient,text
diagnosis,category,one-hot,levels=codes.txt
ward,category,target:days,surgery|medicine|intensive care
note,category,ngrams:8
days,number
"""
WARDS = ("surgery", "medicine", "intensive care", "roof")


def cohort(random: np.random.Generator, rows: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "patient": [f"p, {k}" for k in range(rows)],
            "diagnosis": random.choice(
                ["I10", "E11 ", "C50", "Z99", ""], rows, p=[0.4, 0.3, 0.1, 0.15, 0.05]
            ),
            "ward": random.choice(WARDS, rows, p=[0.3, 0.3, 0.3, 0.1]),
            "note": random.choice(["fever", "Fever!", "cough"], rows),
            "days": np.where(random.random(rows) < 0.05, np.nan, random.lognormal(size=rows)),
        }
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three cohorts, one in Parquet, and the schema with its list beside them."""
    folder, random = tmp_path_factory.mktemp("words"), np.random.default_rng(4)
    folder.joinpath("schema.csv").write_text(SCHEMA)
    folder.joinpath("codes.txt").write_text("I10\thypertension\nE11\n\nC50\nA00\n")
    paths = [folder / "a.csv", folder / "b.parquet", folder / "c.csv"]
    for path, rows in zip(paths, (300, 150, 90), strict=True):
        table = cohort(random, rows)
        if path.suffix == ".csv":
            table.to_csv(path, index=False)
        else:
            table.replace({"diagnosis": {"": None}}).to_parquet(path)
    return paths


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def test_dictionaries_and_tables(rehearse: Rehearse, tables: list[Path], tmp_path: Path) -> None:
    flags = [word for table in tables for word in ("--table", table)]
    schema = tables[0].with_name("schema.csv")
    done = rehearse("--encode", "--schema", schema, *flags, "--out", tmp_path / "wards")
    found = json.loads((tmp_path / "wards.encoding.json").read_text())
    by_name = {column["name"]: column for column in found["columns"]}
    assert by_name["diagnosis"]["values"] == ["I10", "E11", "C50"]
    assert by_name["diagnosis"]["folded"] == ["A00"]

    encoder = Encoder.from_file(tmp_path / "wards.encoding.json")
    pooled = pd.concat([read(table) for table in tables], ignore_index=True)
    names = [str(name) for name in encoder.get_feature_names_out()]
    written = []
    for table in tables:
        target = table.with_name(f"{table.stem}.encode{table.suffix}")
        assert str(target) in done.stdout
        one = read(target)
        assert list(one.columns) == ["patient", *names, "days"]
        assert one["patient"].tolist() == read(table)["patient"].tolist()
        written.append(one[names].to_numpy(float))
    made = np.concatenate(written)
    wanted = encoder.transform(pooled[["diagnosis", "ward", "note"]])
    np.testing.assert_allclose(made, wanted, rtol=1e-15, atol=0)


def test_a_cohort_with_other_codes_is_told_so_at_its_check(tables: list[Path], tmp_path: Path) -> None:
    other, table = tmp_path / "other.csv", read(tables[0])
    table["diagnosis"] = "icd:" + table["diagnosis"].fillna("")
    table.to_csv(other, index=False)
    words = ["--table", str(other), "--schema", str(tables[0].with_name("schema.csv"))]
    done = CliRunner().invoke(check, words, catch_exceptions=False)
    assert done.exit_code == 1
    assert "no value of diagnosis is one that the plan lists" in done.stdout


@pytest.mark.parametrize("spelled", ["everyone", "own"])
def test_no_two_columns_have_one_name(rehearse: Rehearse, tmp_path: Path, spelled: str) -> None:
    """`a` with the word b=c and `a=b` with the word c; and `a=x`, which stays beside the word x of `a`."""
    random, flags, cohorts = np.random.default_rng(1), [], []
    tmp_path.joinpath("schema.csv").write_text(
        "name,type,encoding,values\na,category,one-hot,64\na=b,category,one-hot,64\na=x,integer\n"
    )
    for name, rows in zip("abc", (60, 70, 80), strict=True):
        words = {"a": random.choice(["b=c", "x"], rows), "a=b": random.choice(["c", "y"], rows)}
        cohorts.append(pd.DataFrame({**words, "a=x": np.arange(rows)}))
        cohorts[-1].to_csv(tmp_path / f"{name}.csv", index=False)
        flags += ["--table", tmp_path / f"{name}.csv"]
    words = ("--encode", "--schema", tmp_path / "schema.csv", "--spelled", spelled)
    rehearse(*words, *flags, "--out", tmp_path / "ours")
    encoder = Encoder.from_file(tmp_path / "ours.encoding.json")
    names = encoder.get_feature_names_out().tolist()
    assert len({*names, "a=x"}) == 7
    for name, cohort in zip("abc", cohorts, strict=True):
        heads = (tmp_path / f"{name}.encode.csv").read_text().split("\n", 1)[0].split(",")
        assert heads == [*names, "a=x"]
        if spelled == "everyone":
            written = pd.read_csv(tmp_path / f"{name}.encode.csv")
            for title, column, word in (
                ("a=b=c", "a", "b=c"),
                ("a=b=c (of a=b)", "a=b", "c"),
                ("a=x (of a)", "a", "x"),
            ):
                assert (written[title] == (cohort[column] == word)).all()
            assert (
                encoder.set_output(transform="pandas")
                .transform(cohort[["a", "a=b"]])
                .equals(written[names].astype(float))
            )
