"""Mean and standard deviation of each feature of the pool.

    FindMagnitude   the smallest power of two that covers the pool, in two rounds of masked counts
    Average         sums in units of it, in the 128-bit ring
    MeasureSpread   sums of the deviations from the mean, and of their squares, likewise

The same sums, and the same reasons for them, as in `unpooled.algorithms.standardise`; here each feature has
missing values of its own. The deviation is that of the population: squares are divided by n, as in
scikit-learn's StandardScaler.

Values that lie close together far from 0 have deviations of which few bits are left in units of their
magnitude, and fewer of the squares. So `MeasureSpread` asks for each sum twice: to the last bit of the ring,
and for the rest below it. Both together are exact where the deviations are a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from unpooled.algorithms import plausible
from unpooled.algorithms.normalization.table import FEATURES, table_values
from unpooled.algorithms.standardise import (
    COARSE,
    FINE,
    THRESHOLDS,
    covering,
    errors,
    exponents,
    first_exponents,
    fraction_bits,
    refuse_what_masks_hide,
)
from unpooled.cohort import Cohort
from unpooled.kernels.columns import exact_moments, moments, within_powers
from unpooled.plan import Plan
from unpooled.sizes import Sizes
from unpooled.step import Arrays, Asking, Count, Foreseen, Real, Rows, Step, server_only

_REST_BITS = 52
"""A rest is below this many bits of the largest sum, and has as many more."""

_LEAST_SURE = 1e-3
"""A deviation of which the masks may have changed a larger share is none."""
_SMALLEST = 1e-300
"""A smaller error hides nothing: one over such a deviation may be no number."""


@dataclass(frozen=True, eq=False)
class OfFeatures(Step):
    """What these steps have in common: features, of which the pool has so many values each."""

    each: ClassVar[dict[str, str]] = {"features": "feature"}

    values: np.ndarray
    """int64 (features,)"""
    cohorts: int
    _: KW_ONLY
    titles: tuple[str, ...] = server_only(())
    noise: float = server_only(0.0)
    """By how much the masks may change a sum."""

    @classmethod
    def foreseen_fields(cls, plan: Plan) -> tuple[np.ndarray, int]:
        """`values` and `cohorts` of a question about all features."""
        return np.zeros(len(plan.features), np.int64), plan.cohorts

    def __post_init__(self) -> None:
        good = self.values.dtype == np.int64 and self.values.ndim == 1 and self.values.size > 0
        good = good and plausible.pool(int(self.values.min()), self.cohorts)
        plausible.require(good and plausible.pool(self.most, self.cohorts) and self._plausible(), "features")

    def _plausible(self) -> bool:
        """Whether the other fields are of a question that can be."""
        raise NotImplementedError

    @property
    def features(self) -> int:
        return len(self.values)

    @property
    def most(self) -> int:
        """The largest number of values of a feature."""
        return max(1, int(self.values.max()))

    @property
    def bits(self) -> int:
        return fraction_bits(self.most, self.cohorts)

    def columns_under(self, plan: Plan) -> tuple[str, ...]:
        return tuple(feature.title for feature in plan.features)

    def agrees(self, plan: Plan) -> bool:
        return self.features == len(plan.features) and self.cohorts == plan.cohorts


@dataclass(frozen=True, eq=False)
class FindMagnitude(OfFeatures):
    """How many values of each feature are at most 2^e, for e = highest, highest - distance, ... ."""

    name: ClassVar[str] = "normalization/magnitude"
    title: ClassVar[str] = "Find the magnitude of features"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "within",
            ("features", THRESHOLDS),
            "most",
            "per feature: how many values are at most 2^e in size, for 32 e",
            "the size of the pool's values to a power of two; no single value",
        ),
    )

    highest: np.ndarray
    distance: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        highest = first_exponents(len(plan.features))
        return Foreseen([cls(*cls.foreseen_fields(plan), highest, COARSE)], rounds=2)

    def agrees(self, plan: Plan) -> bool:
        """The first question is about all of float64, and the second about a part of that."""
        first = np.array_equal(self.highest, first_exponents(self.features))
        return super().agrees(plan) and (self.distance != COARSE or first)

    def asking(self) -> Asking:
        return Asking(str(self.distance))

    def _plausible(self) -> bool:
        return self.distance in (COARSE, FINE) and plausible.exponents(self.highest, self.features)

    def local(self, cohort: Cohort) -> Arrays:
        values = table_values(cohort, self.features)
        return {"within": within_powers(values, exponents(self.highest, self.distance))}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        exponent = covering(total["within"], self.values, exponents(self.highest, self.distance))
        if self.distance == COARSE:
            yield replace(self, highest=exponent, distance=FINE)
        else:
            yield Average(self.values, self.cohorts, exponent, titles=self.titles, noise=self.noise)


@dataclass(frozen=True, eq=False)
class Average(OfFeatures):
    """Sums of the features in units of their magnitude."""

    name: ClassVar[str] = "normalization/mean"
    title: ClassVar[str] = "Average features"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sum",
            ("features",),
            "most",
            "bits",
            "per feature: the sum of its values",
            "the mean of each feature of the pool",
        ),
    )
    ring_bits: ClassVar[int] = 128

    magnitude: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        values, cohorts = cls.foreseen_fields(plan)
        return Foreseen([cls(values, cohorts, np.zeros_like(values))])

    def _plausible(self) -> bool:
        return plausible.exponents(self.magnitude, self.features)

    def local(self, cohort: Cohort) -> Arrays:
        values = table_values(cohort, self.features)
        return {"sum": moments(values, np.zeros(self.features), self.magnitude)[0]}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        centre = np.ldexp(total["sum"] / np.maximum(self.values, 1), self.magnitude.astype(np.int32))
        magnitude = self.magnitude + 1
        yield MeasureSpread(
            self.values, self.cohorts, centre, magnitude, titles=self.titles, noise=self.noise
        )


@dataclass(frozen=True, eq=False)
class MeasureSpread(OfFeatures):
    """Sums of the deviations from a centre, and of their squares, in units of 2^magnitude and its square."""

    name: ClassVar[str] = "normalization/spread"
    title: ClassVar[str] = "Measure the spread of features"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "deviations",
            ("features",),
            "most",
            "bits",
            "per feature: the sum of x - mean",
            "the last digits of each mean",
        ),
        Real(
            "squares",
            ("features",),
            "most",
            "bits",
            "per feature: the sum of (x - mean)^2",
            "the standard deviation of each feature of the pool",
        ),
        Real(
            "deviations_rest",
            ("features",),
            "least",
            "rest_bits",
            "per feature: the digits of the sum of x - mean that follow",
            "the last digits of each mean",
        ),
        Real(
            "squares_rest",
            ("features",),
            "least",
            "rest_bits",
            "per feature: the digits of the sum of (x - mean)^2 that follow",
            "the last digits of each standard deviation",
        ),
    )
    ring_bits: ClassVar[int] = 128

    centre: np.ndarray
    magnitude: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        values, cohorts = cls.foreseen_fields(plan)
        return Foreseen([cls(values, cohorts, np.zeros(len(values)), np.zeros_like(values))])

    def _plausible(self) -> bool:
        return len(self.centre) == self.features and plausible.columns(self.centre, self.magnitude)

    @property
    def least(self) -> float:
        """Of the largest sum so much may be left below its last bit, or float64's."""
        return math.ldexp(self.most, -_REST_BITS)

    @property
    def rest_bits(self) -> int:
        return self.bits + _REST_BITS

    def local(self, cohort: Cohort) -> Arrays:
        values = table_values(cohort, self.features)
        deviations, squares = exact_moments(values, self.centre, self.magnitude)
        return {
            "deviations": deviations[0],
            "deviations_rest": self._rest(*deviations),
            "squares": squares[0],
            "squares_rest": self._rest(*squares),
        }

    def _rest(self, sums: np.ndarray, lost: np.ndarray) -> np.ndarray:
        """What is left of sums, given what their rounding lost, below the last bit that is sent of them."""
        sent = np.ldexp(np.rint(np.ldexp(sums, self.bits)), -self.bits)
        return np.asarray(sums - sent + lost)

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        # Under noise a rest says nothing, and would only add to it.
        rests = [total[f"{name}_rest"] * (self.noise == 0) for name in ("deviations", "squares")]
        sums = zip(self.values, total["deviations"], rests[0], total["squares"], rests[1], strict=True)
        numbers = np.array([settled(*of_feature) for of_feature in sums]).T
        lost = np.array(errors(self.noise, self.values, numbers[1]))
        numbers, lost = (np.ldexp(found, self.magnitude.astype(np.int32)) for found in (numbers, lost))
        numbers[0] += self.centre
        hidden = (self.values > 0) & (lost[1] > _LEAST_SURE * numbers[1]) & (lost[1] > _SMALLEST)
        refuse_what_masks_hide(self.titles, hidden)
        mean, deviation = np.where(self.values > 0, rounded(numbers, lost), np.nan)
        yield Rows(
            FEATURES,
            {
                "feature": np.arange(self.features),
                "n": self.values,
                "mean": mean,
                "deviation": deviation,
                "blurred": np.full(self.features, self.noise > 0),
            },
        )


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
    places = np.floor(np.log10(errors, out=np.full(errors.shape, -400.0), where=errors > 0)).astype(int)
    found = [
        round(number, -place)
        for number, place in zip(numbers.ravel().tolist(), places.ravel().tolist(), strict=True)
    ]
    return np.where(np.abs(numbers) > errors, np.reshape(found, numbers.shape), 0.0)


def first(values: np.ndarray, cohorts: int, titles: tuple[str, ...], noise: float) -> FindMagnitude:
    """The first question, given how many values each feature has: int64 (features,)."""
    highest = first_exponents(len(values))
    return FindMagnitude(values, cohorts, highest, COARSE, titles=titles, noise=noise)
