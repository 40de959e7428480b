"""`unpooled.federate`: studies of data frames and of files in this process, beside the pool."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import unpooled
from unpooled.errors import UnpooledError
from unpooled.methods import completed
from unpooled.plan.plan import NO_KEY, PlanError
from unpooled.simulate import simulate
from unpooled_client.study.reading import DataRefused

POOL = load_diabetes(as_frame=True).frame.rename(columns={"target": "los"})
POOL["ward"] = np.where(np.arange(len(POOL)) % 2, "medical", "surgical")
PARTS = [POOL.iloc[rows] for rows in (slice(120), slice(120, 300), slice(300, None))]
EXAMPLE = Path(__file__).parents[2] / "docs/examples/federate.py"
NUMBERS = [name for name in POOL if name != "ward"]


@pytest.fixture(scope="module")
def federation() -> unpooled.federate:
    return unpooled.federate(PARTS)


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_a_summary_is_of_the_pool_in_a_data_frame_of_the_same_kind(kind: Any) -> None:
    found = unpooled.federate([kind(part) for part in PARTS]).summary()
    assert type(found) is type(kind(POOL))
    columns = {name: np.asarray(found[name]).tolist() for name in ("name", "n", "mean", "deviation")}
    assert columns["name"] == NUMBERS and set(columns["n"]) == {len(POOL)}
    np.testing.assert_allclose(columns["mean"], POOL[NUMBERS].mean(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(columns["deviation"], POOL[NUMBERS].std(ddof=0), rtol=1e-12)


def test_scalings_encodings_and_models_are_of_the_pool(federation: unpooled.federate) -> None:
    scaler = federation.normalize("z-score")
    np.testing.assert_allclose(scaler.transform(POOL[NUMBERS]).mean(axis=0), 0, atol=1e-12)
    encoder = federation.encode({"ward": "one-hot"})
    assert {"ward=medical", "ward=surgical"} <= {*encoder.get_feature_names_out()}
    model = federation.fit("linear", outcome="los")
    table = model.table(POOL)
    pooled = LinearRegression().fit(np.asarray(table), POOL["los"])
    np.testing.assert_allclose(model.predict(table), pooled.predict(np.asarray(table)), rtol=1e-9)


def test_a_plan_is_saved_as_a_study_takes_it(federation: unpooled.federate, tmp_path: Path) -> None:
    federation.fit("ridge", outcome="los", penalties=[0.1])
    federation.plan.save(tmp_path / "plan.json")
    saved = json.loads((tmp_path / "plan.json").read_text())
    assert completed({**saved, "compensator_key": NO_KEY.hex()}) == federation.plan


def test_the_example_of_the_docs_runs_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLE))
    assert "R² on one cohort: 0." in capsys.readouterr().out and (tmp_path / "plan.json").exists()


def test_variants_are_tested_in_files_as_cohorts_have_them(tmp_path: Path) -> None:
    simulate(tmp_path, cohorts=[200, 300, 250], variants=200, covariates=1, effects=(3.0,))
    cohorts = [tmp_path / f"cohort{k}" for k in (1, 2, 3)]
    federation = unpooled.federate(cohorts, covar=[f"{path}.cov" for path in cohorts])
    found = federation.associate("logistic", covariates=["AGE"], hide_covar=True, files=["assoc", "frq"])
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert found.loc[found["P"].idxmin(), "SNP"] in json.dumps(truth)
    assert {*federation.files} == {"assoc", "frq"}
    with pytest.raises(ValueError, match="some cohort's data are genotypes"):
        federation.summary()


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        (lambda of: of(PARTS[:2]), ValueError, "at least 3 cohorts, not 2"),
        (lambda of: of([{"a": [1]}] * 3), TypeError, "cohort 1 is a dict; want a path"),
        (lambda of: of(["none"] * 3), FileNotFoundError, "none: no such table, and no none.bed"),
        (lambda of: of(PARTS, covr="x"), TypeError, "covr: no such file or option"),
        (lambda of: of(PARTS, pheno=["x"]), ValueError, "pheno names 1 files; want one, or one for"),
        (lambda of: of(PARTS).fit("ridge", outcome="lso"), ValueError, "no column is called lso"),
        (lambda of: of(PARTS).fit("rigde", outcome="los"), ValueError, "called rigde; there are logistic"),
        (lambda of: of(PARTS).normalize("ridge"), ValueError, "no method is called ridge; there are z-score"),
        (lambda of: of(PARTS).encode({"age": "one-hot"}), ValueError, "age: no such column of words"),
        (lambda of: of(PARTS).fit("ridge", outcome="los", penalty=1), PlanError, "penalty: no such"),
        (lambda of: of([p[:3] for p in PARTS]).summary(), DataRefused, "too few rows"),
        (lambda of: of(PARTS).plan, UnpooledError, "no study was run yet"),
    ],
)
def test_what_is_wrong_is_said(asked: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        asked(unpooled.federate)
