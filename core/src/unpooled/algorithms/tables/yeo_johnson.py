"""The transform of Yeo and Johnson that makes each feature of the pool most like a normal.

The log-likelihood of lambda is -n/2 log Var(Psi) + (lambda - 1) sum of phi (Yeo and Johnson 2000; the
search by signs is that of Marchand and others 2022, SecureFedYJ). Cohorts sum the transform about a common
centre, g, as `unpooled.yeo_johnson` has it. It differs from Psi by a shift, which a variance does not see,
and by the factor exp((lambda - 1) phi(centre)); so the derivative by lambda, divided by n and times the
variance, is

    mean(phi - phi(centre)) Var(g) - Cov(g, g')

The transform grows with phi(x) - phi(centre), so its values at both ends of that range bound it. The ends are
known to 12 bits of their distance from the centre, however far from 0 the values lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unpooled import yeo_johnson as transform
from unpooled.algorithms.shared import plausible
from unpooled.algorithms.shared.standardise import fraction_bits
from unpooled.algorithms.tables import order
from unpooled.algorithms.tables.bracket import Brackets
from unpooled.algorithms.tables.census import count_values
from unpooled.algorithms.tables.moments import OfFeatures
from unpooled.algorithms.tables.search import Pool, search, sorted_offsets
from unpooled.algorithms.tables.table import table_values
from unpooled.cohort import Table
from unpooled.kernels.columns import moments
from unpooled.plan import Plan
from unpooled.procedure import Asks, Each, Go, Study, procedure
from unpooled.question import Arrays, Count, Foreseen, Real
from unpooled.sizes import Sizes

LARGEST_LOGARITHM = 710.0


@procedure("yeo-johnson")
def yeo_johnson(study: Study) -> Asks[None]:
    """Find a centre and how far values lie from it; from there search."""
    n = yield from count_values(study)
    sums = yield AverageLogarithms(n, study.plan.cohorts)
    centre = transform.exponential(sums["logarithms"] / np.maximum(n, 1))
    ends, asked = np.stack([np.minimum(n, 1), n], axis=1), FindRange.first(n, centre)
    (found,) = yield Each([order.narrow(study, asked, ends)])
    unknown = np.array([0, (1 << asked.lowest_shift) - 1], np.uint64)  # below the last byte
    lowest, highest = np.where(ends > 0, order.values_of(found | unknown), 0.0).T
    pool = Pool(n, lowest, highest, centre)
    yield from Go(search(study, pool, Brackets.first(n > 0, pool.first_step())))


@dataclass(frozen=True, eq=False)
class AverageLogarithms(OfFeatures):
    """Sums of phi, which no value makes larger than 710."""

    name: ClassVar[str] = "normalization/logarithms"
    title: ClassVar[str] = "Average logarithms"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "logarithms",
            ("features",),
            "largest",
            "bits",
            "per feature: the sum of sgn(x) log(1 + |x|)",
            "the mean logarithm of each feature of the pool",
        ),
    )
    ring_bits: ClassVar[int] = 128

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(*cls.foreseen_fields(plan))])

    def _plausible(self) -> bool:
        return True

    @property
    def largest(self) -> float:
        return LARGEST_LOGARITHM * self.most

    @property
    def bits(self) -> int:
        return fraction_bits(int(self.largest), self.cohorts)

    def local(self, table: Table) -> Arrays:
        logarithms = transform.logarithm(table_values(table, self.features))
        nothing = np.zeros(self.features)
        return {"logarithms": moments(logarithms, nothing, nothing.astype(np.int64))[0]}


@dataclass(frozen=True, eq=False)
class FindRange(order.Narrow):
    """Asks for a byte of the key of the smallest and of the largest phi(x) - phi(centre)."""

    name: ClassVar[str] = "normalization/range"
    title: ClassVar[str] = "Find the range"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "within",
            ("features", "elements", order.THRESHOLDS),
            "most",
            "per feature, and twice, for its smallest and its largest value: how many offsets, phi(x) - "
            "phi(centre), are at most each of 255 thresholds, which lie closer together from round to round",
            "a coarse histogram of each column, and its smallest and largest value to 12 bits of their "
            "distance from the centre",
        ),
    )
    lowest_shift: ClassVar[int] = order.TOP_BYTE - 8 * 2
    """Sign, exponent, and 12 bits of the fraction."""

    centre: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """float64 (features,)"""

    def __post_init__(self) -> None:
        super().__post_init__()
        plausible.require(plausible.real(self.centre, (self.features,)), "ranges")

    @classmethod
    def first(cls, n: np.ndarray, centre: np.ndarray) -> FindRange:
        """The first question about features of `n` values."""
        return cls(max(1, int(n.max())), np.zeros((len(n), 2), np.uint64), order.TOP_BYTE, centre)

    @classmethod
    def asked_under(cls, plan: Plan) -> int:
        return 2

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        nothing = np.zeros(len(plan.features))
        rounds = (order.TOP_BYTE - cls.lowest_shift) // 8 + 1
        return Foreseen([cls.first(nothing.astype(np.int64), nothing)], rounds)

    def goes_on_from(self, earlier: order.Narrow) -> bool:
        same = isinstance(earlier, FindRange) and np.array_equal(self.centre, earlier.centre)
        return same and super().goes_on_from(earlier)

    def sorted_keys(self, table: Table) -> Iterator[np.ndarray]:
        return map(order.keys, sorted_offsets(table, self.features, range(self.features), self.centre))
