"""Order statistics of each feature of the pool, exactly, from counts alone.

Every float64 maps to a 64-bit integer of the same order (`keys`). A round asks, for each feature and each
wanted element, how many values are at most each of 255 thresholds; the sum tells one byte of the element,
from the highest to the lowest. So 8 rounds give the k-th smallest value of the pool, for all features and all
wanted k at once, and no cohort ever states a value of its own, not even its smallest or largest.

Where the plan says so, nobody reads these sums: the server learns only on which side of the wanted k each of
them lies, which is one byte of the element and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Each, Go, Rows, Study, procedure
from unpooled.asking.question import UNREAD, Arrays, Bits, Count, Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.fitted import scaler
from unpooled.kernels.ordered_keys import keys, values_of
from unpooled.methods.tables.census import count_values
from unpooled.methods.tables.table import (
    FEATURES,
    derived,
    is_compared,
    known,
    places_under,
    scaled_under,
    scaled_values,
)
from unpooled.plan.common_options import ELEMENTS, QUANTILES
from unpooled.plan.plan import Plan

THRESHOLDS = 255
TOP_BYTE = 56


def report_elements(study: Study, *kinds: type[Narrow]) -> Asks[None]:
    """Count the values, and report those that the plan's quantiles and elements are of.

    `kinds` are of the same quantiles, by sums and by bits: the plan says which is asked.
    """
    (kind,) = (kind for kind in kinds if kind.sends_under(study.plan))
    n = yield from count_values(study)
    wanted = [between(kind.quantiles(study.plan), n), ranks(ELEMENTS.of(study.plan), n)]
    elements = yield from find_elements(study, kind, n, np.concatenate(wanted, axis=1))
    yield Rows(FEATURES, {"feature": np.arange(len(n)), "n": n, "elements": elements})


def find_elements(study: Study, kind: type[Narrow], n: np.ndarray, wanted: np.ndarray) -> Asks[np.ndarray]:
    """The `wanted` elements, from 1, int64 (features, elements), of `n` values each: float64, NaN for 0."""
    each, column = np.unique(wanted, axis=1, return_inverse=True)  # what is wanted twice is asked once
    first = kind.first_about(study.plan, n, each)
    (found,) = yield Each([narrow(study, first, each)])
    return np.where(each > 0, values_of(found), np.nan)[:, column]


@procedure("tables/narrow")
def narrow(study: Study, asked: Narrow, wanted: np.ndarray) -> Asks[np.ndarray]:
    """The bytes of the keys of the wanted elements, one from each round: uint64, as `wanted`."""
    sums = yield asked
    # As many thresholds as lie below the element are its byte: 255 of them tell 256 values apart.
    byte = asked.byte(sums, wanted).astype(np.uint64)
    prefix = asked.prefix | byte << np.uint64(asked.shift)
    # The journal would otherwise hold every round's counts, of which only the bytes are needed.
    if asked.shift == asked.lowest_shift:
        return np.asarray(prefix)
    return (yield from Go(narrow(study, replace(asked, prefix=prefix, shift=asked.shift - 8), wanted)))


@dataclass(frozen=True, eq=False)
class Narrow(UnderPlan, name="normalization/narrow", title="Narrow down order statistics"):
    """Asks for one byte of the key of each wanted element, given the bytes above it."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "within",
            ("features", "elements", THRESHOLDS),
            "most",
            "per feature and wanted element: how many values are at most each of 255 thresholds, which lie "
            "closer together from round to round around the element",
            "a coarse histogram of each column, the wanted elements, and single values close to them",
            of_one=True,
        ),
    )
    each: ClassVar[dict[str, str]] = {"features": "feature", "elements": "element"}
    lowest_shift: ClassVar[int] = 0
    """The shift of the last question."""
    asked: ClassVar[Sequence[float]] = ()
    """The quantiles that it is about, whatever the plan says; none where the plan names them."""
    scaling: ClassVar[str] = scaler.QUANTILES
    """The method, or the scaling of a column, that they are asked for."""

    most: int
    """The largest number of values of a feature."""
    prefix: np.ndarray
    """uint64 (features, elements): the bytes that are known, and zeros below them."""
    shift: int
    """Number of bits below the byte that is asked for."""

    @classmethod
    def first_about(cls, plan: Plan, n: np.ndarray, wanted: np.ndarray) -> Self:
        """The first question about the `wanted` elements of features of `n` values."""
        return cls(plan, **cls.first_fields(n, wanted))

    @classmethod
    def first_fields(cls, n: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
        """The fields of it."""
        most = max(1, int(n.max(initial=0)))
        return {"most": most, "prefix": np.zeros(wanted.shape, np.uint64), "shift": TOP_BYTE}

    def byte(self, sums: Arrays, wanted: np.ndarray) -> np.ndarray:
        """The byte that is asked for, given what came back: (features, elements)."""
        return np.asarray(np.count_nonzero(sums["within"] < wanted[:, :, None], axis=2))

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Count, ...]:
        is_asked = is_compared(plan) == (cls.opens is not None) and scaled_under(cls.scaling, plan)
        return cls.sends if is_asked else ()

    @property
    def features(self) -> int:
        return len(self.prefix)

    @property
    def elements(self) -> int:
        return int(self.prefix.shape[1])

    @classmethod
    def asked_under(cls, plan: Plan) -> int:
        """Return the number of elements of a feature that a study may ask for."""
        return 2 * len(cls.quantiles(plan)) + len(ELEMENTS.of(plan))

    @classmethod
    def quantiles(cls, plan: Plan) -> Sequence[float]:
        """Return the quantiles whose two neighbouring elements are asked for."""
        return tuple(cls.asked or QUANTILES.of(plan))

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        nothing = np.zeros(len(scaled_under(cls.scaling, plan)), np.int64)
        first = cls.first_about(plan, nothing, np.zeros((len(nothing), cls.asked_under(plan)), np.int64))
        return Foreseen([first], rounds=(TOP_BYTE - cls.lowest_shift) // 8 + 1, exact=False)

    def local(self, table: Table) -> Arrays:
        own = self.sorted_keys(table)
        counts = [
            # The column is sorted once a study, and each threshold of each round is then a binary search.
            [np.searchsorted(column, thresholds, side="right") for thresholds in of_feature]
            for column, of_feature in zip(own, self._thresholds(), strict=True)
        ]
        return {"within": np.array(counts, np.int64)}

    def sorted_keys(self, table: Table) -> Iterable[np.ndarray]:
        """The keys of each column of a table in their order, without its missing values."""
        values = scaled_values(table, self.scaling, self.plan)
        return derived(
            table,
            f"sorted keys {places_under(self.scaling, self.plan)}",
            lambda: [keys(np.sort(known(values, feature))) for feature in range(self.features)],
        )

    def _thresholds(self) -> np.ndarray:
        """The largest keys with a byte of 0 to 254 behind the prefix: uint64 (features, elements, 255)."""
        below = np.uint64((1 << self.shift) - 1)
        asked = np.arange(THRESHOLDS, dtype=np.uint64) << np.uint64(self.shift)
        return np.asarray(self.prefix[:, :, None] | asked | below)


@dataclass(frozen=True, eq=False)
class NarrowByBits(Narrow, name="normalization/narrow-by-bits", title="Narrow down order statistics by bits"):
    """The same, of which the server learns the byte alone."""

    sends: ClassVar[tuple[Count, ...]] = (replace(Narrow.sends[0], learns=UNREAD, of_one=False),)
    opens: ClassVar[Bits] = Bits(
        "enough",
        ("features", "elements", THRESHOLDS),
        "at-least",
        "of each wanted element one byte a round, and so in the end the element; nothing else of the column",
    )

    wanted: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """int64 (features, elements): the k of each wanted element, from 1; 0 where there is none."""

    @classmethod
    def first_fields(cls, n: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
        return {**super().first_fields(n, wanted), "wanted": wanted}

    def thresholds(self) -> Arrays:
        return {"within": self.wanted[:, :, None]}

    def byte(self, sums: Arrays, wanted: np.ndarray) -> np.ndarray:
        return np.asarray(np.count_nonzero(~sums["enough"], axis=2))


def between(quantiles: Sequence[float], n: np.ndarray) -> np.ndarray:
    """The two elements that each quantile of `n` values lies between: int64 (features, 2 quantiles).

    They are one where the quantile is an element.
    """
    place = np.array(quantiles) * (n[:, None] - 1)
    pairs = np.stack([np.floor(place), np.ceil(place)], axis=2).astype(np.int64) + 1
    return np.where(n[:, None] > 0, pairs.reshape(len(n), -1), 0)


def ranks(elements: Sequence[int], n: np.ndarray) -> np.ndarray:
    """The k-th of `n` values, counted from the largest if k is negative: int64 (features, elements).

    0 where there are fewer values than that.
    """
    k, count = np.array(elements, np.int64), n[:, None]
    place = np.where(k < 0, count + 1 + k, k)
    return np.asarray(np.where((place >= 1) & (place <= count), place, 0))


def interpolated(quantile: float, n: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The quantile between two elements, rounded as by `numpy.quantile`, or in the middle `numpy.median`."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = _between(quantile, n, below, above)
        # Sum or distance may be no number where the quantile is one.
        return np.where(np.isfinite(found), found, 2 * _between(quantile, n, below / 2, above / 2))


def _between(quantile: float, n: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    if quantile == 0.5:
        return np.asarray((below + above) / 2)
    # From the nearer element, as NumPy does it: from the other, t near 1 would not give that element itself.
    place = quantile * (n - 1)
    t = place - np.floor(place)
    distance = above - below
    return np.asarray(np.where(t < 0.5, below + distance * t, above - distance * (1 - t)))
