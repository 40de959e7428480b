"""Mean and standard deviation of each feature of the pool.

    FindMagnitude   the smallest power of two that covers the pool, in two rounds of masked counts
    Average         sums in units of it, in the 128-bit ring
    MeasureSpread   sums of the deviations from the mean, and of their squares, likewise

The same sums, and the same reasons for them, as in `unpooled.algorithms.standardise`; here each feature has
missing values of its own. The deviation is that of the population: squares are divided by n, as in
scikit-learn's StandardScaler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.algorithms import plausible
from unpooled.algorithms.normalization.table import FEATURES, table_values
from unpooled.algorithms.standardise import (
    COARSE,
    FINE,
    THRESHOLDS,
    covering,
    exponents,
    first_exponents,
    fraction_bits,
    settle,
)
from unpooled.cohort import Cohort
from unpooled.kernels.columns import moments, within_powers
from unpooled.plan import Plan
from unpooled.sizes import Sizes
from unpooled.step import Arrays, Count, Foreseen, Real, Rows, Step


@dataclass(frozen=True, eq=False)
class OfFeatures(Step):
    """What these steps have in common: features, of which the pool has so many values each."""

    each: ClassVar[dict[str, str]] = {"features": "feature"}

    values: np.ndarray
    """int64 (features,)"""
    cohorts: int

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
            yield Average(self.values, self.cohorts, exponent)


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
        yield MeasureSpread(self.values, self.cohorts, centre, self.magnitude + 1)


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

    def local(self, cohort: Cohort) -> Arrays:
        values = table_values(cohort, self.features)
        deviations, squares = moments(values, self.centre, self.magnitude)
        return {"deviations": deviations, "squares": squares}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        mean, deviation, constant = settle(total, self.values, self.centre, self.magnitude)
        deviation = np.where(constant, 0, np.ldexp(deviation, self.magnitude.astype(np.int32)))
        known = self.values > 0
        yield Rows(
            FEATURES,
            {
                "feature": np.arange(self.features),
                "n": self.values,
                "mean": np.where(known, mean, np.nan),
                "deviation": np.where(known, deviation, np.nan),
            },
        )


def first(values: np.ndarray, cohorts: int) -> FindMagnitude:
    """The first question, given how many values each feature has: int64 (features,)."""
    return FindMagnitude(values, cohorts, first_exponents(len(values)), COARSE)
