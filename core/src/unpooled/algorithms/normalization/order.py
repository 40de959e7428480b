"""Order statistics of each feature of the pool, exactly, from counts alone.

Every float64 maps to a 64-bit integer of the same order (`keys`). A round asks, for each feature and each
wanted element, how many values are at most each of 255 thresholds; the sum tells one byte of the element,
from the highest to the lowest. So 8 rounds give the k-th smallest value of the pool, for all features and all
wanted k at once, and no cohort ever states a value of its own, not even its smallest or largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.algorithms.normalization.table import FEATURES, table_values
from unpooled.cohort import Cohort
from unpooled.errors import ProtocolError
from unpooled.plan import Plan
from unpooled.step import Arrays, Count, Rows, Step, server_only

THRESHOLDS = 255
TOP_BYTE = 56
_SIGN = np.uint64(1 << 63)


def keys(values: np.ndarray) -> np.ndarray:
    """Integers of the same order as the values, none of them NaN: uint64 from float64. Both zeros are one."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def values_of(found: np.ndarray) -> np.ndarray:
    """The values whose `keys` these are."""
    return np.where(found & _SIGN, found ^ _SIGN, ~found).view(np.float64)


@dataclass(frozen=True, eq=False)
class Narrow(Step):
    """Asks for one byte of the key of each wanted element, given the bytes above it."""

    name: ClassVar[str] = "normalization/narrow"
    title: ClassVar[str] = "Narrow down order statistics"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "within",
            ("features", "elements", THRESHOLDS),
            "most",
            "per feature and wanted element: how many values are at most each of 255 thresholds, which lie "
            "closer together from round to round around the element",
        ),
    )

    most: int
    """The largest number of values of a feature."""
    prefix: np.ndarray
    """uint64 (features, elements): the bytes that are known, and zeros below them."""
    shift: int
    """Number of bits below the byte that is asked for."""
    n: np.ndarray | None = server_only(None)  # noqa: RUF009
    """int64 (features,): values that there are."""
    wanted: np.ndarray | None = server_only(None)  # noqa: RUF009
    """int64 (features, elements): which is wanted, from 1; of a feature without values 0."""
    column: np.ndarray | None = server_only(None)  # noqa: RUF009
    """int64: the elements of the result, each by its column here; what is wanted twice is asked once."""

    def __post_init__(self) -> None:
        known = self.prefix.ndim == 2 and self.prefix.size and self.prefix.dtype == np.uint64
        if not known or self.shift not in range(0, 64, 8):
            raise ProtocolError("a question about order statistics is not of its form")

    @property
    def features(self) -> int:
        return len(self.prefix)

    @property
    def elements(self) -> int:
        return int(self.prefix.shape[1])

    def agrees(self, plan: Plan) -> bool:
        return self.features == len(plan.features)

    def local(self, cohort: Cohort) -> Arrays:
        counts = np.empty((self.features, self.elements, THRESHOLDS), np.int64)
        for feature, column in enumerate(table_values(cohort, self.features).T):
            own = keys(column[~np.isnan(column)])
            for element, prefix in enumerate(self.prefix[feature]):
                counts[feature, element] = self._count(own, prefix)
        return {"within": counts}

    def _count(self, own: np.ndarray, prefix: np.uint64) -> np.ndarray:
        """How many keys are at most each threshold, int64 (255,): those below the prefix are below all."""
        width, shift = np.uint64((1 << self.shift + 8) - 1), np.uint64(self.shift)
        above = own[own >= prefix] - prefix
        bytes_of = (above[above <= width] >> shift).astype(np.int64)
        return len(own) - len(above) + np.cumsum(np.bincount(bytes_of, minlength=THRESHOLDS + 1))[:THRESHOLDS]

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        if self.n is None or self.wanted is None or self.column is None:
            raise ProtocolError("which elements are wanted is known only where the study is run")
        byte = np.sum(total["within"] < self.wanted[:, :, None], axis=2).astype(np.uint64)
        prefix = self.prefix | byte << np.uint64(self.shift)
        if self.shift:
            yield replace(self, prefix=prefix, shift=self.shift - 8)
            return
        elements = np.where(self.wanted > 0, values_of(prefix), np.nan)[:, self.column]
        yield Rows(FEATURES, {"feature": np.arange(self.features), "n": self.n, "elements": elements})


def first(n: np.ndarray, wanted: np.ndarray) -> Narrow:
    """The first question for the `wanted` elements, int64 (features, elements), of `n` values each."""
    asked, column = np.unique(wanted, axis=1, return_inverse=True)
    return Narrow(max(1, int(n.max())), np.zeros(asked.shape, np.uint64), TOP_BYTE, n, asked, column)


def between(quantiles: Sequence[float], n: np.ndarray) -> np.ndarray:
    """The two elements that each quantile of `n` values lies between: int64 (features, 2 quantiles).

    They are one where the quantile is an element.
    """
    place = np.array(quantiles) * (n[:, None] - 1)
    pairs = np.stack([np.floor(place), np.ceil(place)], axis=2).astype(np.int64) + 1
    return np.where(n[:, None] > 0, pairs.reshape(len(n), -1), 0)


def interpolated(quantile: float, n: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The quantile between two elements, rounded as by `numpy.quantile`, or in the middle `numpy.median`."""
    if quantile == 0.5:
        return np.asarray((below + above) / 2)
    place = quantile * (n - 1)
    t = place - np.floor(place)
    distance = above - below
    return np.asarray(np.where(t < 0.5, below + distance * t, above - distance * (1 - t)))
