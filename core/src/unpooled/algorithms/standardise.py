"""Centre and scale real columns by the pool, so that every later sum has a small bound known beforehand.

Three steps, the first asked twice:

    Magnitude   how many values are at most 2^e, for 32 exponents e: the smallest that covers the pool, to a
                factor of 16, and whether nearly all are far below it. Two rounds cover all of float64. No
                cohort's largest value is ever sent.
    Mean        sums, in units of that magnitude, in the 128-bit ring
    Spread      sums of the deviations from the mean, and of their squares, likewise

A column x becomes z = (x - centre) / 2^exponent, where 2^exponent is the smallest power of two that is not
below the standard deviation. So the sum of z^2 is at most the number of people n, and by Cauchy-Schwarz the
sum of any product of two columns is at most n too, outliers included. Scaling by powers of two is exact, and
the centre is one float64 for all cohorts; so no rounding differs between them, however large the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.algorithms import plausible
from unpooled.algorithms.filters import plan_of
from unpooled.algorithms.groups import complete
from unpooled.cohort import Cohort, Samples
from unpooled.errors import ColumnError, ProtocolError, listed
from unpooled.kernels.columns import moments, within_powers
from unpooled.plan import Plan
from unpooled.sizes import Sizes
from unpooled.step import Arrays, Asking, Count, Foreseen, Real, Rows, Step, server_only

THRESHOLDS = 32
"""Exponents that are asked about in one round."""

COARSE, FINE = 64, 2  # distances of exponents in the two rounds; 32 of the one span one of the other
_WIDE = 2 * FINE
"""The second distance here: it reaches 2^60 below the largest value or further, to where the others are."""
_LARGEST = 1024  # all finite numbers are below 2^1024

FAR = 20
"""A column whose largest value is 2^20 times as large as nearly everybody's, or more, is refused: sums of
float64, taken together, lose what the others say. It is a code for a missing value or another mistake."""

_CONSTANT = 1e-4
"""A column whose squared deviations from its own mean are at most this share of those from the rounded mean,
differs by rounding only: it is constant."""

_MOST_HIDDEN = 0.25
"""Share of a deviation that masks may hide: it only decides on a column's scale, a power of two."""


@dataclass(frozen=True, eq=False)
class Columns:
    """How the real columns of a study are standardised; `exponent` as float64, for the codec's sake."""

    centre: np.ndarray
    """float64 (c,)"""
    exponent: np.ndarray
    """int64 (c,)"""

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Standardised columns, (n, c) from (n, c)."""
        return np.asarray(np.ldexp(values - self.centre, -self.exponent.astype(np.int32)))


class Follows(Step):
    """A step that goes on once columns can be standardised."""

    plan: bytes = b""
    """The study's, encoded."""

    def standardised(self, centre: np.ndarray, exponent: np.ndarray) -> Iterator[Step | Rows]:
        """What follows, given how each column is centred (float64) and scaled (int64 exponents)."""
        raise NotImplementedError


def real_columns(samples: Samples, phenotype: bool) -> np.ndarray:
    """The covariates and, if it is one, the real-valued phenotype of everyone: float64 (n, columns)."""
    columns = [samples.covariates, samples.phenotype[:, None]] if phenotype else [samples.covariates]
    return np.asarray(np.concatenate(columns, axis=1))


def _values(cohort: Cohort, columns: int, phenotype: bool) -> np.ndarray:
    values = real_columns(cohort.samples, phenotype)[complete(cohort.samples)]
    if values.shape[1] != columns:
        raise ProtocolError("the question has another number of columns than this cohort's data")
    return np.asarray(values)


def first_exponents(columns: int) -> np.ndarray:
    """What `exponents` begins with for each column: all finite numbers are below 2 to this power."""
    return np.full(columns, _LARGEST, np.int64)


def exponents(highest: np.ndarray, distance: int) -> np.ndarray:
    """int64 (columns, 32), falling from `highest`, int64 (columns,), by `distance`."""
    return np.asarray(highest[:, None] - distance * np.arange(THRESHOLDS))


def covering(within: np.ndarray, people: int | np.ndarray, powers: np.ndarray) -> np.ndarray:
    """The smallest of each column's powers within which `people` of the pool are: int64 (columns,)."""
    covers = within >= np.reshape(people, (-1, 1))
    covers[:, 0] = True  # all finite numbers are below the highest
    smallest = THRESHOLDS - 1 - np.argmax(covers[:, ::-1], axis=1)
    return np.asarray(powers[np.arange(len(powers)), smallest])


