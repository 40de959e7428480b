"""Mean and standard deviation of each feature of the pool.

The same sums, and the same reasons for them, as in `unpooled.methods.shared.standardise`; here each feature
has missing values of its own. The deviation is that of the population: squares are divided by n, as in
scikit-learn's StandardScaler.

Values that lie close together far from 0 have deviations with few bits left in units of their magnitude,
and squares with fewer still. So `MeasureSpread` asks for each sum twice: to the last bit of the ring,
and for the rest below it. Both together are exact where the deviations are a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.asking.question import (
    Arrays,
    Condition,
    Count,
    Foreseen,
    Question,
    Real,
    UnderPlan,
    fraction_bits,
)
from unpooled.asking.sizes import Sizes
from unpooled.kernels.columns import exact_moments, moments, within_powers
from unpooled.methods.shared.privacy_options import is_exact
from unpooled.methods.shared.standardise import (
    COARSE,
    FINE,
    THRESHOLDS,
    covering,
    errors,
    exponents,
    first_exponents,
    refuse_what_masks_hide,
)
from unpooled.methods.tables.bends import Bends, bent
from unpooled.methods.tables.table import FEATURES, table_values, titles_of
from unpooled.plan.plan import Plan
from unpooled.protocol import codec

_REST_BITS = 52
"""A rest is below this many bits of the largest sum, and has as many more."""

_LEAST_SURE = 1e-3
"""If masks may have changed a larger share of a deviation, it counts as unknown."""
_SMALLEST = 1e-300
"""A smaller error hides nothing: one over such a deviation may not be a finite number."""


@dataclass(frozen=True, eq=False)
class Means:
    """About the means of columns, to a rounding, and the size of their values: 2^highest at most."""

    name: ClassVar[str] = "tables/means"

    centre: np.ndarray
    """float64 (features,): 0 of a column without values."""
    highest: np.ndarray
    """int64 (features,)"""


@procedure("tables/moments")
def measure(study: Study, n: np.ndarray) -> Asks[None]:
    """Report mean and deviation of each feature, of `n` values each: int64 (features,)."""
    means = yield from find_means(study, n, FindMagnitude, Average)
    yield Finish(report_moments(study, n, means))


@procedure("tables/spread")
def report_moments(study: Study, n: np.ndarray, means: Means) -> Asks[None]:
    """Measure the spread about the means, and report both."""
    mean, deviation = yield from find_spread(study, n, means, MeasureSpread)
    yield Rows(
        FEATURES,
        {
            "feature": np.arange(len(n)),
            "n": n,
            "mean": mean,
            "deviation": deviation,
            "blurred": np.full(len(n), study.plan.noise > 0),
        },
    )


def find_moments(
    study: Study,
    n: np.ndarray,
    magnitude_of: type[FindMagnitude],
    average_of: type[Average],
    spread_of: type[MeasureSpread],
) -> Asks[tuple[np.ndarray, np.ndarray]]:
    """Mean and deviation, float64 (features,), of the columns of `n` values that the questions are about."""
    means = yield from find_means(study, n, magnitude_of, average_of)
    return (yield from find_spread(study, n, means, spread_of))


def find_means(
    study: Study,
    n: np.ndarray,
    magnitude_of: type[FindMagnitude],
    average_of: type[Average],
    bends: Bends | None = None,
) -> Asks[Means]:
    """The first part of `find_moments`: one sum of each column, some of which may be transformed."""
    highest = first_exponents(len(n))
    # First to a power of 2^COARSE, over all that float64 holds; then to a power of two.
    for distance in (COARSE, FINE):
        sums = yield magnitude_of(n, highest, distance, bends=bends)
        highest = covering(sums["within"], n, exponents(highest, distance))
    sums = yield average_of(n, highest, bends=bends)
    return Means(np.ldexp(sums["sum"] / np.maximum(n, 1), highest.astype(np.int32)), highest)


def find_spread(
    study: Study, n: np.ndarray, means: Means, spread_of: type[MeasureSpread], bends: Bends | None = None
) -> Asks[tuple[np.ndarray, np.ndarray]]:
    """The rest of it: mean and deviation, float64 (features,)."""
    # A value and a mean are at most 2^highest each, and so their difference is at most twice that.
    magnitude = means.highest + 1
    sums = yield spread_of(study.plan, n, means.centre, magnitude, bends=bends)
    return _settled(study, spread_of.titles_under(study.plan), n, means.centre, magnitude, sums)


def _settled(
    study: Study,
    titles: Sequence[str],
    n: np.ndarray,
    centre: np.ndarray,
    magnitude: np.ndarray,
    sums: Arrays,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, NaN of features without values, from the sums that `MeasureSpread` asks for."""
    noise = study.plan.noise
    # Under noise a rest says nothing, and would only add to it.
    rests = [sums[f"{name}_rest"] * (noise == 0) for name in ("deviations", "squares")]
    each = zip(n, sums["deviations"], rests[0], sums["squares"], rests[1], strict=True)
    numbers = np.array([settled(*of_feature) for of_feature in each]).T
    lost = np.array(errors(noise, n, numbers[1]))
    numbers, lost = (np.ldexp(found, magnitude.astype(np.int32)) for found in (numbers, lost))
    numbers[0] += centre
    hidden = (n > 0) & (lost[1] > _LEAST_SURE * numbers[1]) & (lost[1] > _SMALLEST)
    refuse_what_masks_hide(titles, hidden)
    mean, deviation = np.where(n > 0, rounded(numbers, lost), np.nan)
    return mean, deviation


