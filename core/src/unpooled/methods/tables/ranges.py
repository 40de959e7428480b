"""Ranges of the features: the smallest and the largest offset of values from a centre, to 12 bits.

Of the offsets phi(x) - phi(centre), phi(x) = sgn(x) log(1 + |x|), in which the transform of Yeo and Johnson
is monotone and its exponents linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import UNREAD, Bits, Count, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.kernels.ordered_keys import keys, values_of
from unpooled.methods.tables import order
from unpooled.methods.tables.search import sorted_offsets
from unpooled.methods.tables.table import scaled_under
from unpooled.plan.encodings import YEO_JOHNSON
from unpooled.plan.plan import Plan


def ends(n: np.ndarray) -> np.ndarray:
    """The smallest and the largest of `n` values: int64 (features, 2), 0 where there are none."""
    return np.stack([np.minimum(n, 1), n], axis=1)


@dataclass(frozen=True, eq=False)
class FindRange(order.Narrow, name="normalization/range", title="Find the range"):
    """Asks for a byte of the key of the smallest and of the largest phi(x) - phi(centre)."""

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
    searches: ClassVar[int] = 1
    """About how many centres a study asks."""

    scaling = YEO_JOHNSON

    centre: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """float64 (features,)"""

    @classmethod
    def about(cls, plan: Plan, n: np.ndarray, centre: np.ndarray) -> Self:
        """The first question about features of `n` values."""
        return cls(plan, **cls.first_fields(n, ends(n)), centre=centre)

    @classmethod
    def asked_under(cls, plan: Plan) -> int:
        return 2

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        nothing = np.zeros(len(scaled_under(cls.scaling, plan)))
        rounds = (order.TOP_BYTE - cls.lowest_shift) // 8 + 1
        is_certain = cls.searches == 1 and bool(cls.sends_under(plan))
        first = cls.about(plan, nothing.astype(np.int64), nothing)
        return Foreseen([first], cls.searches * rounds, is_certain, usual_rounds=rounds)

    def range_of(self, found: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of all offsets, from the bytes that were found: float64 (features,) each."""
        unknown = np.array([0, (1 << self.lowest_shift) - 1], np.uint64)  # below the last byte
        lowest, highest = np.where(ends(n) > 0, values_of(found | unknown), 0.0).T
        return lowest, highest

    def sorted_keys(self, table: Table) -> Iterator[np.ndarray]:
        return map(keys, sorted_offsets(table, self.plan, range(self.features), self.centre))


@dataclass(frozen=True, eq=False)
class FindRangeByBits(
    FindRange, order.NarrowByBits, name="normalization/range-by-bits", title="Find the range by bits"
):
    """The same, of which the server learns the byte alone."""

    sends: ClassVar[tuple[Count, ...]] = (replace(FindRange.sends[0], learns=UNREAD),)
    opens: ClassVar[Bits] = replace(
        order.NarrowByBits.opens,
        learns="the smallest and the largest value of each column, to 12 bits of how far they lie from 0, or "
        "from the middle between them",
    )
    searches: ClassVar[int] = 6
    """The first about 0; each other has 11 bits more of what lies far from 0 and close together."""
