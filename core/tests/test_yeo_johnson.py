"""Yeo and Johnson's transform: the lambda of the pooled table, whoever has which row.

The true lambda is that at which the derivative of the likelihood is 0, by bisection in 64 digits of two more
than float64 has: scikit-learn's own search fails on some features here.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from asking import followed
from normalizing import NOBODY, SPLITS, TABLES, column, evenly, fit, loaded, plan_of
from scipy import stats
from sklearn.preprocessing import PowerTransformer, StandardScaler

from unpooled.algorithms import check
from unpooled.algorithms.tables.bracket import ASKED, START, Brackets
from unpooled.cohort import ArrayTable
from unpooled.errors import Refuse
from unpooled.plan import PlanError
from unpooled.scaler import CONSTANT, EMPTY, FLAT, NEARLY_CONSTANT, Scaler
from unpooled.shared_options import BITS, SUMS

LONG = np.longdouble

either_way = pytest.mark.parametrize("opens", [SUMS, BITS])
"""Whether the server reads sums on the way, or signs alone."""


def derivative(x: np.ndarray, power: Any) -> Any:
    """Of the log-likelihood over n, by lambda, from the transform as it is defined."""
    parts = {True: x[x >= 0], False: x[x < 0]}
    y, slope = [], []
    for above, part in parts.items():
        sign, size = (1, np.log1p(part)) if above else (-1, np.log1p(-part))
        a = power if above else 2 - power
        grown = np.expm1(a * size) / a
        y.append(sign * grown)
        slope.append((size * np.exp(a * size) - grown) / a)
    z, z_slope = np.concatenate(y), np.concatenate(slope)
    z = z - z.mean()
    logarithms = np.copysign(np.log1p(np.abs(x)), x)
    return logarithms.mean() - (z * (z_slope - z_slope.mean())).mean() / (z * z).mean()


def true_lambda(x: np.ndarray, near: float) -> float:
    """The root of the derivative, at most 1e-3 from `near`: else the bisection has no change of sign."""
    own = x[~np.isnan(x)].astype(LONG)
    low, high = LONG(near) - LONG("1.1e-3"), LONG(near) + LONG("1e-3")
    assert derivative(own, low) > 0 > derivative(own, high)
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if derivative(own, middle) > 0 else (low, middle)
    return float(low)


def assert_as_pooled(found: dict[str, Any], pooled: np.ndarray) -> None:
    powers = column(found, "lambda")
    for k, x in enumerate(pooled.T):
        known = x[~np.isnan(x)]
        if np.ptp(known) == 0:
            assert powers[k] == 1 and found["features"][k]["note"] == CONSTANT
            continue
        assert abs(powers[k] - true_lambda(x, powers[k])) < 5e-7
        z = stats.yeojohnson(known, powers[k])
        assert abs(found["features"][k]["mean"] - z.mean()) <= 1e-11 * max(abs(z.mean()), z.std())
        assert found["features"][k]["deviation"] == pytest.approx(z.std(), rel=1e-6)  # SciPy's own rounding
    scaled = Scaler(found).transform(pooled)
    assert np.nanmax(np.abs(np.nanmean(scaled, axis=0))) < 1e-10
    changing = np.nanstd(pooled, axis=0) > 0
    np.testing.assert_allclose(np.nanstd(scaled, axis=0)[changing], 1, rtol=1e-10)


@pytest.mark.skipif(np.finfo(LONG).eps > 1e-18, reason="no long double on this machine")
@pytest.mark.parametrize(("table", "missing"), TABLES)
def test_real_tables_give_what_the_pooled_table_gives(table: str, missing: float) -> None:
    pooled = loaded(table, missing)
    found = [fit("yeo-johnson", split(pooled, cohorts)) for split in SPLITS for cohorts in (3, 8)]
    assert_as_pooled(found[0], pooled)
    for name in ("lambda", "mean", "deviation", "centre", "spread"):
        for one in found[1:]:
            np.testing.assert_allclose(column(one, name), column(found[0], name), rtol=1e-11, atol=1e-13)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", ["breast_cancer", "digits"])
def test_the_likelihood_is_nowhere_larger_at_the_lambda_of_scikit_learn(table: str) -> None:
    """Older versions end at -14.53 for the "mean area" of breast cancer, where the maximum is at -0.21."""
    pooled = loaded(table)
    pooled = pooled[:, np.ptp(pooled, axis=0) > 0]
    theirs = PowerTransformer().fit(pooled).lambdas_
    ours = column(fit("yeo-johnson", evenly(pooled, 3)), "lambda")
    for x, own, other in zip(pooled.T, ours, theirs, strict=True):
        at = [stats.yeojohnson_llf(power, x.astype(LONG)) for power in (own, other)]
        assert at[0] >= at[1] - 1e-7 * abs(at[1])
    if table == "breast_cancer":
        assert ours[3] == pytest.approx(-0.2134, abs=1e-4)
    else:
        assert ours.min() == pytest.approx(-2592.523, abs=1e-3)


@either_way
def test_the_transformer_is_that_of_scikit_learn(opens: str) -> None:
    pooled = loaded("wine")
    found = fit("yeo-johnson", evenly(pooled, 3), opens=opens)
    reference = PowerTransformer().fit(pooled)
    reference.lambdas_ = column(found, "lambda")
    columns = zip(pooled.T, reference.lambdas_, strict=True)
    plain = np.column_stack([stats.yeojohnson(x, power) for x, power in columns])
    reference._scaler = StandardScaler().fit(plain)
    scaled = Scaler(found).transform(pooled)
    np.testing.assert_allclose(scaled, reference.transform(pooled), rtol=1e-8, atol=1e-8)
    back = Scaler(found).inverse_transform(scaled)
    np.testing.assert_allclose(back, pooled, rtol=1e-10)
    np.testing.assert_allclose(reference.inverse_transform(scaled), back, rtol=1e-6)
    beyond = np.full((1, pooled.shape[1]), 1e9)
    bounded = column(found, "lambda") < 0
    assert bounded.any() and np.isnan(Scaler(found).inverse_transform(beyond)[:, bounded]).all()


def odd_columns(n: int = 500) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        "far from 0": 1e9 + random.normal(size=n),
        "coded 1 and 2, few 2": 1.0 + (random.random(n) < 0.02),
        "skewed a long way": random.lognormal(0, 4, n),
        "and below 0": -random.lognormal(0, 2, n),
        "small": random.normal(size=n) * 1e-3,
        "an outlier": np.append(random.normal(size=n - 1), 1e300),
        "an outlier below": np.append(random.normal(size=n - 1), -1e12),
        "huge": np.where(random.random(n) < 0.5, 1e300, -1e300),
        "denormal": random.integers(0, 9, n) * 5e-324,
        "constant": np.full(n, -1234.567),
        "one of many": np.append(np.zeros(n - 1), 1.0),
        "no mean": random.standard_cauchy(n),
    }


@either_way
def test_odd_values(opens: str) -> None:
    columns = odd_columns()
    pooled = np.column_stack(list(columns.values()))
    found = [fit("yeo-johnson", split(pooled, 4), opens=opens) for split in SPLITS]
    for one in found[1:]:
        for name in ("lambda", "centre", "spread"):
            np.testing.assert_allclose(column(one, name), column(found[0], name), rtol=1e-9, atol=1e-300)
    rows = dict(zip(columns, found[0]["features"], strict=True))
    notes = {name: row["note"] for name, row in rows.items() if "note" in row}
    flat = dict.fromkeys(("coded 1 and 2, few 2", "an outlier", "one of many"), FLAT)
    assert notes == {"denormal": CONSTANT, "constant": CONSTANT, **flat}
    # Of two values, m of n the larger, the likelihood is largest close to -n / (m (phi(b) - phi(a))).
    few = int((columns["coded 1 and 2, few 2"] == 2).sum())
    assert rows["coded 1 and 2, few 2"]["lambda"] == pytest.approx(-500 / (few * np.log(1.5)), rel=1e-3)
    assert rows["one of many"]["lambda"] == pytest.approx(-500 / np.log(2), rel=1e-3)
    for name in ("skewed a long way", "and below 0", "small", "an outlier below", "no mean"):
        assert abs(rows[name]["lambda"] - true_lambda(columns[name], rows[name]["lambda"])) < 5e-7
    scaled = Scaler(found[0]).transform(pooled)
    assert np.isfinite(scaled).all()
    changing = np.array(["constant" not in row.get("note", "") for row in rows.values()])
    np.testing.assert_allclose(scaled[:, changing].std(axis=0), 1, rtol=1e-6)
    assert not scaled[:, ~changing].any() or np.ptp(scaled[:, ~changing], axis=0).max() < 1e-300


@either_way
def test_missing_values_of_a_whole_cohort_and_of_all(opens: str) -> None:
    parts = evenly(loaded("iris"), 4)
    parts[1][:, 2] = np.nan
    for part in parts:
        part[:, 3] = np.nan
    found = fit("yeo-johnson", parts, opens=opens)
    assert found["features"][2]["n"] == 150 - len(parts[1]) and found["features"][3]["note"] == EMPTY
    assert found["features"][3]["lambda"] is None
    assert (
        abs(column(found, "lambda")[2] - true_lambda(np.concatenate(parts)[:, 2], column(found, "lambda")[2]))
        < 5e-7
    )
    nothing = fit("yeo-johnson", [np.full((20, 2), np.nan)] * 3, opens=opens)
    assert [row["note"] for row in nothing["features"]] == [EMPTY, EMPTY]


def rounds_of(parts: list[np.ndarray]) -> int:
    """How many questions a study asks, from the first."""
    plan = plan_of("yeo-johnson", 1)
    return len(followed(plan, NOBODY, [ArrayTable(part) for part in parts]).answers)


@either_way
@pytest.mark.skipif(np.finfo(LONG).eps > 1e-18, reason="no long double on this machine")
@pytest.mark.parametrize("scale", [1e-3, 5e-9, 1e-12, 1e-160, 1e-250])
@pytest.mark.parametrize("shape", ["lognormal", "normal", "one of many"])
def test_a_unit_that_makes_values_tiny_costs_no_rounds(scale: float, shape: str, opens: str) -> None:
    """Its lambda is large, for only that bends what lies so close together."""
    random = np.random.default_rng(3)
    plain = {
        "lognormal": random.lognormal(size=120),
        "normal": random.normal(size=120),
        "one of many": np.append(np.zeros(119), 1.0),
    }[shape]
    parts = evenly(scale * plain[:, None], 3)
    assert rounds_of(parts) <= 17
    found = fit("yeo-johnson", parts, opens=opens)
    power = column(found, "lambda")[0]
    off = 5e-7 * max(1.0, abs(power) / 4096)
    own = scale * plain.astype(LONG)
    assert derivative(own, LONG(power) - LONG(off)) > 0 > derivative(own, LONG(power) + LONG(off))
    scaled = Scaler(found).transform(scale * plain[:, None])
    assert abs(scaled.mean()) < 1e-9 and scaled.std() == pytest.approx(1, rel=1e-9)


@either_way
def test_values_too_large_are_named_as_such(opens: str) -> None:
    values = np.linspace(-1, 1, 20)
    with pytest.raises(Refuse, match="values of feature 1 are too large for this transform"):
        fit("yeo-johnson", [np.column_stack([values, 1.7e308 * values, 1e300 * values])] * 3, opens=opens)


def exact_sign(x: np.ndarray, power: float, off: float) -> bool:
    """Whether the likelihood grows at power + off: by the definition, in 60 digits, for positive values.

    A variance does not see that -1 / power, which would leave no digits, is left out of Psi.
    """
    with localcontext(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX):
        at, n = Decimal(power) + Decimal(off), len(x)
        logarithms = [(1 + Decimal(value)).ln() for value in x.tolist()]
        y = [(at * phi).exp() / at for phi in logarithms]
        slope = [phi * value - value / at for phi, value in zip(logarithms, y, strict=True)]
        mean = sum(y) / n
        covariance = sum((value - mean) * by for value, by in zip(y, slope, strict=True)) / n
        return sum(logarithms) / n * sum((value - mean) ** 2 for value in y) / n > covariance


@either_way
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("offset", "scale"),
    [
        (0.0, 1.0),
        (1e2, 1.0),
        (1e6, 1.0),
        (1e9, 1e-3),
        (1e12, 10.0),
        (4e14, 64.0),
        (1e15, 1e4),
        (1e300, 1e289),
    ],
)
def test_an_offset_does_not_hide_the_root(offset: float, scale: float, sign: int, opens: str) -> None:
    """However far from 0 values lie, and however close to each other: lambda, and the way back."""
    x = sign * (offset + scale * np.random.default_rng(8).lognormal(size=90))
    assert rounds_of(evenly(x[:, None], 3)) <= 17
    found = fit("yeo-johnson", evenly(x[:, None], 3), opens=opens)
    (row,), power = found["features"], column(found, "lambda")[0]
    assert "note" not in row
    own = power if sign > 0 else 2 - power  # mirrored, the likelihood is that of 2 - lambda
    off = max(5e-7, 1.3e-10 * abs(own))
    assert exact_sign(sign * x, own, -off) and not exact_sign(sign * x, own, off)
    scaled = Scaler(found).transform(x[:, None])
    assert scaled.std() == pytest.approx(1, rel=1e-9) and abs(scaled.mean()) < 1e-9
    back = Scaler(found).inverse_transform(scaled)[:, 0]
    assert np.all(np.abs(back - x) <= 1e-9 * np.ptp(x) + np.spacing(np.abs(x)))


@either_way
@pytest.mark.parametrize("cohorts", [3, 4])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_varies_by_rounding_only_is_left_as_it_is(cohorts: int, sign: int, opens: str) -> None:
    random = np.random.default_rng(0)
    pooled = sign * np.column_stack(
        [
            4e14 + 0.0625 * random.poisson(3, 600),
            np.where(np.arange(600) % 3 == 0, 0.1 + 0.2, 0.3),
            np.append(np.full(599, 7.0), np.nextafter(7.0, 8.0)),
            1e6 + 1e-3 * random.normal(size=600),
        ]
    )
    found = fit("yeo-johnson", evenly(pooled, cohorts), opens=opens)
    reference = PowerTransformer().fit(pooled)
    nearly = reference.lambdas_ == 1
    assert nearly.tolist() == [True, True, True, False]
    assert np.array_equal(column(found, "lambda") == 1, nearly)
    assert [row.get("note") == NEARLY_CONSTANT for row in found["features"]] == nearly.tolist()
    scaled = Scaler(found).transform(pooled)
    assert np.all(np.abs(scaled[:, nearly]).max(axis=0) <= np.ptp(pooled[:, nearly], axis=0))
    assert np.array_equal(Scaler(found).inverse_transform(scaled)[:, nearly], pooled[:, nearly])


@either_way
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("zeros", [1, 5, 10, 20, 22, 25, 60])
def test_few_zeros_come_back_as_zeros(zeros: int, sign: int, opens: str) -> None:
    """Their transform is that of every value below but for rounding."""
    x = sign * np.append(np.ones(1000 - zeros), np.zeros(zeros))[:, None]
    scaler = Scaler(fit("yeo-johnson", evenly(x, 4), opens=opens))
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(x)), x, atol=1e-9)
    if zeros != 10:  # there scikit-learn's own rounding goes astray
        reference = PowerTransformer().fit(x)
        np.testing.assert_allclose(reference.inverse_transform(reference.transform(x)), x, atol=1e-9)


def flat_columns(n: int = 1000) -> dict[str, np.ndarray]:
    random = np.random.default_rng(4)
    inflated = np.append(np.zeros(n - 40), random.lognormal(size=40))
    return {
        "few ones": np.append(np.zeros(n - 20), np.ones(20)),
        "rare counts": np.append(np.zeros(n - 30), random.integers(1, 4, 30)),
        "zero-inflated lognormal": inflated,
        "coded 1 and 2": np.append(np.full(n - 10, 2.0), np.ones(10)),
        "counts": random.poisson(0.3, n) * 1.0,
        "half zeros": np.where(random.random(n) < 0.5, 0.0, random.lognormal(size=n)),
        "normal": random.normal(size=n),
        "beta": random.beta(1, 10, n),
        "tiny, few": 1e-300 * np.append(np.ones(n - 20), np.zeros(20)),
        "years": 1900.0 + random.integers(0, 100, n),
    }


@either_way
@pytest.mark.parametrize("sign", [1, -1])
def test_what_the_inverse_loses_has_a_note(sign: int, opens: str) -> None:
    columns = flat_columns()
    pooled = sign * np.column_stack(list(columns.values()))
    found = fit("yeo-johnson", evenly(pooled, 4), opens=opens)
    back = Scaler(found).inverse_transform(Scaler(found).transform(pooled))
    assert not np.isinf(back).any()
    lost = ~np.all(np.abs(back - pooled) <= 1e-9 * np.ptp(pooled, axis=0), axis=0)
    noted = np.array([row.get("note") == FLAT for row in found["features"]])
    assert not np.any(lost & ~noted)
    assert dict(zip(columns, noted.tolist(), strict=True)) == {
        name: name in ("few ones", "rare counts", "zero-inflated lognormal", "coded 1 and 2", "tiny, few")
        for name in columns
    }


def test_under_gaussian_masks_there_is_no_sign() -> None:
    with pytest.raises(PlanError, match="masking: modular only"):
        check(plan_of("yeo-johnson", 2, masking="gaussian"))


@pytest.mark.parametrize("root", [-2592.52, -64.0, -0.2, 0.0, 1.0, 1.7, 93.3])
def test_the_search_trusts_the_nearest_change_of_sign(root: float) -> None:
    """Far from the start all signs are wrong, and farther ones unknown, as without digits they are."""
    brackets, rounds = Brackets.first(np.array([True, False]), np.ones(2)), 0
    reliable = 2 * abs(root - START) + 10
    while len(brackets.open):
        asked = brackets.questions()
        signs = np.where(root >= asked, 1, -1)
        signs = np.where(np.abs(asked - START) > reliable, -signs, signs)
        signs = np.where(np.abs(asked - START) > 4 * reliable, 0, signs)
        brackets, rounds = brackets.narrowed(signs.astype(np.int8)), rounds + 1
        assert asked.shape == (1, ASKED) and rounds < 13
    assert abs(brackets.found[0] - root) < 5e-7 and brackets.found[1] == START and not brackets.edge.any()


def test_the_search_stops_where_signs_are_unknown() -> None:
    brackets = Brackets.first(np.array([True]), np.ones(1))
    while len(brackets.open):
        asked = brackets.questions()
        brackets = brackets.narrowed((asked < 20).astype(np.int8))
    assert brackets.edge[0] and 20 - 1e-6 < brackets.found[0] < 20
