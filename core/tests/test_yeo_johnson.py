"""Yeo and Johnson's transform: the lambda of the pooled table, whoever has which row.

The true lambda is that at which the derivative of the likelihood is 0, by bisection in 64 digits of two more
than float64 has: scikit-learn's own search fails on some features here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from normalizing import NOBODY, SPLITS, TABLES, column, evenly, fit, loaded, plan_of
from scipy import stats
from sklearn.preprocessing import PowerTransformer, StandardScaler

from unpooled.algorithms import check
from unpooled.algorithms.normalization.bracket import ASKED, START, Brackets
from unpooled.cohort import ArrayTable
from unpooled.errors import UnpooledError
from unpooled.plan import PlanError
from unpooled.scaler import CONSTANT, EDGE, EMPTY, Scaler
from unpooled.step import Step

LONG = np.longdouble


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


def test_the_transformer_is_that_of_scikit_learn() -> None:
    pooled = loaded("wine")
    found = fit("yeo-johnson", evenly(pooled, 3))
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


def test_odd_values() -> None:
    columns = odd_columns()
    pooled = np.column_stack(list(columns.values()))
    found = [fit("yeo-johnson", split(pooled, 4)) for split in SPLITS]
    for one in found[1:]:
        for name in ("lambda", "centre", "spread"):
            np.testing.assert_allclose(column(one, name), column(found[0], name), rtol=1e-9, atol=1e-300)
    rows = dict(zip(columns, found[0]["features"], strict=True))
    notes = {name: row["note"] for name, row in rows.items() if "note" in row}
    assert notes == {"far from 0": EDGE, "denormal": CONSTANT, "constant": CONSTANT}
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


def test_missing_values_of_a_whole_cohort_and_of_all() -> None:
    parts = evenly(loaded("iris"), 4)
    parts[1][:, 2] = np.nan
    for part in parts:
        part[:, 3] = np.nan
    found = fit("yeo-johnson", parts)
    assert found["features"][2]["n"] == 150 - len(parts[1]) and found["features"][3]["note"] == EMPTY
    assert found["features"][3]["lambda"] is None
    assert (
        abs(column(found, "lambda")[2] - true_lambda(np.concatenate(parts)[:, 2], column(found, "lambda")[2]))
        < 5e-7
    )
    nothing = fit("yeo-johnson", [np.full((20, 2), np.nan)] * 3)
    assert [row["note"] for row in nothing["features"]] == [EMPTY, EMPTY]


def rounds_of(parts: list[np.ndarray]) -> int:
    """How many questions a study asks, from the first."""
    (question,), rounds = check(plan_of("yeo-johnson", 1)).first(plan_of("yeo-johnson", 1), NOBODY), 1
    while True:
        answers = [question.local(ArrayTable(part)) for part in parts]  # type: ignore[arg-type]
        (found,) = question.aggregate({name: sum(part[name] for part in answers) for name in answers[0]})
        if not isinstance(found, Step):
            return rounds
        question, rounds = found, rounds + 1


@pytest.mark.skipif(np.finfo(LONG).eps > 1e-18, reason="no long double on this machine")
@pytest.mark.parametrize("scale", [1e-3, 5e-9, 1e-12, 1e-160, 1e-250])
@pytest.mark.parametrize("shape", ["lognormal", "normal", "one of many"])
def test_a_unit_that_makes_values_tiny_costs_no_rounds(scale: float, shape: str) -> None:
    """Its lambda is large, for only that bends what lies so close together."""
    random = np.random.default_rng(3)
    plain = {
        "lognormal": random.lognormal(size=120),
        "normal": random.normal(size=120),
        "one of many": np.append(np.zeros(119), 1.0),
    }[shape]
    parts = evenly(scale * plain[:, None], 3)
    assert rounds_of(parts) <= 17
    found = fit("yeo-johnson", parts)
    power = column(found, "lambda")[0]
    off = 5e-7 * max(1.0, abs(power) / 4096)
    own = scale * plain.astype(LONG)
    assert derivative(own, LONG(power) - LONG(off)) > 0 > derivative(own, LONG(power) + LONG(off))
    scaled = Scaler(found).transform(scale * plain[:, None])
    assert abs(scaled.mean()) < 1e-9 and scaled.std() == pytest.approx(1, rel=1e-9)


def test_values_too_large_are_named_as_such() -> None:
    with pytest.raises(UnpooledError, match="too large for this transform"):
        fit("yeo-johnson", [1.7e308 * np.linspace(-1, 1, 20).reshape(20, 1)] * 3)


def test_under_gaussian_masks_there_is_no_sign() -> None:
    with pytest.raises(PlanError, match="want modular"):
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
