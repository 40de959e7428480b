"""Columns that are hard on float64: far from 0, close together, huge, tiny; and under Gaussian masks.

The truth is exact arithmetic of fractions, or scikit-learn where its own arithmetic holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from normalizing import NOBODY, column, evenly, fit, plan_of
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from unpooled import run
from unpooled.cohort import ArrayTable
from unpooled.errors import Refuse
from unpooled.plan import PlanError
from unpooled.scaler import BLURRED, CONSTANT, NEARLY_CONSTANT, Scaler

N = 600


def odd_columns() -> dict[str, np.ndarray]:
    random = np.random.default_rng(6)
    normal = random.normal(size=N)
    return {
        "plain": normal,
        "a million off": 1e6 + normal,
        "seconds since 1970": 1.7e9 + 300 * normal,
        "1e15 off": 1e15 + 3000 * normal,
        "1e15 off, close": 1e15 + 30 * normal,
        "steps of an ulp": 4e14 + 0.0625 * random.poisson(3, N),
        "0.3 and 0.1 + 0.2": np.where(np.arange(N) % 3 == 0, 0.1 + 0.2, 0.3),
        "one an ulp off": np.append(np.full(N - 1, 7.0), np.nextafter(7.0, 8.0)),
        "one 20 ulp off": np.append(np.full(N - 1, 7.0), 7 + 20 * math.ulp(7)),
        "constant": np.full(N, 0.35),
        "few ones": (random.random(N) < 0.02) * 1.0,
        "heavy tails": random.lognormal(0, 5, N),
        "an outlier": np.append(random.normal(size=N - 1), 1e300),
        "tiny": 1e-300 * normal,
        "huge": 1.7e308 * random.uniform(-1, 1, N),
        "the largest": np.where(random.random(N) < 0.4, 1.79e308, -1.79e308),
    }


def exact_moments(x: np.ndarray) -> tuple[Fraction, Fraction]:
    """Mean and deviation; the root to 100 bits more than float64 has."""
    values = [Fraction(value) for value in x.tolist()]
    mean = sum(values, Fraction(0)) / len(values)
    variance = sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values)
    shift = 2 * max(0, 160 + variance.denominator.bit_length() - variance.numerator.bit_length())
    return mean, Fraction(math.isqrt((variance.numerator << shift) // variance.denominator), 1 << shift // 2)


def each_sorted(values: np.ndarray, cohorts: int) -> list[np.ndarray]:
    """The cohorts' ranges overlap in no feature: sums over them cancel the most."""
    return np.array_split(np.sort(values, axis=0), cohorts)


@pytest.mark.parametrize(
    ("split", "cohorts"), [(evenly, 3), (evenly, 30), (each_sorted, 3), (each_sorted, 30)]
)
def test_mean_and_deviation_are_right_to_the_last_place(
    split: Callable[[np.ndarray, int], list[np.ndarray]], cohorts: int
) -> None:
    columns = odd_columns()
    found = fit("z-score", split(np.column_stack(list(columns.values())), cohorts))
    for (name, x), row in zip(columns.items(), found["features"], strict=True):
        mean, deviation = exact_moments(x)
        assert abs(Fraction(row["mean"]) - mean) <= Fraction(math.ulp(mean)), name
        assert abs(Fraction(row["deviation"]) - deviation) <= Fraction(math.ulp(deviation)), name


def test_of_very_many_equal_values_one_may_differ() -> None:
    x = np.full(48_817, 5.1)
    x[-1] = np.nextafter(5.1, 6)
    (row,) = fit("z-score", evenly(x[:, None], 3))["features"]
    mean, deviation = exact_moments(x)
    assert row["mean"] == float(mean) and row["deviation"] == pytest.approx(float(deviation), rel=1e-15)
    assert row["note"] == NEARLY_CONSTANT


@pytest.mark.filterwarnings("ignore")
def test_nearly_constant_columns_are_those_of_scikit_learn() -> None:
    """By its bound of the z-score, also close to it: a deviation of n eps times the mean."""
    columns = {name: x for name, x in odd_columns().items() if 1e-150 < np.abs(x).max() < 1e150}
    bound = N * np.finfo(float).eps
    spread = np.where(np.arange(N) % 2, 1.0, -1.0)
    for share in (0.5, 0.99, 1.01, 2.0):
        columns[f"{share} of the bound"] = 1024.0 * (1 + share * bound * spread)
    pooled = np.column_stack(list(columns.values()))
    found, reference = fit("z-score", evenly(pooled, 3)), StandardScaler().fit(pooled)
    notes = {row.get("note") for row in found["features"]}
    assert notes == {None, CONSTANT, NEARLY_CONSTANT}
    assert ["note" in row for row in found["features"]] == (reference.scale_ == 1).tolist()


