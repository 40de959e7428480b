"""`unpooled rehearse --fit`: from tables to a model, and to this cohort against the pool, with clients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from unpooled.model import Model

Rehearse = Callable[..., subprocess.CompletedProcess[str]]

SCHEMA = """name,type,unit,role,encoding,values
patient,text,,patient
age,integer,years
bmi,number,kg/m²
clinic,category,,,one-hot,north|south
risk,number
remark,text,,ignored
"""


def cohort(random: np.random.Generator, rows: int) -> pd.DataFrame:
    age, bmi = random.integers(20, 80, rows), random.normal(27, 4, rows)
    clinic = random.choice(["north", "south "], rows)
    risk = 0.1 * age + 0.3 * bmi + 2 * (clinic == "north") + random.normal(size=rows)
    risk[::50] = np.nan
    return pd.DataFrame(
        {
            "patient": [f"p {k // 2}" for k in range(rows)],
            "age": age,
            "bmi": np.where(random.random(rows) < 0.05, np.nan, bmi),
            "clinic": clinic,
            "risk": risk,
            "remark": "a, b",
        }
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four cohorts, one in Parquet, and the schema beside them."""
    folder, random = tmp_path_factory.mktemp("fit"), np.random.default_rng(4)
    folder.joinpath("schema.csv").write_text(SCHEMA, encoding="utf-8")
    paths = [folder / "a.csv", folder / "b.parquet", folder / "c.csv", folder / "d.csv"]
    for path, rows in zip(paths, (300, 250, 120, 90), strict=True):
        table = cohort(random, rows)
        _ = table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path)
    return paths


def client(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "unpooled_client", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def test_a_model_is_that_of_the_pool(rehearse_alone: Rehearse, tables: list[Path], tmp_path: Path) -> None:
    flags = [word for table in tables for word in ("--table", table)]
    schema, home = tables[0].with_name("schema.csv"), tmp_path / "home"
    files = "model,coefficients,card,sums"
    out = tmp_path / "risk"
    rehearse_alone(
        *("--fit", "ridge", "--outcome", "risk", "--schema", schema, *flags),
        *("--files", files, "--keep-home", home, "--out", out),
    )
    found = Model.from_file(tmp_path / "risk.model.json")
    assert list(found.feature_names_in_[:3]) == ["age", "bmi", "clinic=north"]

    pooled = pd.concat([read(table) for table in tables], ignore_index=True).dropna(subset="risk")
    x = found.table(pooled)
    x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    scaler = StandardScaler().fit(x)
    wanted = Ridge(found.parameters["penalty"] * len(x), solver="svd").fit(
        scaler.transform(x), pooled["risk"]
    )
    predicted = found.predict(found.table(pooled))  # a missing feature counts as the mean
    np.testing.assert_allclose(predicted, wanted.predict(scaler.transform(x)), rtol=1e-9)
    assert (tmp_path / "risk.card.md").read_text(encoding="utf-8").startswith("# Model of risk")

    beside = list(home.glob("cohorts/*/*/results/risk.own-against-pool.tsv"))
    assert len(beside) == 4
    for path in beside:
        lines = pd.read_csv(path, sep="\t").set_index(["COLUMN", "WHAT"])
        without = lines.loc[("(model)", "mean squared error here of the model without this cohort"), "POOL"]
        assert 0.5 < without < 2  # the noise of the outcome has variance 1


def test_rows_of_a_later_study_are_added(
    rehearse_over_http: Rehearse, tables: list[Path], tmp_path: Path
) -> None:
    random, schema = np.random.default_rng(8), tables[0].with_name("schema.csv")
    later = [tmp_path / f"{name}.csv" for name in "aefg"]
    for path in later:
        cohort(random, 150).to_csv(path, index=False)
    for name, of in {"first": tables, "later": later}.items():
        flags = [word for table in of for word in ("--table", table)]
        rehearse_over_http(
            *(
                "--fit",
                "ridge",
                "--outcome",
                "risk",
                "--schema",
                schema,
                "--missing-cells",
                "complete",
                *flags,
            ),
            *("--penalties", "0.1", "--files", "model,sums", "--out", tmp_path / name),
        )
    manifests = [tmp_path / "first.manifest.json", tmp_path / "later.manifest.json"]
    said = client("refit", *manifests, "--out", tmp_path / "both")
    assert said.returncode == 0 and "In several of these studies: cohort1, cohort2" in said.stderr

    pooled = pd.concat([read(table) for table in (*tables, *later)], ignore_index=True).dropna()
    found = Model.from_file(tmp_path / "both.model.json")
    x = found.table(pooled)
    z = StandardScaler().fit_transform(x)
    wanted = Ridge(0.1 * len(x), solver="svd").fit(z, pooled["risk"]).predict(z)
    np.testing.assert_allclose(found.predict(x), wanted, rtol=1e-9)
    lines = (tmp_path / "both.coefficients.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 + len(found.feature_names_in_)

    sums = tmp_path / "later.sums.json"
    sums.write_bytes(sums.read_bytes() + b" ")
    refused = client("refit", *manifests, "--out", tmp_path / "none")
    assert refused.returncode == 1 and "its SHA-256 is another" in refused.stderr
    assert f"{sums}: " in refused.stderr and not (tmp_path / "none.model.json").exists()
