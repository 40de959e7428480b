"""Columns of numbers that a model scales itself, beside scikit-learn's pipelines on the pooled rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import yeojohnson
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, RobustScaler, StandardScaler

import unpooled

from ..conftest import Rehearse

SCALINGS = {
    "troponin": "yeo-johnson",
    "change": "yeo-johnson",
    "crp": "log",
    "lactate": "log1p",
    "bmi": "robust",
    "drinks": "robust",
    "same": "robust",
    "age": "z-score",
    "weight": "",
}
PENALTY, ROWS, COHORTS = 0.01, 1200, 4


def people(classes: str) -> pd.DataFrame:
    """Draw skewed columns: one is missing in a whole cohort, one mostly 0, one the same in all rows."""
    random = np.random.default_rng(34)
    found = pd.DataFrame(
        {
            "troponin": random.lognormal(2, 1.5, ROWS),
            "change": -random.lognormal(0, 0.7, ROWS) + 1,
            "crp": random.lognormal(0, 2, ROWS),
            "lactate": random.exponential(2, ROWS) * (random.random(ROWS) < 0.9),
            "bmi": random.standard_t(3, ROWS) * 4 + 25,
            "drinks": random.exponential(3, ROWS) * (random.random(ROWS) < 0.2),
            "same": 7.0,
            "age": random.normal(60, 10, ROWS),
            "weight": random.normal(80, 9, ROWS),
        }
    )
    score = (
        np.log(found["troponin"]) + 0.5 * np.log(found["crp"]) - 0.1 * found["bmi"] + 0.2 * found["drinks"]
    )
    score += 0.03 * found["age"] + random.normal(size=ROWS)
    found["lactate"] = found["lactate"].where(np.arange(ROWS) % COHORTS > 0)
    for name in ("troponin", "crp", "bmi", "age"):
        found[name] = found[name].where(random.random(ROWS) < 0.95)
    names = classes.split("|")
    ends = score.quantile(np.arange(1, len(names)) / len(names))
    return found.assign(y=np.array(names)[np.digitize(score, ends)] if classes else score)


def fitted(rehearse: Rehearse, folder: Path, pool: pd.DataFrame, *words: object) -> unpooled.Model:
    """The model of four cohorts, as its file has it."""
    classes = "|".join(sorted(set(pool["y"]))) if pool["y"].dtype.kind != "f" else ""
    lines = [f"{name},number,{scaling},," for name, scaling in SCALINGS.items()]
    y = f"y,category,,outcome,{classes}" if classes else "y,number,,outcome,"
    (folder / "schema.csv").write_text("\n".join(["name,type,encoding,role,values", *lines, y]))
    tables: list[object] = []
    for k in range(COHORTS):
        pool[k::COHORTS].to_csv(folder / f"{k}.csv", index=False)
        tables += ["--table", folder / f"{k}.csv"]
    rehearse("--fit", *words, "--schema", folder / "schema.csv", *tables, "--out", folder / "own")
    return unpooled.Model.from_file(folder / "own.model.json")


def pipeline(estimator: BaseEstimator, power: Callable[[str], BaseEstimator]) -> Any:
    """Make what a user of scikit-learn would write: a missing value is its column's mean, once bent."""

    def column(name: str, scaling: str) -> tuple[Any, list[str]]:
        first: dict[str, list[Any]] = {
            "yeo-johnson": [power(name), SimpleImputer(), StandardScaler()],
            "log": [FunctionTransformer(np.log), SimpleImputer(), StandardScaler()],
            "log1p": [FunctionTransformer(np.log1p), SimpleImputer(), StandardScaler()],
            "robust": [RobustScaler(), SimpleImputer()],
        }
        return make_pipeline(*first.get(scaling, [SimpleImputer(), StandardScaler()])), [name]

    return make_pipeline(make_column_transformer(*(column(*of) for of in SCALINGS.items())), estimator)


def at_lambdas(model: unpooled.Model) -> tuple[dict[str, float], Callable[[str], BaseEstimator]]:
    """The lambdas of a model, by column; and SciPy's transform at them."""
    own = {name: model.scalings_[k].get("lambda") for k, name in enumerate(SCALINGS) if k in model.scalings_}
    return own, lambda name: FunctionTransformer(lambda x: yeojohnson(x.to_numpy()[:, 0], own[name])[:, None])