def most(people: int) -> int:
    """Nearly all of some people: all but the farthest one or one in a hundred."""
    return people - max(1, people // 100)


def outlying(within: np.ndarray, people: int, powers: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Whether the largest values of a column are beyond what nearly everybody has: bool (columns,).

    `zeros`, int64 (columns,), says of how many people a column is 0: a column is allowed to be 0 for nearly
    everybody. Columns with a large mean may have outliers, in deviations, that these counts do not show.
    """
    covered = np.where(within >= most(people), within, people).min(axis=1)
    distance = covering(within, people, powers) - covering(within, most(people), powers)
    return np.asarray((distance >= FAR + _WIDE) & (covered > zeros))


def settle(
    total: Arrays, people: int | np.ndarray, centre: np.ndarray, magnitude: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each column of the pool the mean, the deviation in units of 2^magnitude, and whether it is constant.

    `total` has the sums of the deviations from `centre` and of their squares, in units of 2^magnitude and of
    its square. The centre is a mean that was rounded; the one that is returned is right to the last bit or
    so, and of a constant column it is the column's value.
    """
    n = np.maximum(people, 1)
    mean = total["deviations"] / n
    squares = total["squares"] - total["deviations"] * mean
    constant = squares <= _CONSTANT * total["squares"]
    deviation = np.sqrt(np.maximum(squares, 0) / n)
    return centre + np.ldexp(mean, magnitude.astype(np.int32)), deviation, constant


def errors(noise: float, n: int | np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By how much masks that change sums by `noise` may have changed means, and deviations, of n numbers."""
    of_mean = np.full(deviation.shape, noise / np.maximum(n, 1))  # and of the mean square
    lost = np.divide(of_mean, 2 * deviation, out=np.full(deviation.shape, np.inf), where=deviation > 0)
    return of_mean, np.minimum(lost, np.sqrt(of_mean))


def refuse_what_masks_hide(titles: Sequence[str], hidden: np.ndarray) -> None:
    """ColumnError if there is a column, by `titles`, of which the deviation is `hidden`: bool (columns,)."""
    if names := [titles[k] for k in range(len(hidden)) if hidden[k]]:
        raise ColumnError(
            f"the values of {listed(names)} lie so close together, beside their size, that Gaussian masks "
            "of this variance hide their deviation. Duplicate the study with modular masks, or without these"
        )


def fraction_bits(bound: int, cohorts: int, ring_bits: int = 128) -> int:
    """The most bits after the point with which `cohorts` numbers of size up to `bound` cannot overflow."""
    return ring_bits - 2 - math.ceil(math.log2(bound * cohorts + 1))


class OfColumns:
    """A question about the real columns of everyone with complete data."""

    people: int
    columns: int
    phenotype: bool
    cohorts: int

    sends: ClassVar[tuple[Count | Real, ...]]
    each: ClassVar[Mapping[str, str]] = {"columns": "column"}

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Count | Real, ...]:
        return cls.sends if _columns_of(plan) else ()

    def columns_under(self, plan: Plan) -> tuple[str, ...]:
        return plan.covariate_columns + ((plan.phenotype,) if self.phenotype else ())

    def agrees(self, plan: Plan) -> bool:
        """About the plan's covariates, and its phenotype if that is a number."""
        asked = self.columns, self.phenotype, self.cohorts
        return asked == (_columns_of(plan), plan.trait == "quantitative", plan.cohorts)


def _columns_of(plan: Plan) -> int:
    """How many real columns a plan has."""
    return len(plan.covariate_columns) + (plan.trait == "quantitative")


@dataclass(frozen=True, eq=False)
class Magnitude(OfColumns, Step):
    """How many values of each column are at most 2^e, for e = highest, highest - distance, ... ."""

    name: ClassVar[str] = "standardise/magnitude"
    title: ClassVar[str] = "Find the magnitude of covariates"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "within",
            ("columns", THRESHOLDS),
            "people",
            "per covariate, and phenotype if it is a number: of how many people it is at most 2^e, for 32 e",
            "the size of the pool's values to a power of two; no single value",
        ),
    )

    people: int
    columns: int
    phenotype: bool
    highest: np.ndarray
    distance: int
    cohorts: int
    then: Follows | None = server_only(None)  # noqa: RUF009
    zeros: np.ndarray | None = server_only(None)  # noqa: RUF009

    def __post_init__(self) -> None:
        good = plausible.pool(self.people, self.cohorts) and self.distance in (COARSE, _WIDE)
        plausible.require(good and plausible.exponents(self.highest, self.columns), "magnitudes")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = _columns_of(plan)
        return Foreseen([cls(0, columns, False, first_exponents(columns), COARSE, plan.cohorts)], rounds=2)

    def agrees(self, plan: Plan) -> bool:
        """The first question is about all of float64, and the second about a part of that."""
        first = bool(np.all(self.highest == _LARGEST))
        return super().agrees(plan) and (self.distance != COARSE or first)

    def asking(self) -> Asking:
        return Asking(str(self.distance))

    @classmethod
    def first(cls, people: int, columns: int, phenotype: bool, cohorts: int, then: Follows) -> Magnitude:
        return cls(people, columns, phenotype, first_exponents(columns), COARSE, cohorts, then)

    def local(self, cohort: Cohort) -> Arrays:
        values = _values(cohort, self.columns, self.phenotype)
        return {"within": within_powers(values, exponents(self.highest, self.distance))}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        within, powers = total["within"], exponents(self.highest, self.distance)
        exponent = covering(within, self.people, powers)
        if self.distance == COARSE:
            yield replace(self, highest=exponent, distance=_WIDE, zeros=within[:, -1])
        else:
            if self.zeros is not None and self.then is not None:
                far = outlying(within, self.people, powers, self.zeros)
                names = self.columns_under(plan_of(self.then.plan))
                refuse([names[k] for k in np.flatnonzero(far)])
            yield Mean(self.people, self.columns, self.phenotype, exponent, self.cohorts, self.then)


def refuse(columns: Sequence[str]) -> None:
    """ColumnError if there is any column, by its name, with values beyond all others."""
    if columns:
        raise ColumnError(
            f"{listed(columns)}: the values of a few people of the pool are {2**FAR:,} times as large as "
            "those of nearly all others, or more. Most likely they are a code for a missing value, such as "
            "-999999999. Each cohort finds it with `unpooled-client check`; write NA, or say "
            "--missing-phenotype, and duplicate the study"
        )


@dataclass(frozen=True, eq=False)
class Mean(OfColumns, Step):
    """Sums of the columns in units of their magnitude."""

    name: ClassVar[str] = "standardise/mean"
    title: ClassVar[str] = "Average covariates"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sum",
            ("columns",),
            "people",
            "bits",
            "per covariate, and phenotype if it is a number: the sum",
            "the mean of each column of the pool",
        ),
    )
    ring_bits: ClassVar[int] = 128

    people: int
    columns: int
    phenotype: bool
    magnitude: np.ndarray
    cohorts: int
    then: Follows | None = server_only(None)  # noqa: RUF009

    def __post_init__(self) -> None:
        good = plausible.pool(self.people, self.cohorts)
        plausible.require(good and plausible.exponents(self.magnitude, self.columns), "means")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = _columns_of(plan)
        return Foreseen([cls(0, columns, False, np.zeros(columns, np.int64), plan.cohorts)])

    @property
    def bits(self) -> int:
        return fraction_bits(self.people, self.cohorts)

    def local(self, cohort: Cohort) -> Arrays:
        values = _values(cohort, self.columns, self.phenotype)
        return {"sum": moments(values, np.zeros(self.columns), self.magnitude)[0]}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        centre = np.ldexp(total["sum"] / max(self.people, 1), self.magnitude.astype(np.int32))
        yield Spread(
            self.people, self.columns, self.phenotype, centre, self.magnitude + 1, self.cohorts, self.then
        )


