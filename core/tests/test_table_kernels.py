"""The compiled loops over tables beside their slow, clear twins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unpooled import yeo_johnson
from unpooled.kernels.columns import BLOCK, exact_moments, moments, within_powers

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