@dataclass(frozen=True, eq=False)
class OfFeatures(Question):
    """About features, of which the pool has so many values each."""

    each: ClassVar[dict[str, str]] = {"features": "feature"}
    asked_if: ClassVar[Condition] = is_exact

    values: np.ndarray
    """int64 (features,)"""
    bends: Bends | None = field(default=None, kw_only=True, metadata=codec.CAME_LATER)

    @classmethod
    def foreseen_values(cls, plan: Plan) -> np.ndarray:
        """`values` of a question about all features."""
        return np.zeros(len(cls.titles_under(plan)), np.int64)

    @classmethod
    def titles_under(cls, plan: Plan) -> tuple[str, ...]:
        """The names of the columns that it is about."""
        return titles_of(plan)

    def values_of(self, table: Table) -> np.ndarray:
        """The columns that it is about, float64 (n, features); NaN is missing."""
        table_values(table, self.features)  # whose features must be as many
        return bent(table, self.bends)

    @property
    def features(self) -> int:
        return len(self.values)

    @property
    def most(self) -> int:
        """The largest number of values of a feature."""
        return max(1, int(self.values.max()))

    def columns_under(self, plan: Plan) -> tuple[str, ...]:
        return self.titles_under(plan)


@dataclass(frozen=True, eq=False)
class FindMagnitude(OfFeatures, name="normalization/magnitude", title="Find the magnitude of features"):
    """Question that counts the values of each feature up to 2^e in size, e falling from `highest` by
    `distance`.
    """

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "within",
            ("features", THRESHOLDS),
            "most",
            "per feature: how many values are at most 2^e in size, for 32 values of e",
            "the size of the pool's values to a power of two; no single value",
        ),
    )

    highest: np.ndarray
    distance: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        highest = first_exponents(len(cls.titles_under(plan)))
        asked = [cls(cls.foreseen_values(plan), highest, COARSE)] if cls.asked_if(plan) else []
        return Foreseen(asked, rounds=2)

    def local(self, table: Table) -> Arrays:
        values = self.values_of(table)
        return {"within": within_powers(values, exponents(self.highest, self.distance))}