@dataclass(frozen=True, eq=False)
class Spread(OfColumns, Step):
    """Sums of the deviations from a centre, and of their squares, in units of 2^magnitude and its square."""

    name: ClassVar[str] = "standardise/spread"
    title: ClassVar[str] = "Measure the spread of covariates"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "deviations",
            ("columns",),
            "people",
            "bits",
            "per such column: the sum of x - mean",
            "the last digits of each mean",
        ),
        Real(
            "squares",
            ("columns",),
            "people",
            "bits",
            "per such column: the sum of (x - mean)^2",
            "the standard deviation of each column of the pool",
        ),
    )
    ring_bits: ClassVar[int] = 128

    people: int
    columns: int
    phenotype: bool
    centre: np.ndarray
    magnitude: np.ndarray
    cohorts: int
    then: Follows | None = server_only(None)  # noqa: RUF009

    def __post_init__(self) -> None:
        good = plausible.pool(self.people, self.cohorts) and self.columns == len(self.centre)
        plausible.require(good and plausible.columns(self.centre, self.magnitude), "deviations")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = _columns_of(plan)
        nothing = np.zeros(columns, np.int64)
        return Foreseen([cls(0, columns, False, np.zeros(columns), nothing, plan.cohorts)])

    @property
    def bits(self) -> int:
        return fraction_bits(self.people, self.cohorts)

    def local(self, cohort: Cohort) -> Arrays:
        values = _values(cohort, self.columns, self.phenotype)
        deviations, squares = moments(values, self.centre, self.magnitude)
        return {"deviations": deviations, "squares": squares}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        if self.then is None:
            raise ProtocolError("what follows the standardising is known only where the study is run")
        centre, deviation, constant = settle(total, self.people, self.centre, self.magnitude)
        self._refuse_what_masks_hide(deviation)
        exponent = np.frexp(deviation * (1 + 1e-6))[1].astype(np.int64) + self.magnitude
        exponent = np.where(constant, 0, exponent)
        yield from self.then.standardised(centre, exponent)

    def _refuse_what_masks_hide(self, deviation: np.ndarray) -> None:
        if self.then is None or not self.then.plan:
            return
        plan = plan_of(self.then.plan)
        _, lost = errors(plan.noise, self.people, deviation)
        refuse_what_masks_hide(self.columns_under(plan), lost > _MOST_HIDDEN * deviation)
