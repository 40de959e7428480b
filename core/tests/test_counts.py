"""The counting kernel against a slow and clear twin."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.kernels.counts import count_genotypes, group_masks

HOM_A1, MISSING, HET, HOM_A2 = range(4)


def slow_counts(codes: np.ndarray, members: np.ndarray) -> np.ndarray:
    """By the definition, from one code a sample: (variants, groups, 3)."""
    return np.array(
        [
            [[np.sum(row[group] == code) for code in (HOM_A1, HET, HOM_A2)] for group in members]
            for row in codes
        ]
    ).reshape(len(codes), len(members), 3)


def pack(codes: np.ndarray, padding: np.ndarray) -> np.ndarray:
    """Codes (variants, samples) as words, with the given codes after the last sample."""
    every = np.concatenate([codes, padding], axis=1).astype(np.uint64)
    shifts = 2 * np.arange(32, dtype=np.uint64)
    return np.asarray(np.bitwise_or.reduce(every.reshape(len(codes), -1, 32) << shifts, axis=2))


@pytest.mark.parametrize("samples", [1, 2, 31, 32, 33, 63, 64, 65, 96, 97, 128, 500, 1781])
def test_counts_are_those_of_the_slow_twin(samples: int) -> None:
    random = np.random.default_rng(samples)
    codes = random.integers(0, 4, (7, samples))
    words = pack(codes, random.integers(0, 4, (7, -samples % 32)))
    of = random.integers(0, 5, samples)
    members = np.stack([of == 0, of == 1, of >= 2, np.zeros(samples, bool), np.ones(samples, bool)])
    assert np.array_equal(count_genotypes(words, group_masks(members)), slow_counts(codes, members))


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
