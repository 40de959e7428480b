"""A cohort's own rows, predicted through each library of data frames, beside what its client computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest

from unpooled.fitted.encoder import Encoder
from unpooled.fitted.model import Model, Named
from unpooled.fitted.scaler import Scaler
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Report
from unpooled_client.data.tables import open_table

ROWS = 200
WORDS = {
    "smokes": ["true", "false"],
    "stage": ["1", "2", "3"],
    "seen": ["2024-03-01", "2024-03-02"],
    "drug": ["a", "b"],
}
NUMBERS = ("age", "glucose")
SCHEMA = (
    *(Column(title, "category", "", "one-hot", tuple(of)) for title, of in WORDS.items()),
    *map(Column, NUMBERS),
)
ENCODING = {
    "format": "unpooled/encoding",
    "version": 1,
    "missing_words": "missing",
    "ignore_case": False,
    "columns": [{"name": title, "encoding": "one-hot", "values": of} for title, of in WORDS.items()],
}
NAMES = [*NUMBERS, *Encoder(ENCODING).get_feature_names_out()]
MODEL: dict[str, Any] = {
    "format": "unpooled/model",
    "version": 1,
    "link": "number",
    "outcome": {"name": "y"},
    "intercept": [4.0],
    "features": [{"name": name, "coefficients": [0.1 + k], "mean": k / 7} for k, name in enumerate(NAMES)],
    "encoding": ENCODING,
}
SCALER: dict[str, Any] = {
    "format": "unpooled/normalization",
    "version": 1,
    "method": "z-score",
    "features": [{"name": name, "unit": "", "n": 9, "mean": 5.5, "deviation": 2.5} for name in NUMBERS],
}


def table() -> pd.DataFrame:
    """Columns of every type, with missing cells."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "smokes": pd.array(random.random(ROWS) < 0.5, "boolean"),
            "stage": pd.array(random.integers(1, 4, ROWS), "Int64"),
            "seen": pd.to_datetime(random.choice(WORDS["seen"], ROWS)),
            "drug": random.choice(["a", "b", "elsewhere"], ROWS),
            "age": pd.array(random.integers(20, 90, ROWS), "Int64"),
            "glucose": random.normal(5, 2, ROWS),
        }
    )
    for k, title in enumerate(frame):
        frame.loc[random.random(ROWS) < 0.02 * k, title] = None
    return frame


def pandas_of(path: Path, **how: Any) -> pd.DataFrame:
    return pd.read_csv(path, **how) if path.suffix == ".csv" else pd.read_parquet(path, **how)


READERS = {
    "NumPy-backed": pandas_of,
    "nullable": lambda path: pandas_of(path, dtype_backend="numpy_nullable"),
    "Arrow-backed": lambda path: pandas_of(path, dtype_backend="pyarrow"),
    "polars": lambda path: polars.read_csv(path) if path.suffix == ".csv" else polars.read_parquet(path),
    "polars with dates": lambda path: (
        polars.read_csv(path, try_parse_dates=True) if path.suffix == ".csv" else polars.read_parquet(path)
    ),
}


@pytest.fixture(params=["csv", "parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"own.{request.param}"
    if path.suffix == ".csv":
        table().to_csv(path, index=False, na_rep="NA")
    else:
        table().to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("library", READERS)
def test_own_rows_are_predicted_as_the_client_computes_them(path: Path, library: str) -> None:
    read = open_table(path, SCHEMA, 1, report := Report())
    assert read is not None, report.findings
    encoder = Encoder(ENCODING)
    coded = encoder.coded([read.words[title] for title in WORDS])
    own = np.column_stack([read.values, *(column.dense() for column in coded)])
    model, frame = Model(MODEL), READERS[library](path)
    np.testing.assert_allclose(
        model.predict(model.table(frame)), model.predict(Named.of([*own.T], NAMES)), rtol=1e-12
    )
    np.testing.assert_array_equal(encoder.dense(frame[[*WORDS]]), own[:, len(NUMBERS) :])
    scaled = Scaler(SCALER).transform(frame[[*NUMBERS]])
    np.testing.assert_allclose(scaled, (read.values - 5.5) / 2.5, rtol=1e-12)


def test_frames_of_polars_come_out_with_names(path: Path) -> None:
    frame = READERS["polars"](path)
    scaled = Scaler(SCALER).set_output(transform="polars").transform(frame[[*NUMBERS]])
    assert isinstance(scaled, polars.DataFrame) and scaled.columns == [*NUMBERS]
    words = Encoder(ENCODING).set_output(transform="polars").transform(frame[[*WORDS]])
    assert words.columns == NAMES[len(NUMBERS) :]
    assert np.array_equal(
        Model(MODEL).predict(scaled.hstack(words)), Model(MODEL).predict(scaled.hstack(words)[NAMES[::-1]])
    )
