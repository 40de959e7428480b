"""The kernels that multiply genotypes with columns, against slow and clear twins."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.kernels.products import over_missing, products

COPIES = np.array([[2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 2.0]])
MISSING = 1


def slow_products(codes: np.ndarray, swapped: np.ndarray, columns: np.ndarray, power: int = 1) -> np.ndarray:
    """By the definition: (variants, columns)."""
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
