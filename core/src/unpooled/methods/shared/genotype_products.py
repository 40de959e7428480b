"""Products of the genotypes with columns of people, and with weights of variants, block by block.

X is (people, variants), each variant about a mean, which stands for its missing calls.
"""

from __future__ import annotations

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.kernels import products as kernel
from unpooled.kernels.scores import add_scores


def times_genotypes(
    cohort: Cohort, variants: np.ndarray, mean: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """X' times columns, float64 (n, c), for some variants, by panel index: float64 (m, c)."""
    found, total = np.empty((len(variants), columns.shape[1])), columns.sum(axis=0)
    for part in blocks(len(variants), len(cohort.samples)):
        packed = cohort.packed(variants[part])
        called = total - kernel.over_missing(packed.words, columns)
        found[part] = kernel.products(packed.words, packed.swapped, columns) - mean[part, None] * called
    return found


def scores_of(cohort: Cohort, variants: np.ndarray, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """X times weights, float64 (m, s), for some variants, by panel index: float64 (n, s)."""
    found = np.zeros((len(cohort.samples), weights.shape[1]))
    for part in blocks(len(variants), len(cohort.samples)):
        packed = cohort.packed(variants[part])
        add_scores(packed.words, packed.swapped, mean[part], weights[part], found)
    return found
