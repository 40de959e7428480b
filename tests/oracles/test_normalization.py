"""Normalization as scikit-learn finds it in the pool, and quantiles as NumPy does, whoever has which row."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from unpooled.fitted.scaler import (
    CONSTANT,
    MIN_MAX,
    NEARLY_CONSTANT,
    QUANTILES,
    ROBUST,
    YEO_JOHNSON,
    Z_SCORE,
    Scaler,
)
from unpooled.plan.common_options import BITS, SUMS

from ..conftest import Rehearse
from ..fuzz.tables.truth import moments
from .of_tables import TABLES, WAYS, Columns, agreed, column, each_sorted, evenly, loaded, table

N = 600
METHODS = (Z_SCORE, MIN_MAX, ROBUST, QUANTILES)
EITHER_WAY = [(Z_SCORE, SUMS), *product((MIN_MAX, ROBUST, QUANTILES), (SUMS, BITS))]
"""Methods with each way to open sums: the server reads them on the way, or signs alone."""


@pytest.mark.parametrize(("name", "missing"), TABLES)
@pytest.mark.parametrize("method", METHODS)
def test_real_tables(method: str, name: str, missing: float) -> None:
    pooled = loaded(name, missing)
    for split, cohorts, opens in WAYS:
        agreed(method, split(pooled, cohorts), opens=SUMS if method == Z_SCORE else opens)


def odd() -> Columns:
    """Columns that are hard on float64: far from 0, close together, tied, huge, tiny."""
    random = np.random.default_rng(6)
    normal, huge = random.normal(size=N), 1.7e308 * random.uniform(-1, 1, N)
    return {
        "plain": normal,
        "a million off": 1e6 + normal,
        "a thousand million off": 1e9 + normal,
        "seconds since 1970": 1.7e9 + 300 * normal,
        "1e15 off": 1e15 + 3000 * normal,
        "1e15 off, close": 1e15 + 30 * normal,
        "steps of an ulp": 4e14 + 0.0625 * random.poisson(3, N),
        "0.3 and 0.1 + 0.2": np.where(np.arange(N) % 3 == 0, 0.1 + 0.2, 0.3),
        "one an ulp off": np.append(np.full(N - 1, 7.0), np.nextafter(7.0, 8.0)),
        "one 20 ulp off": np.append(np.full(N - 1, 7.0), 7 + 20 * math.ulp(7)),
        "a million, and ulps": 1e6 + np.arange(N) % 3 * math.ulp(1e6),
        "constant": np.full(N, 0.35),
        "a constant below 0": np.full(N, -1234.567),
        "few ones": (random.random(N) < 0.02) * 1.0,
        "ties": random.integers(0, 3, N) * 1.0,
        "whole numbers": random.integers(-(2**40), 2**40, N) * 1.0,
        "zeros of both signs": np.where(random.random(N) < 0.5, 0.0, -0.0),
        "heavy tails": random.lognormal(0, 5, N),
        "in a small unit": random.lognormal(size=N) * 2.0**-60,
        "in a large unit": random.lognormal(size=N) * 2.0**60,
        "an outlier": np.append(random.normal(size=N - 1), 1e300),
        "denormal": random.integers(0, 9, N) * 5e-324,
        "tiny": 1e-300 * normal,
        "huge": huge,
        "huge, of two values": np.where(random.random(N) < 0.5, 1e300, -1e300),
        "huge, and far off": 9.5e307 + huge * 1e-3,
        "the largest": np.where(random.random(N) < 0.4, 1.79e308, -1.79e308),
    }


def near(number: float, exact: Fraction) -> bool:
    """Within one unit in the last place."""
    return abs(Fraction(number) - exact) <= Fraction(math.ulp(exact))


@pytest.mark.parametrize(("split", "cohorts"), list(product((evenly, each_sorted), (3, 30))))
def test_mean_and_deviation_are_right_to_the_last_place(
    split: Callable[[np.ndarray, int], list[np.ndarray]], cohorts: int
) -> None:
    found = agreed(Z_SCORE, split(table(odd()), cohorts), list(odd()))
    for (name, x), row in zip(odd().items(), found["features"], strict=True):
        exact = moments(x)
        assert near(row["mean"], exact.mean) and near(row["deviation"], exact.deviation), name


def test_of_very_many_equal_values_one_may_differ() -> None:
    x = np.full(48_817, 5.1)
    x[-1] = np.nextafter(5.1, 6)
    (row,) = agreed(Z_SCORE, evenly(x[:, None], 3))["features"]
    exact = moments(x)
    assert row["mean"] == float(exact.mean) and near(row["deviation"], exact.deviation)
    assert row["note"] == NEARLY_CONSTANT


@pytest.mark.filterwarnings("ignore")
def test_nearly_constant_columns_are_those_of_scikit_learn() -> None:
    """Columns count as constant by scikit-learn's bound of the z-score, also close to it: a deviation of n
    eps times the mean.
    """
    columns = {name: x for name, x in odd().items() if 1e-150 < np.abs(x).max() < 1e150}
    bound = N * np.finfo(float).eps
    spread = np.where(np.arange(N) % 2, 1.0, -1.0)
    for share in (0.5, 0.99, 1.01, 2.0):
        columns[f"{share} of the bound"] = 1024.0 * (1 + share * bound * spread)
    found, reference = agreed(Z_SCORE, evenly(table(columns), 3)), StandardScaler().fit(table(columns))
    assert {row.get("note") for row in found["features"]} == {None, CONSTANT, NEARLY_CONSTANT}
    assert ["note" in row for row in found["features"]] == (reference.scale_ == 1).tolist()


@pytest.mark.parametrize(("method", "reference"), [(MIN_MAX, MinMaxScaler), (ROBUST, RobustScaler)])
def test_ranges_of_ten_units_in_the_last_place_are_rounding(
    method: str, reference: type[MinMaxScaler | RobustScaler]
) -> None:
    ulp = math.ulp(1.0)
    widths = np.array([0, 1, 4, 9, 11, 20, 1000]) * ulp
    pooled = 1 + np.arange(N)[:, None] % 2 * widths  # by halves: the quartiles are the ends
    pooled = np.column_stack([pooled, np.where(np.arange(N) % 3 == 0, 0.1 + 0.2, 0.3)])
    found = agreed(method, evenly(pooled, 3))
    notes = [row.get("note") for row in found["features"]]
    assert notes == [CONSTANT, *[NEARLY_CONSTANT] * 3, *[None] * 3, NEARLY_CONSTANT]
    scaled, wanted = Scaler(found).transform(pooled), reference().fit_transform(pooled)
    assert np.array_equal(scaled, wanted)
    back = Scaler(found).inverse_transform(scaled)
    assert np.all(np.abs(back - pooled) <= ulp)


@pytest.mark.parametrize(("method", "opens"), [*EITHER_WAY, (YEO_JOHNSON, SUMS), (YEO_JOHNSON, BITS)])
def test_missing_values_of_a_whole_cohort_and_of_all(method: str, opens: str) -> None:
    parts = [part.copy() for part in evenly(loaded("iris"), 4)]
    parts[1][:, 2] = np.nan
    for part in parts:
        part[:, 3] = np.nan
    found = agreed(method, parts, opens=opens)
    assert column(found, "n").tolist() == [150, 150, 150 - len(parts[1]), 0]
    agreed(method, [np.full((20, 2), np.nan)] * 3, opens=opens)


@pytest.mark.parametrize("method", METHODS)
def test_gaussian_masks_cost_digits_of_sums_and_none_of_counts(method: str) -> None:
    pooled = loaded("wine", 0.1)
    found = agreed(method, evenly(pooled, 3), masking="gaussian", variance=1e6)
    exact = agreed(method, evenly(pooled, 3))
    if method == Z_SCORE:
        mean, scale = column(found, "mean"), np.nanmax(np.abs(pooled), axis=0)
        assert np.all(np.abs(mean - np.nanmean(pooled, axis=0)) < 1e-10 * scale)
        assert not np.array_equal(mean, column(exact, "mean"))
        np.testing.assert_allclose(column(found, "deviation"), np.nanstd(pooled, axis=0), rtol=1e-8)
    else:
        assert found["features"] == exact["features"]


def test_parameters_and_tables_are_written(rehearse: Rehearse, tmp_path: Path) -> None:
    """Iris in three cohorts of different size, one in Parquet: a species each, but for ten flowers."""
    iris = load_iris(as_frame=True).data
    paths = [tmp_path / name for name in ("setosa.parquet", "versicolor.csv", "virginica.csv")]
    for path, rows in zip(paths, (iris[:60], iris[60:100], iris[100:]), strict=True):
        _ = rows.to_csv(path, index=False) if path.suffix == ".csv" else rows.to_parquet(path)
    flags = [word for path in paths for word in ("--table", path)]
    done = rehearse("--normalize", ROBUST, *flags, "--min-samples", 40, "--out", tmp_path / "iris")
    assert str(tmp_path / "iris.parameters.json") in done.stdout
    wanted = RobustScaler().fit_transform(iris.to_numpy())
    scaler = Scaler.from_file(tmp_path / "iris.parameters.json")
    assert np.array_equal(scaler.transform(iris.to_numpy()), wanted)
    targets = [path.with_name(f"{path.stem}.robust{path.suffix}") for path in paths]
    assert all(str(target) in done.stdout for target in targets)
    written = [(pd.read_csv if path.suffix == ".csv" else pd.read_parquet)(path) for path in targets]
    assert np.array_equal(pd.concat(written).to_numpy(), wanted)


ODD = [0.0, -0.0, 1.0, 5e-324, -5e-324, 1e300, -1e300, 2.0**53, 1.7976931348623157e308]
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9).map(float), st.sampled_from(ODD)
)


@pytest.mark.parametrize("opens", [SUMS, BITS])
@settings(max_examples=25)
@given(values=st.lists(NUMBERS, min_size=30, max_size=60))
def test_every_element_is_that_of_numpy(opens: str, values: list[float]) -> None:
    own, n = np.array(values), len(values)
    places = (*range(1, min(n, 50) + 1), *range(-min(n, 50), 0))  # of so many may be asked
    agreed(QUANTILES, [own[k::3, None] for k in range(3)], elements=places, quantiles=(0.5,), opens=opens)
