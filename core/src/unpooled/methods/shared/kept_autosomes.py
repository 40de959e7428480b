"""Questions about all variants of the autosomes that a study keeps, at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.question import Foreseen, Question, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.methods.shared.chunks import foreseen_autosomal
from unpooled.methods.shared.copies import copies_of
from unpooled.methods.shared.options import DOSAGES
from unpooled.plan.plan import Plan


def times_genotypes(
    cohort: Cohort, variants: np.ndarray, mean: np.ndarray, columns: np.ndarray, *, dosed: bool = False
) -> np.ndarray:
    """X' times columns, float64 (n, c), for some variants, by panel index: float64 (m, c)."""
    found, total = np.empty((len(variants), columns.shape[1])), columns.sum(axis=0)
    for part in blocks(len(variants), len(cohort.samples)):
        copies = copies_of(cohort, variants[part], dosed=dosed)
        called = total - copies.over_missing(np.ones(len(found[part]), bool), columns)
        found[part] = copies.with_squares(columns, columns[:, :0]) - mean[part, None] * called
    return found


def scores_of(
    cohort: Cohort,
    variants: np.ndarray,
    mean: np.ndarray,
    weights: np.ndarray,
    power: int = 1,
    *,
    dosed: bool = False,
) -> np.ndarray:
    """X times weights, float64 (m, s), for some variants, by panel index: float64 (n, s).

    With a power, of each product this before they are added.
    """
    found = np.zeros((len(cohort.samples), weights.shape[1]))
    for part in blocks(len(variants), len(cohort.samples)):
        copies_of(cohort, variants[part], dosed=dosed).add_scores(mean[part], weights[part], found, power)
    return found


class OfKept(UnderPlan):
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
        of_items = np.ascontiguousarray(weights.T)
        return scores_of(cohort, self.items, self.mean, of_items, dosed=DOSAGES.of(self.plan))

    def times_genotypes(self, cohort: Cohort, columns: np.ndarray) -> np.ndarray:
        """X' times columns, float64 (n, c): float64 (kept, c)."""
        return times_genotypes(cohort, self.items, self.mean, columns, dosed=DOSAGES.of(self.plan))

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
