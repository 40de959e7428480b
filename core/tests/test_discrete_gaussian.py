"""Draws from the discrete Gaussian have its chances, and follow from the stream."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from unpooled.kernels.discrete_gaussian import LARGEST, Words, discrete_gaussian

DRAWS = 200_000


def drawn(deviation: int, size: int = DRAWS, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)

    def words(n: int) -> Words:
        return random.integers(0, 1 << 64, n, dtype=np.uint64)

    return discrete_gaussian(words, deviation, size)


@pytest.mark.parametrize("deviation", [1, 2, 3, 10])
def test_each_number_comes_as_often_as_its_chance(deviation: int) -> None:
    far = 40 * deviation
    chances = np.exp(-(np.arange(-far, far + 1) ** 2) / (2 * deviation**2))
    chances /= chances.sum()
    counts = np.bincount(drawn(deviation) + far, minlength=2 * far + 1)
    common = chances * DRAWS >= 5  # below that the test's distribution is not chi-square's
    expected = np.append(chances[common], chances[~common].sum()) * DRAWS
    observed = np.append(counts[common], counts[~common].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.parametrize("deviation", [1_000, LARGEST])
def test_of_a_large_deviation_it_is_the_normal_distribution(deviation: int) -> None:
    assert stats.kstest(drawn(deviation), "norm", args=(0, deviation)).pvalue > 1e-4


def test_the_same_stream_gives_the_same_numbers_whatever_else_is_drawn() -> None:
    assert (drawn(77, 5_000)[:9] == drawn(77, 9)).all()
    assert (drawn(77, 9, seed=2) != drawn(77, 9)).any()


@pytest.mark.parametrize("deviation", [0, LARGEST + 1])
def test_a_deviation_that_would_overflow_is_refused(deviation: int) -> None:
    with pytest.raises(ValueError, match="from 1 to"):
        drawn(deviation, 1)
