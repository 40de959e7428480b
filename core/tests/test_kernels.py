"""Compiled kernels beside their slow and clear twins; tests/oracles and tests/fuzz have whole studies."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.contract.studies import STUDIES
from unpooled.fitted import yeo_johnson
from unpooled.kernels.columns import BLOCK, exact_moments, moments, within_powers
from unpooled.kernels.counts import count_genotypes, group_masks
from unpooled.kernels.dosages import COPY, NO_DOSAGE, from_copies
from unpooled.kernels.dosages import add_scores as add_scores_of_dosages
from unpooled.kernels.dosages import over_missing as over_missing_dosages
from unpooled.kernels.dosages import products as products_of_dosages
from unpooled.kernels.logistic import Design, Regressions
from unpooled.kernels.logistic_weights import CLIP
from unpooled.kernels.products import over_missing, products
from unpooled.plan.plan import Plan, PlanError

COPIES = np.array([[2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 2.0]])
MISSING = 1


def slow_products(codes: np.ndarray, swapped: np.ndarray, columns: np.ndarray, power: int = 1) -> np.ndarray:
    """Compute the products by the definition: (variants, columns)."""
    copies = [COPIES[int(of_a2)][row] for row, of_a2 in zip(codes, swapped, strict=True)]
    return np.array([each**power @ columns for each in copies])


def slow_over_missing(codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.array([columns[row == MISSING].sum(axis=0) for row in codes])


def pack(codes: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Codes (variants, samples) as words, with anything after the last sample."""
    m, n = codes.shape
    every = np.concatenate([codes, random.integers(0, 4, (m, -n % 32))], axis=1).astype(np.uint64)
    shifts = 2 * np.arange(32, dtype=np.uint64)
    return np.asarray(np.bitwise_or.reduce(every.reshape(m, -(-n // 32), 32) << shifts, axis=2))


@pytest.mark.parametrize("samples", [1, 31, 32, 33, 500, 1781, 1792, 1793, 4000])
@pytest.mark.parametrize("columns", [0, 1, 5, 8, 9])
def test_sums_are_those_of_the_slow_twin(samples: int, columns: int) -> None:
    random = np.random.default_rng(samples + columns)
    for variants in (0, 1, 70):
        codes = random.integers(0, 4, (variants, samples))
        values = random.normal(size=(samples, columns))
        values[random.random(samples) < 0.3] = 0
        words = pack(codes, random)
        swapped = random.random(variants) < 0.5
        found = products(words, swapped, values)
        want = slow_products(codes, swapped, values).reshape(variants, columns)
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-11)
        both = products(words, swapped, values, squared := random.normal(size=(samples, 2)))
        want = np.concatenate([want, slow_products(codes, swapped, squared, 2).reshape(variants, 2)], axis=1)
        np.testing.assert_allclose(both, want, rtol=1e-12, atol=1e-11)
        want = slow_over_missing(codes, values).reshape(variants, columns)
        np.testing.assert_allclose(over_missing(words, values), want, rtol=1e-12, atol=1e-11)


def test_whole_numbers_are_exact() -> None:
    random = np.random.default_rng(1)
    codes = random.integers(0, 4, (50, 3000))
    values = random.integers(-1000, 1000, (3000, 3)).astype(float)
    found = products(pack(codes, random), np.zeros(50, bool), values)
    assert np.array_equal(found, slow_products(codes, np.zeros(50, bool), values))


def at(codes, second, covariates, inside, case, unit, group, beta, fill, exact):  # type: ignore[no-untyped-def]
    """Return one variant's regression: (columns, cases, linear predictors, probabilities)."""
    g = COPIES[int(second)][codes] * unit
    missing = codes == 1
    kept = inside & ~missing if exact else inside
    g = np.where(missing, fill[group], g)
    x = np.column_stack([np.ones(len(g)), g, covariates])[kept]
    eta = np.clip(x @ beta, -CLIP, CLIP)
    return x, case[kept], eta, 1 / (1 + np.exp(-eta))


def slow(*given):  # type: ignore[no-untyped-def]
    """One variant by the definition: (log-likelihood, gradient, Hessian's upper triangle)."""
    x, y, eta, p = at(*given)
    likelihood = np.sum(y * eta - np.logaddexp(0, eta))
    hessian = x.T @ (x * (p * (1 - p))[:, None])
    return likelihood, x.T @ (y - p), hessian[np.triu_indices(x.shape[1])]


def slow_penalty(inverse, *given):  # type: ignore[no-untyped-def]
    """The same of the penalty: (derivative, upper triangle of the information that it adds)."""
    x, _, _, p = at(*given)
    weight = p * (1 - p)
    leverage = np.clip(weight * np.einsum("ni,ij,nj->n", x, inverse, x), 0, 1)
    added = x.T @ (x * (leverage * weight)[:, None])
    return x.T @ (leverage * (0.5 - p)), added[np.triu_indices(x.shape[1])]


@pytest.mark.parametrize("samples", [5, 32, 255, 256, 700])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("size", [0.3, 30.0])
def test_logistic_against_the_definition(samples: int, count: int, exact: bool, size: float) -> None:
    random = np.random.default_rng(samples + count)
    m, p = 5, count + 2
    codes = random.integers(0, 4, (m, samples))
    codes[0] = random.choice([0, 2, 3], samples)
    lacking = np.arange(m) > 0
    covariates = random.normal(size=(samples, count))
    inside = random.random(samples) < 0.8
    case = random.integers(0, 2, samples).astype(float)
    group = random.integers(0, 2, samples)
    unit = np.where(group == 0, 0.5, 1.0) if count else np.ones(samples)
    beta, fill, second = random.normal(size=(m, p)) * size, random.random((m, 2)), random.random(m) < 0.5
    words = pack(codes, random)
    design = Design.of(covariates, inside, case, unit, group)
    regressions = Regressions(words, second, lacking, design, fill, exact)
    found = regressions.evaluate(beta)
    none, *near = replace(regressions, design=design.in_single_precision()).evaluate(beta)
    assert not none.any()
    for v in range(m):
        want = slow(codes[v], second[v], covariates, inside, case, unit, group, beta[v], fill[v], exact)
        for ours, theirs in zip(found, want, strict=True):
            np.testing.assert_allclose(ours[v], theirs, rtol=1e-12, atol=1e-11)
        for ours, theirs in zip(near, want[1:], strict=True):
            np.testing.assert_allclose(ours[v], theirs, rtol=1e-3, atol=2e-4)
    spread = random.normal(size=(m, p, p)) / 3
    inverse = np.einsum("mij,mkj->mik", spread, spread)
    places = np.triu_indices(p)
    found = regressions.penalty(beta, inverse[:, *places])
    for v in range(m):
        want = slow_penalty(
            inverse[v], codes[v], second[v], covariates, inside, case, unit, group, beta[v], fill[v], exact
        )
        for ours, theirs in zip(found, want, strict=True):
            np.testing.assert_allclose(ours[v], theirs, rtol=1e-11, atol=1e-11)


def drawn(random: np.random.Generator, variants: int, people: int) -> np.ndarray:
    """Dosages, some of which are whole copies and some missing."""
    values = random.integers(0, 2 * COPY + 1, (variants, people))
    values = np.where(random.random(values.shape) < 0.3, values // COPY * COPY, values)
    return np.where(random.random(values.shape) < 0.1, NO_DOSAGE, values).astype(np.uint16)


def copies_of(values: np.ndarray, second: np.ndarray) -> np.ndarray:
    copies = np.where(second[:, None], 2 - values / COPY, values / COPY)
    return np.where(values == NO_DOSAGE, 0, copies)


FACTORS = [
    [one, other]
    for one in ((0, 1, 2), (0, 1, 1), (0, 0, 1), (0, 1, 0))
    for other in (one, (1, 1, 1), (0, 1, 0))
]
"""Values of whole copies in both factors of what counts."""


@pytest.mark.parametrize("people", [1, 7, 511, 512, 513, 2000])
@pytest.mark.parametrize("columns", [0, 1, 8, 9])
def test_sums_of_dosages_are_those_of_the_slow_twin(people: int, columns: int) -> None:
    random = np.random.default_rng(people + columns)
    for variants in (0, 1, 4, 7):
        values, second = drawn(random, variants, people), random.random(variants) < 0.5
        z = random.normal(size=(people, columns))
        factors, copies = (
            np.array(FACTORS)[random.integers(len(FACTORS), size=columns)],
            copies_of(values, second),
        )
        parts = [
            np.interp(copies, (0, 1, 2), one) * np.interp(copies, (0, 1, 2), other) for one, other in factors
        ]
        want = np.array([part @ column for part, column in zip(parts, z.T, strict=True)]).reshape(
            columns, variants
        )
        found = products_of_dosages(values, second, z, factors.transpose(1, 2, 0))
        np.testing.assert_allclose(found, want.T, rtol=1e-12, atol=1e-11)
        missing = (values == NO_DOSAGE) @ z
        np.testing.assert_allclose(over_missing_dosages(values, z), missing, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize(("variants", "people"), [(1, 1), (3, 5), (520, 9), (40, 130)])
@pytest.mark.parametrize("power", [1, 2])
def test_scores_of_dosages_are_those_of_the_slow_twin(variants: int, people: int, power: int) -> None:
    random = np.random.default_rng(variants)
    values, second = drawn(random, variants, people), random.random(variants) < 0.5
    mean, weights = random.random(variants), random.normal(size=(variants, 11))
    about = np.where(values == NO_DOSAGE, 0, copies_of(values, second) - mean[:, None])
    add_scores_of_dosages(values, second, mean, weights, found := np.ones((people, 11)), power)
    np.testing.assert_allclose(found, 1 + (about**power).T @ weights**power, rtol=1e-10, atol=1e-10)


def test_copies_in_single_precision_are_dosages_exactly() -> None:
    every = np.append(np.arange(2 * COPY + 1), NO_DOSAGE).astype(np.uint16)
    copies = np.where(every == NO_DOSAGE, -9, every / COPY).astype(np.float32)
    assert (from_copies(np.stack([copies, copies[::-1]])) == np.stack([every, every[::-1]])).all()


def test_a_plan_says_what_does_not_go_with_dosages() -> None:
    plan = STUDIES["linear, of dosages"]().plan.to_json() | {"files": ["glm", "assoc", "frq"]}
    with pytest.raises(PlanError) as refused:
        Plan.from_json(plan)
    assert "assoc, frq" in refused.value.problems["dosages"]


def test_nobody_and_nothing() -> None:
    masks = group_masks(np.zeros((0, 40), bool))
    assert count_genotypes(np.zeros((3, 2), np.uint64), masks).shape == (3, 0, 3)
    masks = group_masks(np.ones((2, 40), bool))
    assert count_genotypes(np.zeros((0, 2), np.uint64), masks).shape == (0, 2, 3)


def test_views_that_are_not_contiguous() -> None:
    random = np.random.default_rng(1)
    words = random.integers(0, 2**64, (10, 8), dtype=np.uint64)
    masks = group_masks(random.random((3, 128)) < 0.5)
    assert np.array_equal(
        count_genotypes(words[::2, :4], masks), count_genotypes(words[::2, :4].copy(), masks)
    )


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def table(rows: int = 3 * BLOCK + 7) -> np.ndarray:
    random = np.random.default_rng(4)
    values = random.normal(size=(rows, 5)) * 10.0 ** random.integers(-12, 12, (rows, 5))
    values[random.random(values.shape) < 0.1] = np.nan
    return values


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_have_twice_the_digits_of_their_terms(order: str) -> None:
    values, centre = np.asarray(table(), order=order), np.array([0.0, 1.5, -2.0, 1e12, 0.0])  # type: ignore[call-overload]
    exponent = np.array([0, 3, -3, 40, 1])
    sums, squares = moments(values, centre, exponent)
    for k in range(5):
        deviations = np.ldexp(values[:, k] - centre[k], -exponent[k])
        deviations = deviations[~np.isnan(deviations)]
        assert sums[k] == pytest.approx(math.fsum(deviations), rel=1e-15)
        assert squares[k] == pytest.approx(math.fsum(deviations**2), rel=1e-15)


def test_what_the_rounding_of_a_sum_loses_is_its_second_part() -> None:
    """Terms are exact, too: 1 - 1e-20 is no float64, and neither is the sum of so many of them."""
    values = np.array([[1.0], [1.0], [1e9], [-1e9], [3.0]])
    (sums, _) = exact_moments(values, np.array([1e-20]), np.array([0]))
    exact = sum(Fraction(x) - Fraction(1e-20) for x in values[:, 0].tolist())
    assert abs(Fraction(sums[0, 0]) + Fraction(sums[1, 0]) - exact) < Fraction(1e-30)
    assert abs(sums[1, 0]) <= np.spacing(sums[0, 0])


def test_differences_beyond_float64_are_numbers_in_their_unit() -> None:
    values = np.array([[1.75 * 2.0**1023], [-1.75 * 2.0**1023]])
    sums, squares = moments(values, np.array([-1.75 * 2.0**1023]), np.array([1025]))
    assert sums[0] == 0.875 and squares[0] == 0.875**2


def test_units_that_are_no_float64_themselves() -> None:
    sums, _ = moments(np.full((3, 2), 5e-324), np.zeros(2), np.array([-1074, -1070]))
    assert sums.tolist() == [3.0, 3 / 16]


@settings(max_examples=100)
@given(st.lists(FLOATS, max_size=8), st.lists(st.integers(-1090, 1030), min_size=1, max_size=8))
def test_sizes_are_counted_as_they_are(values: list[float], powers: list[int]) -> None:
    own = np.array([*values, np.nan, 0.0, 5e-324, -1.0])[:, None]
    size = [abs(x) for x in own[:, 0].tolist() if x == x]
    found = within_powers(own, np.array([powers]))
    # A float64 is at most 2^p if and only if x 2^-p is at most 1: exact in integers.
    exact = [sum(_at_most(x, power) for x in size) for power in powers]
    assert found.tolist() == [exact]


def _at_most(x: float, power: int) -> bool:
    numerator, denominator = x.as_integer_ratio()
    return numerator << max(-power, 0) <= denominator << max(power, 0)


CENTRES = (0.0, 0.5, 40.0, -1.5, -0.1)
POWERS = (-30.0, -3.0, -0.5, 0.0, 1e-9, 0.3, 1.0, 2.0, 2 - 1e-9, 2.5, 7.0)


def values() -> np.ndarray:
    random = np.random.default_rng(1)
    return np.concatenate([random.normal(size=300) * 3, random.lognormal(size=300), [0.0, -0.0, 1e-300]])


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("power", POWERS)
def test_the_transform_about_a_centre(centre: float, power: float) -> None:
    x = values()
    slope = yeo_johnson.derivative(np.array(centre), np.array(power))
    both = stats.yeojohnson(np.append(x, centre), power)
    about = yeo_johnson.about(x, centre, power)
    size = np.abs(both).max() / slope  # the digits that a difference of SciPy's numbers has
    np.testing.assert_allclose(about, (both[:-1] - both[-1]) / slope, rtol=1e-10, atol=1e-13 * size)
    if -3 <= power <= 5:  # beyond, the transform is so flat that digits are lost
        np.testing.assert_allclose(yeo_johnson.inverse(about, centre, power), x, rtol=1e-8, atol=1e-8)


def test_close_to_a_far_centre_nothing_cancels() -> None:
    x = np.array([1e9 + 1, 1e9 + 2, 1e9 - 0.5])
    np.testing.assert_allclose(yeo_johnson.offsets(x, 1e9), np.array([1, 2, -0.5]) / (1e9 + 1), rtol=1e-8)
    np.testing.assert_allclose(yeo_johnson.about(x, 1e9, 1000.0), [1, 2, -0.5], rtol=1e-5)
    np.testing.assert_allclose(yeo_johnson.about(-x, -1e9, -998.0), [-1, -2, 0.5], rtol=1e-5)
