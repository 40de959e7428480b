"""Centre and scale real columns by the pool, so that every later sum has a small bound known beforehand.

A column x becomes z = (x - centre) / 2^exponent, where 2^exponent is the smallest power of two that is not
below the standard deviation. So the sum of z^2 is at most the number of people n, and by Cauchy-Schwarz the
sum of any product of two columns is at most n too, outliers included. Scaling by powers of two is exact, and
the centre is one float64 for all cohorts; so no rounding differs between them, however large the mean.

No cohort's largest value is ever sent: masked counts of the values that are at most 2^e, for 32 exponents e,
tell which power of two covers the pool. Two rounds of them cover all of float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, Samples
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Real, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import ProtocolError, Refuse, listed
from unpooled.kernels.columns import moments, within_powers
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.options import is_apart
from unpooled.plan.common_options import COMPONENTS, COVAR_VARIANCE_STANDARDIZE, COVARIATES
from unpooled.plan.plan import Plan, component_titles

THRESHOLDS = 32
"""Number of exponents that one round asks about."""

COARSE, FINE = 64, 2  # distances of exponents in the two rounds; 32 of the one span one of the other
_WIDE = 2 * FINE
"""The second distance here: it reaches 2^60 below the largest value or further, to where the others are."""
_LARGEST = 1024  # all finite numbers are below 2^1024

FAR = 20
"""A column whose largest value is 2^20 times as large as nearly everybody's, or more, is refused: sums of
float64, taken together, lose what the others say. It is a code for a missing value or another mistake."""

_CONSTANT = 1e-4
"""A column whose squared deviations from its own mean are at most this part of those from the rounded mean,
differs by rounding only: it is constant."""

_MOST_HIDDEN = 0.25
"""Share of a deviation that masks may hide: a deviation only decides a column's scale, a power of two."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Standardisation of a study's real columns."""

    name: ClassVar[str] = "columns"

    centre: np.ndarray
    """float64 (c,)"""
    exponent: np.ndarray
    """int64 (c,)"""

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Standardised columns, (n, c) from (n, c)."""
        return np.asarray(np.ldexp(values - self.centre, -self.exponent.astype(np.int32)))


@dataclass(frozen=True, eq=False)
class PooledColumns(Columns):
    """Standardisation of the real columns, and their form in a report: (x - origin) / unit."""

    name: ClassVar[str] = "columns/pooled"

    origin: np.ndarray
    """float64 (c,): 0 where a report has the column as it is in the files."""
    unit: np.ndarray
    """float64 (c,): 1 there."""
    conditions: np.ndarray
    """Panel indices of the variants that the first columns are copies of: int64 (k,)."""

    @classmethod
    def as_in_files(cls, centre: np.ndarray, exponent: np.ndarray) -> PooledColumns:
        count = len(centre)
        return cls(centre, exponent, np.zeros(count), np.ones(count), np.zeros(0, np.int64))

    @property
    def _one(self) -> np.ndarray:
        """Size of 1 in a standardised column, in the units of the files: float64 (c,)."""
        return np.asarray(np.ldexp(1.0, self.exponent.astype(np.int32)))

    @property
    def means(self) -> np.ndarray:
        """Offset taken from each column of the report, in units of the standardised one: float64 (c,)."""
        return np.asarray((self.centre - self.origin) / self._one)

    @property
    def scales(self) -> np.ndarray:
        """Size of 1 in a standardised column, in the units of the report: float64 (c,)."""
        return np.asarray(self._one / self.unit)


def standardise(study: Study, people: int) -> Asks[PooledColumns]:
    """Standardise the covariates, and phenotypes that are numbers, of so many people with complete data."""
    names = column_names(study.plan)
    about = study.plan, people
    if not names:
        return PooledColumns.as_in_files(np.zeros(0), np.zeros(0, np.int64))

    highest = first_exponents(len(names))
    # First over all that float64 holds; whoever is within the lowest power, 2^-960, counts as 0.
    sums = yield Magnitude(*about, highest, COARSE)
    zeros, highest = sums["within"][:, -1], covering(sums["within"], people, exponents(highest, COARSE))

    # Then below the power that was found, finely enough to tell outliers from the others.
    sums = yield Magnitude(*about, highest, _WIDE)
    powers = exponents(highest, _WIDE)
    refuse_outliers(study.plan, outlying(sums["within"], people, powers, zeros))
    magnitude = covering(sums["within"], people, powers)

    sums = yield Mean(*about, magnitude)
    centre = np.ldexp(sums["sum"] / max(people, 1), magnitude.astype(np.int32))

    # A value and the centre are at most 2^magnitude each: their difference is at most twice that.
    magnitude = magnitude + 1
    sums = yield Spread(*about, centre, magnitude)
    centre, deviation, constant = settle(sums, people, centre, magnitude)
    _, lost = errors(study.plan.noise, people, deviation)
    refuse_what_masks_hide(names, lost > _MOST_HIDDEN * deviation)
    if not study.plan.alone:
        refuse_constant(study.plan, constant)
    # Raised a little: of a deviation that is a power of two, rounding must not decide the exponent.
    exponent = np.frexp(deviation * (1 + 1e-6))[1].astype(np.int64) + magnitude
    columns = PooledColumns.as_in_files(centre, np.where(constant, 0, exponent))
    return in_deviations(study.plan, columns, np.ldexp(deviation, magnitude.astype(np.int32)), people)


