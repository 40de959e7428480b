"""A floor of people whose genotypes lie far from everybody else's: sums of many variants would be of these.

The variants may be chosen so that one person has the rarer allele of most of them: then the first component
is that person, and its loadings are that person's genotypes, as are projections of a polygenic score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import total
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.kept_autosomes import OfKept, scores_of
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.without_any import capped, capped_count, is_few_without_any
from unpooled.plan.common_options import COMPONENTS, MAF
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

_SPREADS = 4
"""So many spreads beyond the mean chance does not take a person's sum of squared genotypes."""


# Where genotypes x are independent, a person's sum of their squares is off the mean by about √Σx⁴ at most: by
# much if variants are few, or alleles rare.
def refuse_far_out(
    study: Study,
    kept: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    squares: np.ndarray,
    kind: Callable[[Plan, np.ndarray, np.ndarray, np.ndarray, float], Question] | None = None,
) -> Asks[None]:
    """Refuse a pool of which few people have genotypes so far out that a component could be theirs.

    A genotype is (copies - mean) x scale of a variant that is `kept`; `squares`, float64 (m,), is the mean of
    its square. The question is of this `kind`, or `CountFarOut`.
    """
    largest = np.maximum(mean, 2 - mean) * scale
    middle, spread = float(total(squares)), math.sqrt(float(total(squares * largest * largest)))
    limit = middle + max(middle, _SPREADS * spread)
    counted = yield (kind or CountFarOut)(study.plan, kept, mean, scale, limit)
    if is_few_without_any(study.plan, counted["people"], counted["capped"]).any():
        raise Refuse(
            MAF.name,
            f"fewer than {FEWEST_AT_A_LEVEL} people of the pool, or of the pool without one of the cohorts, "
            "have genotypes so far from all others' that a component or a prediction could be theirs, and "
            "sums would tell them",
            "Have each cohort find them by the components of its own people, and leave them out; or raise "
            "the lowest minor allele frequency. If the study is about far fewer variants than the cohorts "
            "have, ask who left them out.",
        )


@dataclass(frozen=True, eq=False)
class CountFarOut(OfKept, name="genotypes/far-out", title="Count people who lie far out", ring_bits=64):
    """Counts the people whose genotypes lie far from everybody else's."""

    asked_if: ClassVar[Condition] = lambda plan: plan.test in ("pca", "polygenic") or COMPONENTS.of(plan)
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            (1,),
            MOST_PEOPLE,
            "number of people whose squared genotypes, about their means and in their units, add up to at "
            "least twice the pool's mean",
            "how many people of the pool may outweigh all others in a component or a score",
        ),
        capped_count(
            (1,), f"whether these are {FEWEST_AT_A_LEVEL} without any one cohort; fewer end the study"
        ),
    )

    kept: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    limit: float

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return cls.foreseen_widest(plan, sizes, lambda kept, mean: cls(plan, kept, mean, mean, 0.0))

    def local(self, cohort: Cohort) -> Arrays:
        dosed = bool(DOSAGES.of(self.plan))
        squares = scores_of(cohort, self.items, self.mean, self.scale[:, None], power=2, dosed=dosed)
        far = np.array([np.count_nonzero(squares[cohort.samples.kept] > self.limit)])
        return {"people": far, "capped": capped(far)}
