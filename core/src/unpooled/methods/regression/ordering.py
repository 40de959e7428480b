"""Choice of A1 before a fit that depends on it: counting copies of the other allele gives another fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Condition, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.methods.regression.floors import has_floors
from unpooled.methods.regression.pool import foreseen_fits
from unpooled.methods.shared.chunks import Chunk
from unpooled.methods.shared.genotype_counts import AlleleOrder, Counted, most_say_first
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class OrderBeforeFit(AlleleOrder):
    """Asks which allele is A1 where both are equally frequent, for variants of a chunk to be fitted."""

    name: ClassVar[str] = "regression/order-before-fit"
    title: ClassVar[str] = "Order the alleles of ties before they are fitted"
    asked_if: ClassVar[Condition] = lambda plan: (
        not terms_of(plan).is_plain or (plan.trait != "quantitative" and has_floors(plan))
    )

    chromosome: str

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_fits(plan, sizes)
        if chunks is None:
            return None
        questions = (cls(np.arange(chunk.start, chunk.stop), chunk.chromosome) for chunk in chunks)
        return Foreseen(questions, exact=False)


def order_of(
    study: Study, chunk: Chunk, counted: Counted, few: np.ndarray | np.bool_ = np.False_
) -> Asks[tuple[np.ndarray, np.ndarray]]:
    """Find which variants have the first allele as A1, and which are still ties: bool (m,) each.

    A regression on copies is settled with its own sums; every other one here, and that of too `few` carriers,
    bool (m,), of which there are no sums.
    """
    first_is_a1, tied = counted.order()
    now = tied & (few | (not terms_of(study.plan).is_plain))
    if not now.any():
        return first_is_a1, tied
    sums = yield OrderBeforeFit(counted.variants[now], chunk.chromosome)
    found = first_is_a1.copy()
    found[now] = most_say_first(sums["first"], study.plan.cohorts)
    return found, tied & ~now