def in_deviations(plan: Plan, columns: PooledColumns, deviation: np.ndarray, people: int) -> PooledColumns:
    """Give numeric covariates mean 0 and variance 1 in the report, under --covar-variance-standardize.

    As plink2 does, the variance is that with n - 1. `deviation` is that with n, float64 (c,).
    """
    if not COVAR_VARIANCE_STANDARDIZE.of(plan):
        return columns
    numeric = {covariate.title for covariate in COVARIATES.of(plan) if not covariate.levels}
    numeric |= {*component_titles(COMPONENTS.of(plan))}
    chosen = np.array([name in numeric for name in column_names(plan)]) & (deviation > 0)
    unit = deviation * math.sqrt(people / max(people - 1, 1))
    return replace(
        columns,
        origin=np.where(chosen, columns.centre, columns.origin),
        unit=np.where(chosen, unit, columns.unit),
    )


def real_columns(samples: Samples, phenotype: bool) -> np.ndarray:
    """The covariates and, if they are numbers, the phenotypes of everyone: float64 (n, columns)."""
    phenotypes = [values[:, None] for values in samples.phenotypes] if phenotype else []
    return np.asarray(np.concatenate([samples.covariates, *phenotypes], axis=1))


def standardised(
    samples: Samples, centre: np.ndarray, exponent: np.ndarray, *, apart: bool = False
) -> np.ndarray:
    """Covariates and phenotypes, standardised: float64 (n, columns); 0 for whoever has incomplete data.

    If cohorts are `apart`, each about its mean in this cohort.
    """
    values, inside = real_columns(samples, phenotype=True), complete(samples)
    if values.shape[1] != len(centre):
        raise ProtocolError("the question has another number of columns than this cohort's data")
    some = about_own_means(values[inside]) if apart else values[inside]
    found = np.zeros(values.shape)
    found[inside] = Columns(centre, exponent).apply(some)
    return found


def about_own_means(values: np.ndarray) -> np.ndarray:
    """A cohort's columns, (n, c), each about its mean there; a column that is the same for everyone is 0."""
    if not len(values):
        return values
    found = values - values.mean(axis=0)
    found -= found.mean(axis=0)  # what the rounding of a large mean has left
    return np.where((values == values[0]).all(axis=0), 0.0, found)


def first_exponents(columns: int) -> np.ndarray:
    """Return the first of the `exponents` of each column: all finite numbers are below 2 to this power."""
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
    """Mark the columns whose largest values are beyond what nearly everybody has: bool (columns,).

    `zeros`, int64 (columns,), says of how many people a column is 0: a column is allowed to be 0 for nearly
    everybody. Columns with a large mean may have outliers, in deviations, that these counts do not show.
    """
    covered = np.where(within >= most(people), within, people).min(axis=1)
    distance = covering(within, people, powers) - covering(within, most(people), powers)
    return np.asarray((distance >= FAR + _WIDE) & (covered > zeros))


