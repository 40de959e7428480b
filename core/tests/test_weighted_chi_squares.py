"""Tails of sums of weighted chi-squares: SciPy's where weights are alike, a table, and Imhof's integral."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.oracles.gene_tests import imhof
from unpooled.kernels.weighted_chi_squares import neg_log10_tail, quantiles


@pytest.mark.parametrize("count", [1, 2, 3, 10, 100, 1000])
def test_of_equal_weights_it_is_scipys_chi_square_in_both_tails(count: int) -> None:
    q = count * np.array([0, 1e-6, 1e-4, 0.1, 0.5, 0.9, 1, 1.1, 1.5, 2, 5, 50, 1000])
    expected = -stats.chi2.logsf(q, count) / np.log(10)
    known = np.isfinite(expected)  # SciPy's own ends at 1e-308
    found = neg_log10_tail(3 * q, np.full(count, 3.0))
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-11, atol=1e-11)
    assert (np.diff(found) >= 0).all() and np.isfinite(found).all()


IMHOF_1961 = [
    ([0.6, 0.3, 0.1], 0.1, 0.9458),
    ([0.6, 0.3, 0.1], 0.7, 0.5064),
    ([0.6, 0.3, 0.1], 2.0, 0.1240),
    ([0.6] * 2 + [0.3] * 2 + [0.1] * 2, 0.2, 0.9936),
    ([0.6] * 2 + [0.3] * 2 + [0.1] * 2, 2.0, 0.3998),
    ([0.6] * 2 + [0.3] * 2 + [0.1] * 2, 6.0, 0.0161),
    ([0.6] * 6 + [0.3] * 4 + [0.1] * 2, 1.0, 0.9973),
    ([0.6] * 6 + [0.3] * 4 + [0.1] * 2, 5.0, 0.4353),
    ([0.6] * 6 + [0.3] * 4 + [0.1] * 2, 12.0, 0.0088),
]
"""Weights, a number, and P that it is exceeded: table 1 of Imhof (1961), Q1 to Q3."""


@pytest.mark.parametrize(("weights", "q", "p"), IMHOF_1961)
def test_it_has_the_values_that_imhof_published(weights: list[float], q: float, p: float) -> None:
    assert round(float(10 ** -neg_log10_tail(q, weights)[0]), 4) == pytest.approx(p, abs=1.01e-4)


@pytest.mark.parametrize("seed", range(8))
def test_of_any_weights_it_is_imhofs_integral(seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.exponential(size=4 + 4 * seed) ** (1 + seed % 3)
    for q in weights.sum() * np.array([0.2, 0.7, 1, 2, 4]):
        assert 10 ** -neg_log10_tail(q, weights)[0] == pytest.approx(imhof(q, weights), abs=1e-9)


def test_rows_of_weights_are_each_by_themselves_and_zeros_count_nothing() -> None:
    weights = np.array([[5.0, 1, 0, 0], [2, 2, 2, 0.1]])
    found = neg_log10_tail([9.0, 9], weights)
    alone = [neg_log10_tail(9, [5, 1])[0], neg_log10_tail(9, [2, 2, 2, 0.1])[0]]
    np.testing.assert_allclose(found, alone, rtol=1e-11)


@pytest.mark.parametrize("neg_log10_p", [0.2, 3, 40, 290])
def test_quantiles_are_exceeded_with_the_p_that_was_asked_for(neg_log10_p: float) -> None:
    weights = np.array([[1.0, 1, 1], [1, 0.01, 1e-4], [9, 0, 0]])
    found = quantiles(neg_log10_p, np.full(3, 1e-3), weights)
    np.testing.assert_allclose(neg_log10_tail(found, weights), neg_log10_p, rtol=1e-10)
    assert found[0] == pytest.approx(stats.chi2.isf(10**-neg_log10_p, 3), rel=1e-9)
