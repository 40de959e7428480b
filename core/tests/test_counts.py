"""The counting kernel at its edges; tests/oracles and tests/fuzz count whole studies beside PLINK."""

from __future__ import annotations

import numpy as np

from unpooled.kernels.counts import count_genotypes, group_masks


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