def settle(
    total: Arrays, people: int | np.ndarray, centre: np.ndarray, magnitude: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute each column's mean in the pool, deviation in units of 2^magnitude, and whether it is constant.

    `total` has the sums of the deviations from `centre` and of their squares, in units of 2^magnitude and of
    its square. The centre is a mean that was rounded; the one that is returned is right to the last bit or
    so, and of a constant column it is the column's value.
    """
    n = np.maximum(people, 1)
    # The centre was a rounded mean: what it is off is taken from the squares as well.
    mean = total["deviations"] / n
    squares = total["squares"] - total["deviations"] * mean
    constant = squares <= _CONSTANT * total["squares"]
    deviation = np.sqrt(np.maximum(squares, 0) / n)
    return centre + np.ldexp(mean, magnitude.astype(np.int32)), deviation, constant


def errors(noise: float, n: int | np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bound the errors of means and deviations of n numbers when masks change sums by `noise`."""
    of_mean = np.full(deviation.shape, noise / np.maximum(n, 1))  # and of the mean square
    lost = np.divide(of_mean, 2 * deviation, out=np.full(deviation.shape, np.inf), where=deviation > 0)
    return of_mean, np.minimum(lost, np.sqrt(of_mean))


def refuse_what_masks_hide(titles: Sequence[str], hidden: np.ndarray) -> None:
    """Refuse if there is a column, by `titles`, of which the deviation is `hidden`: bool (columns,)."""
    if names := [titles[k] for k in np.flatnonzero(hidden).tolist()]:
        raise Refuse(
            "masking",
            f"the values of {listed(names)} are so close together, compared with their size, that Gaussian "
            "masks of this variance hide their deviation",
            "Choose modular masks, or leave these columns out.",
        )


def refuse_constant(plan: Plan, constant: np.ndarray) -> None:
    """Refuse if the phenotype or a covariate is `constant` in the pool: bool (columns,)."""
    if names := [column_names(plan)[k] for k in np.flatnonzero(constant)]:
        apart = "everybody of each cohort, and cohorts are apart"
        whom = apart if is_apart(plan) else "everybody in the pool"
        raise Refuse(
            plan.field_of(names[0]),
            f"{listed(names)}: the same value for {whom}, so that no variant has a result",
            "Leave it out, or have the cohorts look whether it is the column that was meant.",
        )


class OfColumns(UnderPlan):
    """A question about the real columns of everyone with complete data."""

    people: int

    sends: ClassVar[tuple[Count | Real, ...]]
    each: ClassVar[Mapping[str, str]] = {"columns": "column"}
    asked_if: ClassVar[Condition] = lambda plan: column_names(plan)

    @property
    def columns(self) -> int:
        return len(column_names(self.plan))

    def columns_under(self, plan: Plan) -> tuple[str, ...]:
        return column_names(plan)

    def values(self, cohort: Cohort) -> np.ndarray:
        """Return the columns of everyone with complete data: float64 (people, columns)."""
        found = real_columns(cohort.samples, is_number(self.plan))[complete(cohort.samples)]
        if found.shape[1] != self.columns:
            raise ProtocolError("the question has another number of columns than this cohort's data")
        return about_own_means(found) if is_apart(self.plan) else np.asarray(found)


def is_number(plan: Plan) -> bool:
    """Tell whether the phenotype is a number, and so one of the columns."""
    return plan.trait == "quantitative"


def column_names(plan: Plan) -> tuple[str, ...]:
    """The real columns of a plan: its covariates' and, if they are numbers, the phenotypes."""
    return plan.covariate_columns + (plan.phenotype_names if is_number(plan) else ())


@dataclass(frozen=True, eq=False)
class Magnitude(OfColumns, name="standardise/magnitude", title="Find the magnitude of covariates"):
    """Question that counts the values of each column up to 2^e in size, e falling from `highest` by
    `distance`.
    """

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "within",
            ("columns", THRESHOLDS),
            "people",
            "per covariate, and phenotype if it is a number: for how many people it is at most 2^e, for 32 "
            "values of e",
            "the size of the pool's values to a power of two; no single value",
        ),
    )

    people: int
    highest: np.ndarray
    distance: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan, 0, first_exponents(len(column_names(plan))), COARSE)], rounds=2)

    def local(self, cohort: Cohort) -> Arrays:
        return {"within": within_powers(self.values(cohort), exponents(self.highest, self.distance))}


def refuse_outliers(plan: Plan, far: np.ndarray) -> None:
    """Refuse if a column has values `far` beyond all others: bool (columns,)."""
    if names := [column_names(plan)[k] for k in np.flatnonzero(far)]:
        raise Refuse(
            plan.field_of(names[0]),
            f"{listed(names)}: the values of a few people of the pool are {2**FAR:,} times as large as "
            "those of nearly all others, or more",
            "Most likely they are a code for a missing value, such as -999999999. Each cohort can find it by "
            "checking its files; write NA, or name the code as the one for missing values.",
        )


@dataclass(frozen=True, eq=False)
class Mean(OfColumns, name="standardise/mean", title="Average covariates", ring_bits=128):
    """Sums of the columns in units of their magnitude."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sum",
            ("columns",),
            "people",
            "per covariate, and phenotype if it is a number: the sum",
            "the mean of each column of the pool",
        ),
    )

    people: int
    magnitude: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan, 0, np.zeros(len(column_names(plan)), np.int64))])

    def local(self, cohort: Cohort) -> Arrays:
        return {"sum": moments(self.values(cohort), np.zeros(self.columns), self.magnitude)[0]}


@dataclass(frozen=True, eq=False)
class Spread(OfColumns, name="standardise/spread", title="Measure the spread of covariates", ring_bits=128):
    """Sums of the deviations from a centre, and of their squares, in units of 2^magnitude and its square."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "deviations",
            ("columns",),
            "people",
            "per such column: the sum of x - mean",
            "the last digits of each mean",
        ),
        Real(
            "squares",
            ("columns",),
            "people",
            "per such column: the sum of (x - mean)^2",
            "the standard deviation of each column of the pool",
        ),
    )

    people: int
    centre: np.ndarray
    magnitude: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = len(column_names(plan))
        return Foreseen([cls(plan, 0, np.zeros(columns), np.zeros(columns, np.int64))])

    def local(self, cohort: Cohort) -> Arrays:
        deviations, squares = moments(self.values(cohort), self.centre, self.magnitude)
        return {"deviations": deviations, "squares": squares}
