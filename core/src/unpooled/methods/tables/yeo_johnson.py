"""The transform of Yeo and Johnson that makes each feature of the pool most like a normal.

The log-likelihood of lambda is -n/2 log Var(Psi) + (lambda - 1) sum of phi (Yeo and Johnson 2000; the search
by signs is that of Marchand and others 2022, SecureFedYJ). Cohorts sum the transform about a common centre,
g, as `unpooled.fitted.yeo_johnson` has it. It differs from Psi by a shift, which a variance does not see, and
by the factor exp((lambda - 1) phi(centre)); so the derivative by lambda, divided by n and times the variance,
is

    mean(phi - phi(centre)) Var(g) - Cov(g, g')

The transform grows with phi(x) - phi(centre), so its values at both ends of that range bound it. The ends are
known to 12 bits of their distance from the centre, however far from 0 the values lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Each, Go, Study, procedure
from unpooled.asking.question import Arrays, Condition, Foreseen, Real
from unpooled.asking.sizes import Sizes
from unpooled.fitted import yeo_johnson as transform
from unpooled.kernels.columns import moments
from unpooled.methods.tables.bracket import Brackets
from unpooled.methods.tables.census import count_values
from unpooled.methods.tables.moments import OfFeatures
from unpooled.methods.tables.order import narrow
from unpooled.methods.tables.ranges import FindRange, ends
from unpooled.methods.tables.search import Pool, search
from unpooled.methods.tables.signs import by_signs
from unpooled.methods.tables.table import table_values
from unpooled.plan.common_options import BITS, OPENS
from unpooled.plan.plan import Plan

LARGEST_LOGARITHM = 710.0


@procedure("yeo-johnson")
def yeo_johnson(study: Study) -> Asks[None]:
    """Find a centre and how far values lie from it; from there search."""
    n = yield from count_values(study)
    if OPENS.of(study.plan) == BITS:
        yield from Go(by_signs(study, n, np.zeros(len(n))))
    sums = yield AverageLogarithms(n)
    # The mean of phi: about it offsets add up to 0, so neither side overflows long before the other.
    centre = transform.exponential(sums["logarithms"] / np.maximum(n, 1))
    asked = FindRange.about(study.plan, n, centre)
    (found,) = yield Each([narrow(study, asked, ends(n))])
    pool = Pool(n, *asked.range_of(found, n), centre)
    yield from Go(search(study, pool, Brackets.first(n > 0, pool.first_step())))


@dataclass(frozen=True, eq=False)
class AverageLogarithms(
    OfFeatures, name="normalization/logarithms", title="Average logarithms", ring_bits=128
):
    """Sums of phi, which no value makes larger than 710."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "logarithms",
            ("features",),
            "largest",
            "per feature: the sum of sgn(x) log(1 + |x|)",
            "the mean logarithm of each feature of the pool",
        ),
    )
    asked_if: ClassVar[Condition] = lambda plan: OPENS.of(plan) != BITS

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(cls.foreseen_values(plan))], exact=OPENS.of(plan) != BITS)

    @property
    def largest(self) -> float:
        return LARGEST_LOGARITHM * self.most

    def local(self, table: Table) -> Arrays:
        logarithms = transform.logarithm(table_values(table, self.features))
        nothing = np.zeros(self.features)
        return {"logarithms": moments(logarithms, nothing, nothing.astype(np.int64))[0]}