LINEAR: dict[str, Any] = {
    "linear": LinearRegression(),
    "ridge": Ridge(PENALTY * ROWS),
    "lasso": Lasso(PENALTY, tol=1e-13, max_iter=100_000),
    "elastic-net": ElasticNet(PENALTY, l1_ratio=0.5, tol=1e-13, max_iter=100_000),
}


@pytest.mark.parametrize(
    ("method", "classes"), [*((name, "") for name in LINEAR), ("logistic", "no|yes"), ("logistic", "a|b|c")]
)
def test_a_model_of_scaled_columns_is_the_pipeline_of_the_pool(
    rehearse: Rehearse, tmp_path: Path, method: str, classes: str
) -> None:
    """They agree to nine digits at the lambdas of the study, and nearly at those of PowerTransformer."""
    pool = people(classes)
    penalties = () if method == "linear" else ("--penalties", PENALTY)
    found = fitted(rehearse, tmp_path, pool, method, *penalties)
    x, y = pool[list(SCALINGS)], pool["y"]
    solver = LINEAR.get(method) or LogisticRegression(C=1 / (PENALTY * ROWS), solver="newton-cg", tol=1e-12)
    own, at = at_lambdas(found)
    said = "decision_function" if classes else "predict"
    predicted = getattr(found, said)(x)
    if classes.count("|") == 2:  # a constant that all scores of a row share says nothing
        predicted = predicted - predicted.mean(axis=1, keepdims=True)
    for power, near in ((at, 1e-8), (lambda name: PowerTransformer(standardize=False), 1e-5)):
        right = getattr(pipeline(solver, power).fit(x, y), said)(x)
        np.testing.assert_allclose(predicted, right, rtol=0, atol=near * np.abs(right).max())
    for name in ("troponin", "change"):
        np.testing.assert_allclose(own[name], PowerTransformer().fit(pool[[name]]).lambdas_[0], atol=1e-5)


def test_one_layer_of_scaled_columns_is_the_closed_form(rehearse: Rehearse, tmp_path: Path) -> None:
    pool, slope, penalty = people("no|yes"), 0.95 * 0.05, 0.1
    found = fitted(rehearse, tmp_path, pool, "fedheonn", "--penalties", penalty)
    x = pool[list(SCALINGS)]
    z = pipeline(StandardScaler(with_std=False), at_lambdas(found)[1]).fit_transform(x)
    wide, wanted = np.column_stack([np.ones(ROWS), z]), np.where(pool["y"] == "yes", 1, -1) * np.log(19)
    weights = np.linalg.solve(wide.T @ wide + penalty / slope**2 * np.eye(wide.shape[1]), wide.T @ wanted)
    np.testing.assert_allclose(found.decision_function(x), wide @ weights, rtol=0, atol=1e-8)


def test_files_say_how_columns_are_scaled(rehearse: Rehearse, tmp_path: Path) -> None:
    pool = people("")
    fitted(rehearse, tmp_path, pool, "ridge", "--penalties", PENALTY)
    model = json.loads((tmp_path / "own.model.json").read_text())
    said = {feature["name"]: feature.get("scaling", {}) for feature in model["features"]}
    assert [said[name].get("method", "") for name in SCALINGS] == [
        "" if scaling == "z-score" else scaling for scaling in SCALINGS.values()
    ]
    robust = RobustScaler().fit(pool[["bmi", "drinks"]])
    quartiles = ("lower_quartile", "median", "upper_quartile")
    low, middle, high = (np.array([said[name][of] for name in ("bmi", "drinks")]) for of in quartiles)
    np.testing.assert_array_equal(middle, robust.center_)
    np.testing.assert_array_equal(np.where(high > low, high - low, 1.0), robust.scale_)
    card = (tmp_path / "own.card.md").read_text()
    assert (
        f"yeo-johnson (lambda {said['troponin']['lambda']:.4g}) |" in card and "as they were measured" in card
    )
    table = pd.read_csv(tmp_path / "own.coefficients.tsv", sep="\t")
    assert table["scaling"].fillna("")[1:].str.partition(" ")[0].tolist() == [
        "" if scaling == "z-score" else scaling for scaling in SCALINGS.values()
    ]
