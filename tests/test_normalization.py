"""`unpooled rehearse --normalize`: from tables to parameters and normalized tables, as a person starts it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import RobustScaler

from unpooled.scaler import Scaler

from .conftest import Rehearse


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Iris in three cohorts of different size, one in Parquet: a species each, but for ten flowers."""
    folder, iris = tmp_path_factory.mktemp("iris"), load_iris()
    paths = [folder / f"{name}.csv" for name in iris.target_names]
    paths[0] = paths[0].with_suffix(".parquet")
    for path, rows in zip(paths, np.split(iris.data, [60, 100]), strict=True):
        if path.suffix == ".parquet":
            pq.write_table(pa.table(dict(zip(iris.feature_names, rows.T, strict=True))), path)
            continue
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([iris.feature_names, *rows.tolist()])
    return paths


def test_parameters_and_tables(rehearse_alone: Rehearse, tables: list[Path], tmp_path: Path) -> None:
    flags = [word for table in tables for word in ("--table", table)]
    done = rehearse_alone("--normalize", "robust", *flags, "--min-samples", 40, "--out", tmp_path / "iris")
    assert str(tmp_path / "iris.parameters.json") in done.stdout
    scaler = Scaler.from_file(tmp_path / "iris.parameters.json")
    iris = load_iris()
    wanted = RobustScaler().fit_transform(iris.data)
    assert np.array_equal(scaler.transform(iris.data), wanted)
    written = []
    for table in tables:
        target = table.with_name(f"{table.stem}.robust{table.suffix}")
        assert str(target) in done.stdout
        read = pd.read_csv if table.suffix == ".csv" else pd.read_parquet
        written.append(read(target).to_numpy())
    assert np.array_equal(np.concatenate(written), wanted)
