"""Questions about all variants of the autosomes that a study keeps, at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.question import Foreseen, Question
from unpooled.asking.sizes import Sizes
from unpooled.kernels import products as kernel
from unpooled.kernels.scores import add_scores
from unpooled.methods.shared.chunks import foreseen_autosomal
from unpooled.plan.plan import Plan


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


def scores_of(
    cohort: Cohort, variants: np.ndarray, mean: np.ndarray, weights: np.ndarray, power: int = 1
) -> np.ndarray:
    """X times weights, float64 (m, s), for some variants, by panel index: float64 (n, s).

    With a power, of each product this before they are added.
    """
    found = np.zeros((len(cohort.samples), weights.shape[1]))
    for part in blocks(len(variants), len(cohort.samples)):
        packed = cohort.packed(variants[part])
        add_scores(packed.words, packed.swapped, mean[part], weights[part], found, power)
    return found


class OfKept(Question):
    """About the variants that are kept, a missing call of each as its mean."""

    kept: np.ndarray
    """bool (variants of the panel up to the last that is kept,)"""
    mean: np.ndarray
    """float64 (kept,): copies of the panel's first allele in the pool, which stand for missing calls"""

    @property
    def items(self) -> np.ndarray:
        """Panel indices: int64 (kept,)."""
        return np.flatnonzero(self.kept)

    @property
    def reach(self) -> int:
        return len(self.kept)

    @property
    def variants(self) -> int:
        return int(np.count_nonzero(self.kept))

    def scores(self, cohort: Cohort, weights: np.ndarray) -> np.ndarray:
        """Score everyone by weights (s, kept): float64 (n, s)."""
        return scores_of(cohort, self.items, self.mean, np.ascontiguousarray(weights.T))

    @staticmethod
    def foreseen_widest(
        plan: Plan,
        sizes: Sizes | None,
        ask: Callable[[np.ndarray, np.ndarray], Question],
        rounds: int = 1,
        usual_rounds: int | None = None,
    ) -> Foreseen | None:
        """Foresee a question about `kept` and `mean` if all variants of the autosomes are kept."""
        chunks = foreseen_autosomal(plan, sizes)
        if chunks is None:
            return None
        kept = np.zeros(max((chunk.stop for chunk in chunks), default=0), bool)
        for chunk in chunks:
            kept[chunk.start : chunk.stop] = True
        return Foreseen([ask(kept, np.zeros(np.count_nonzero(kept)))], rounds, False, usual_rounds)