@pytest.mark.parametrize(("method", "reference"), [("min-max", MinMaxScaler), ("robust", RobustScaler)])
def test_ranges_of_ten_units_in_the_last_place_are_rounding(method: str, reference: Any) -> None:
    ulp = math.ulp(1.0)
    widths = np.array([0, 1, 4, 9, 11, 20, 1000]) * ulp
    pooled = 1 + np.arange(N)[:, None] % 2 * widths  # by halves: the quartiles are the ends
    pooled = np.column_stack([pooled, np.where(np.arange(N) % 3 == 0, 0.1 + 0.2, 0.3)])
    found = fit(method, evenly(pooled, 3))
    notes = [row.get("note") for row in found["features"]]
    assert notes == [CONSTANT, *[NEARLY_CONSTANT] * 3, *[None] * 3, NEARLY_CONSTANT]
    scaled, wanted = Scaler(found).transform(pooled), reference().fit_transform(pooled)
    assert np.array_equal(scaled, wanted)
    back = Scaler(found).inverse_transform(scaled)
    assert np.all(np.abs(back - pooled) <= ulp)


@pytest.mark.parametrize("method", ["min-max", "robust"])
def test_the_unit_of_a_column_does_not_decide_whether_it_varies(method: str) -> None:
    """scikit-learn's bound is absolute: in mol/l a hormone would be constant."""
    x = np.random.default_rng(1).lognormal(size=(N, 1))
    small, large = (fit(method, evenly(x * 2.0**power, 3)) for power in (-60, 60))
    wanted = Scaler(fit(method, evenly(x, 3))).transform(x)
    np.testing.assert_allclose(Scaler(small).transform(x * 2.0**-60), wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(Scaler(large).transform(x * 2.0**60), wanted, rtol=1e-12, atol=1e-14)
    rounding = 1e6 + np.arange(N)[:, None] % 3 * math.ulp(1e6)
    assert fit(method, evenly(rounding, 3))["features"][0]["note"] == NEARLY_CONSTANT


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no long double on this machine")
@pytest.mark.parametrize("method", ["z-score", "min-max", "robust"])
def test_differences_beyond_float64_are_scaled_all_the_same(method: str) -> None:
    columns = odd_columns()
    pooled = np.column_stack([columns["huge"], columns["the largest"], 9.5e307 + columns["huge"] * 1e-3])
    found = fit(method, evenly(pooled, 3))
    x = pooled.astype(np.longdouble)
    shift, scale = {
        "z-score": lambda: (x.mean(axis=0), np.sqrt(((x - x.mean(axis=0)) ** 2).mean(axis=0))),
        "min-max": lambda: (x.min(axis=0), x.max(axis=0) - x.min(axis=0)),
        "robust": lambda: (np.median(x, axis=0), np.diff(np.quantile(x, [0.25, 0.75], axis=0), axis=0)),
    }[method]()
    scaled = Scaler(found).transform(pooled)
    np.testing.assert_allclose(scaled, ((x - shift) / scale).astype(float), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(Scaler(found).inverse_transform(scaled), pooled, rtol=1e-9)
    if method == "robust":
        np.testing.assert_allclose(column(found, "median"), np.median(x, axis=0).astype(float), rtol=1e-15)


HIDDEN = {"seconds since 1970", "a million off", "1e15 off", "1e15 off, close", "steps of an ulp", "constant"}


@pytest.mark.parametrize("method", ["z-score", "summary"])
@pytest.mark.parametrize("name", sorted(HIDDEN))
def test_gaussian_masks_refuse_what_they_hide(method: str, name: str) -> None:
    plain, hard = odd_columns()["plain"], odd_columns()[name]
    parts = [ArrayTable(part) for part in evenly(np.column_stack([plain, hard]), 3)]
    with pytest.raises(Refuse, match=r"the values of feature 1 are so close .* modular masks"):
        run.run(plan_of(method, 2, masking="gaussian"), NOBODY, parts)


@pytest.mark.parametrize("variance", [1e2, 1e12, 1e20])
@pytest.mark.parametrize("cohorts", [3, 12])
def test_gaussian_masks_leave_the_digits_that_are_told(variance: float, cohorts: int) -> None:
    random = np.random.default_rng(2)
    pooled = np.column_stack(
        [
            50 + 10 * random.normal(size=N),
            1e-7 * random.normal(size=N),
            3e4 + 3e4 * random.random(N),
            random.lognormal(size=N) * 1e200,
            np.zeros(N),
        ]
    )
    for _ in range(5):
        found = fit("z-score", evenly(pooled, cohorts), masking="gaussian", variance=variance)
        for x, row in zip(pooled.T[:4], found["features"], strict=False):
            assert row["note"] == BLURRED
            mean, deviation = exact_moments(x)
            for told, true in ((row["mean"], mean), (row["deviation"], deviation)):
                last = Decimal(repr(told)).as_tuple().exponent
                assert abs(Fraction(told) - true) <= 15 * Fraction(10) ** int(last) or abs(
                    Fraction(told) - true
                ) <= 2 * Fraction(math.ulp(told))
        assert found["features"][4]["note"] == f"{CONSTANT}; {BLURRED}"


def test_masks_that_would_change_counts_make_no_plan() -> None:
    for cohorts, variance in ((3, 1e29), (300, 1e25)):
        with pytest.raises(PlanError, match="variance: too much"):
            plan_of("min-max", 1, cohorts, masking="gaussian", variance=variance)
        assert plan_of("min-max", 1, cohorts, variance=variance)  # of modular masks it means nothing
    pooled = np.random.default_rng(3).normal(size=(N, 1))
    found = fit("min-max", evenly(pooled, 3), masking="gaussian", variance=1e27)
    assert column(found, "min") == pooled.min() and column(found, "max") == pooled.max()