@dataclass(frozen=True, eq=False)
class Average(OfFeatures, name="normalization/mean", title="Average features", ring_bits=128):
    """Sums of the features in units of their magnitude."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sum",
            ("features",),
            "most",
            "per feature: the sum of its values",
            "the mean of each feature of the pool",
        ),
    )

    magnitude: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        values = cls.foreseen_values(plan)
        return Foreseen([cls(values, np.zeros_like(values))] if cls.asked_if(plan) else [])

    def local(self, table: Table) -> Arrays:
        values = self.values_of(table)
        return {"sum": moments(values, np.zeros(self.features), self.magnitude)[0]}


@dataclass(frozen=True, eq=False)
class MeasureSpread(
    OfFeatures, UnderPlan, name="normalization/spread", title="Measure the spread of features", ring_bits=128
):
    """Sums of the deviations from a centre, and of their squares, in units of 2^magnitude and its square."""

    only_server: ClassVar[Condition] = lambda plan: plan.test in ("z-score", "summary")
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "deviations",
            ("features",),
            "most",
            "per feature: the sum of x - mean",
            "the last digits of each mean",
        ),
        Real(
            "squares",
            ("features",),
            "most",
            "per feature: the sum of (x - mean)^2",
            "the standard deviation of each feature of the pool",
        ),
        Real(
            "deviations_rest",
            ("features",),
            "least",
            "per feature: the digits of the sum of x - mean that follow",
            "the last digits of each mean",
            fraction_bits="rest_bits",
        ),
        Real(
            "squares_rest",
            ("features",),
            "least",
            "per feature: the digits of the sum of (x - mean)^2 that follow",
            "the last digits of each standard deviation",
            fraction_bits="rest_bits",
        ),
    )

    centre: np.ndarray
    magnitude: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        values = cls.foreseen_values(plan)
        asked = cls(plan, values, np.zeros(len(values)), np.zeros_like(values))
        return Foreseen([asked] if cls.asked_if(plan) else [])

    @property
    def least(self) -> float:
        """Largest remainder of a sum below the last bit that is sent of it, or below float64's."""
        return math.ldexp(self.most, -_REST_BITS)

    @property
    def bits(self) -> int:
        return fraction_bits(self.most, self.plan.cohorts, self.ring_bits)

    @property
    def rest_bits(self) -> int:
        return self.bits + _REST_BITS

    def local(self, table: Table) -> Arrays:
        values = self.values_of(table)
        deviations, squares = exact_moments(values, self.centre, self.magnitude)
        return {
            "deviations": deviations[0],
            "deviations_rest": self._rest(*deviations),
            "squares": squares[0],
            "squares_rest": self._rest(*squares),
        }

    def _rest(self, sums: np.ndarray, lost: np.ndarray) -> np.ndarray:
        """Return the remainder of sums below the last bit that is sent, given what their rounding lost."""
        # Rounded as the ring rounds it, so that both parts together are the sum.
        sent = np.ldexp(np.rint(np.ldexp(sums, self.bits)), -self.bits)
        return np.asarray(sums - sent + lost)


def settled(
    n: int, deviations: float, deviations_rest: float, squares: float, squares_rest: float
) -> tuple[float, float]:
    """Mean and deviation of n numbers, given their sum and that of their squares, each in two parts.

    They are computed exactly: numbers may differ by a unit in the last place only, and lie as far from 0,
    where what was subtracted of them is a mean that was rounded.
    """
    n = max(int(n), 1)
    mean = (Fraction(deviations) + Fraction(deviations_rest)) / n
    variance = (Fraction(squares) + Fraction(squares_rest)) / n - mean * mean
    return float(mean), math.sqrt(max(float(variance), 0.0))


def rounded(numbers: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Numbers without the decimals that are smaller than their errors: as `numbers`."""
    found = [
        round(number, -Decimal(error).adjusted()) if error > 0 else number
        for number, error in zip(numbers.ravel().tolist(), errors.ravel().tolist(), strict=True)
    ]
    return np.where(np.abs(numbers) > errors, np.reshape(found, numbers.shape), 0.0)
