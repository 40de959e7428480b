"""Models of real tables and hard ones, beside scikit-learn, statsmodels and a closed form on the pool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer

from unpooled.methods.learning import design
from unpooled.methods.learning.models import ELASTIC_NET, FEDHEONN, LASSO, LINEAR, LOGISTIC_MODEL, RIDGE

from ..conftest import Rehearse
from ..fuzz.models.federation import OUTCOME
from .of_models import SPLITS, Rows, agreed, by_outcome, evenly, named, unequal

Split = Callable[[np.ndarray, int], Rows]


def diabetes(cohorts: int, missing: float) -> tuple[np.ndarray, np.ndarray]:
    """Each row five times, in units that have nothing in common, with noise."""
    random = np.random.default_rng(cohorts)
    x, y = load_diabetes(return_X_y=True)
    x = np.repeat(x, 5, axis=0) * random.uniform(1, 1e4, x.shape[1]) + random.normal(0, 1e3, x.shape[1])
    x += random.normal(0, 0.01, x.shape) * x.std(axis=0)
    x[random.random(x.shape) < missing] = np.nan
    return x, np.repeat(y, 5) + random.normal(0, 9, 5 * len(y))


def real(load: Callable[..., Any], times: int) -> tuple[np.ndarray, np.ndarray]:
    x, number = load(return_X_y=True)
    x, number = np.repeat(x, times, axis=0), np.repeat(number, times)
    return x + np.random.default_rng(1).normal(0, 0.1, x.shape) * x.std(axis=0), named(number)


@pytest.mark.parametrize(
    ("cohorts", "split", "missing"),
    [(3, evenly, 0.1), (3, by_outcome, 0.0), (20, by_outcome, 0.1), (20, unequal, 0.0)],
)
@pytest.mark.parametrize(
    ("method", "options"),
    [
        (LINEAR, {}),
        (RIDGE, {}),
        (LASSO, {}),
        (LASSO, {"penalties": (5.0, 0.5)}),
        (ELASTIC_NET, {"l1_share": 0.3}),
        (ELASTIC_NET, {"l1_share": 0.3, "penalties": (5.0, 0.5)}),
    ],
)
def test_of_a_number(
    method: str, options: dict[str, Any], split: Split, cohorts: int, missing: float
) -> None:
    x, y = diabetes(cohorts, missing)
    agreed(method, x, y, split(y, cohorts), **options)


def test_linear_regression_is_written_in_the_columns_units(rehearse: Rehearse, tmp_path: Path) -> None:
    """The intercept is the prediction where every column is 0."""
    x, y = diabetes(3, 0.1)
    table = pd.DataFrame({**{f"x{k}": column for k, column in enumerate(x.T)}, OUTCOME: y})
    lines = [f"{name},number,{'outcome' * (name == OUTCOME)}" for name in table]
    (schema := tmp_path / "schema.csv").write_text("\n".join(["name,type,role", *lines]))
    flags: list[object] = []
    for k, rows in enumerate(evenly(y, 3)):
        table.iloc[rows].to_csv(tmp_path / f"{k}.csv", index=False)
        flags += ["--table", tmp_path / f"{k}.csv"]
    rehearse("--fit", "linear", "--outcome", OUTCOME, "--schema", schema, *flags, "--out", tmp_path / "own")
    found = pd.read_csv(tmp_path / "own.coefficients.tsv", sep="\t")
    wanted = sm.OLS(y, sm.add_constant(SimpleImputer().fit_transform(x))).fit()
    of = {"coefficient": wanted.params, "standard error": wanted.bse, "t": wanted.tvalues}
    for name, numbers in of.items():
        np.testing.assert_allclose(found[name], numbers, rtol=1e-8)
    np.testing.assert_allclose(found["P"], wanted.pvalues, rtol=1e-6)


def test_an_outcome_far_from_0_loses_no_digits() -> None:
    x, y = load_diabetes(return_X_y=True)
    y = y / y.std() + 1e6
    agreed(RIDGE, x * 1e-3 + 7.0, y, evenly(y, 3), penalties=(0.01,))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("load", "times"), [(load_wine, 5), (load_breast_cancer, 3)])
@pytest.mark.parametrize(("method", "options"), [(RIDGE, {}), (FEDHEONN, {"penalties": (1e-3,)})])
def test_of_classes(
    method: str, options: dict[str, Any], load: Callable[..., Any], times: int, split: Split
) -> None:
    x, y = real(load, times)
    agreed(method, x, y, split(y, 3), **options)


@pytest.mark.parametrize(
    ("load", "split", "cohorts"),
    [
        (load_breast_cancer, by_outcome, 20),
        (load_breast_cancer, unequal, 3),
        (load_iris, evenly, 3),
        (load_wine, evenly, 14),
    ],
)
def test_logistic(load: Callable[..., Any], split: Split, cohorts: int) -> None:
    x, number = load(return_X_y=True)
    parts, penalties = split(number, cohorts), (1e-2, 1e-5)
    agreed(LOGISTIC_MODEL, x, named(number), parts, validation_folds=3, penalties=penalties)


def test_of_few_people_all_columns_pass_in_one_study() -> None:
    """180 people: of eleven of 18 columns few in a fold of five are above the mean."""
    x, number = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(77).permutation(len(x))[:180]
    y = named(number[rows])
    assert agreed(LOGISTIC_MODEL, x[rows, :18], y, evenly(y, 3), penalties=(0.01,))["folds"] == 2


def test_logistic_of_ten_classes() -> None:
    x, number = load_digits(return_X_y=True)
    x = x[:, x.std(axis=0) > 4][:, ::3]  # a few pixels that vary everywhere
    agreed(LOGISTIC_MODEL, x, named(number), evenly(number, 3), validation_folds=2, penalties=(0.01,))


@pytest.mark.parametrize(("method", "classes"), [(RIDGE, 0), (RIDGE, 3), (FEDHEONN, 2)])
@pytest.mark.parametrize(("cohorts", "split"), [(3, evenly), (20, by_outcome), (3, unequal)])
def test_of_more_columns_than_products_are_asked_for(
    method: str, classes: int, cohorts: int, split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fits use conjugate gradients, of correlated columns in very different units."""
    monkeypatch.setattr(design, "MOST_COLUMNS", 5)
    random = np.random.default_rng(3)
    x = random.normal(size=(3000, 9)) @ (np.eye(9) + 0.4 * random.normal(size=(9, 9)))
    y = x[:, 8] + random.integers(0, 3, 3000) + random.normal(size=3000)
    x = x * np.geomspace(1e-3, 1e4, 9) + 1e3
    x[random.random(x.shape) < 0.02] = np.nan
    if classes:
        y = named(np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)))
    agreed(method, x, y, split(y, cohorts), penalties=(30.0, 1.0, 0.01))


def test_of_very_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design, "MOST_COLUMNS", 120)
    random = np.random.default_rng(3)
    x = random.normal(size=(1300, 121))
    y = x[:, :40].sum(axis=1) + 5 * random.normal(size=len(x))
    agreed(RIDGE, x, y, evenly(y, 3), penalties=(1.0,), validation_folds=2)
