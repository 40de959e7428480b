"""The search for the lambda of Yeo and Johnson's transform, given how far values lie from a centre.

Why the sums that `Search` asks for tell whether the likelihood grows with lambda is in `yeo_johnson`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Finish, Go, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Foreseen, Real, Sent, UnderPlan, fraction_bits
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse, listed
from unpooled.fitted import yeo_johnson as transform
from unpooled.fitted.scaler import YeoJohnson, is_nearly_constant
from unpooled.kernels.bends import bend_sums
from unpooled.kernels.elementary import exp
from unpooled.methods.tables.bracket import ASKED, FARTHEST, START, Brackets
from unpooled.methods.tables.table import (
    FEATURES,
    derived,
    is_compared,
    known,
    places_under,
    scaled_under,
    scaled_values,
)
from unpooled.plan.encodings import YEO_JOHNSON
from unpooled.plan.plan import Plan

_LARGEST_POWER = 700.0
"""Exponent of e beyond which the transform, or an intermediate result, may not be finite."""
SMALLEST_EXPONENT = -1000
"""Exponent of two of the smallest unit, also relative to 1 + |centre|: below, results may not be finite."""

_STEPS = 10
"""Doublings of the search's first step, or more, that lead to where lambda - 1 is one over the width."""
_LARGEST_STEP = 1000
"""Largest exponent of two of the first step: all lambdas of the first round are still finite."""

_FLAT = 1e-9
"""Share of a feature's range that the inverse may lose without a note."""

_LOST = 1e-9
"""A variance of this share of the mean square, or less, is rounding."""
_NEEDED_BITS = 45
"""Number of bits that a mean square needs; with fewer, the variance is rounding."""


@procedure("yeo-johnson/search")
def search(study: Study, pool: Pool, brackets: Brackets) -> Asks[None]:
    """Ask for signs until lambda is known of each feature; then measure and report what it makes of them."""
    if not len(brackets.open):
        yield Finish(report(study, pool, brackets))
        return
    question = pool.search(study.plan, brackets)
    sums = yield question
    # At a lambda that could not be computed the start was asked in its place: what came back is not of it.
    signs = np.where(
        question.powers == brackets.questions(), question.signs(sums, pool, study.plan.cohorts), 0
    )
    yield from Go(search(study, pool, brackets.narrowed(signs)))


@procedure("yeo-johnson/report")
def report(study: Study, pool: Pool, brackets: Brackets) -> Asks[None]:
    """Measure the transformed features, and report them."""
    asked = pool.transformed(study.plan, brackets)
    sums = yield asked
    yield found(asked, pool, brackets, sums)


def found(asked: MeasureTransformed, pool: Pool, brackets: Brackets, sums: Arrays) -> Rows:
    """The parameters of all features, NaN of those without values."""
    n, power = pool.n[asked.asked], asked.powers[:, 0]
    mean, square = (sums[name][:, 0] / np.maximum(n, 1) for name in ("g", "squares"))
    variance = square - mean * mean
    # A difference of two nearly equal numbers has no digits left: that feature is a constant.
    spread = np.sqrt(np.where(variance > _LOST * square, variance, 0))
    mean, spread = np.ldexp([mean, spread], asked.size[:, 0].astype(np.int32))
    found = {name: np.full(len(pool.n), np.nan) for name in YeoJohnson.parameters}
    flat = np.zeros(len(pool.n), bool)
    if pool.n.any():
        own = _parameters(power, asked.centre, mean, spread)
        for name, values in own.items():
            found[name][asked.asked] = values
        flat[asked.asked] = pool.flat(asked.asked, power, own["centre"])
    marks = {"edge": brackets.edge, "flat": flat}
    return Rows(FEATURES, {"feature": np.arange(len(pool.n)), "n": pool.n, **found, **marks})


def sorted_offsets(
    table: Table, plan: Plan, asked: Iterable[int], centre: np.ndarray
) -> Iterator[np.ndarray]:
    """phi(x) - phi(centre) of all values of each feature that is asked, in their order."""
    values, of = scaled_values(table, YEO_JOHNSON, plan), places_under(YEO_JOHNSON, plan)
    kept: dict[int, tuple[float, np.ndarray]] = derived(table, f"offsets {of}", dict)
    for feature, around in zip(asked, centre.tolist(), strict=True):
        # Sorting is dear, and all rounds of a search are about one centre.
        if feature not in kept or kept[feature][0] != around:
            kept[feature] = around, np.sort(transform.offsets(known(values, feature), around))
        yield kept[feature][1]


@dataclass(frozen=True, eq=False)
class Pool:
    """The pool as it is known when the search begins."""

    name: ClassVar[str] = "tables/search-pool"

    n: np.ndarray
    """int64 (features,)"""
    lowest: np.ndarray
    highest: np.ndarray
    """Bounds of all offsets, phi(x) - phi(centre): float64 (features,)."""
    centre: np.ndarray
    """float64 (features,)"""

    @property
    def width(self) -> np.ndarray:
        """Largest size of an offset: float64 (features,)."""
        return np.asarray(np.maximum(np.abs(self.lowest), np.abs(self.highest)))

    def first_step(self) -> np.ndarray:
        """The first step of the search, a power of two: float64 (features,). 1, or if more 2^-10 / width.

        No lambda is computable beyond 1 +- 700 n / width, for the width of one side is at least a share of
        1 / n of the other's: the offsets' mean is 0.
        """
        exponent = np.frexp(self.width)[1].astype(np.int64)
        doublings = np.clip(-exponent - _STEPS, 0, _LARGEST_STEP).astype(np.int32)
        return np.asarray(np.ldexp(1.0, doublings))

    def search(self, plan: Plan, brackets: Brackets) -> Search:
        """The next question of the search."""
        asked, powers = brackets.open, brackets.questions()
        # The start can always be computed: there the transform is x itself.
        powers = np.where(self.computable(asked, powers), powers, START)
        width = exponent(self.width[asked], np.ones(len(asked)))
        return Search(**self.fields(plan, asked, powers), width=width)

    def transformed(
        self, plan: Plan, brackets: Brackets, kind: type[MeasureTransformed] | None = None
    ) -> MeasureTransformed:
        """The question after it."""
        asked = np.flatnonzero(self.n) if self.n.any() else np.arange(len(self.n))
        return (kind or MeasureTransformed)(**self.fields(plan, asked, brackets.found[asked, None]))

    def fields(self, plan: Plan, asked: np.ndarray, powers: np.ndarray) -> dict[str, Any]:
        if not (good := self.computable(asked, powers).all(axis=1)).all():
            titles = [feature.title for feature in scaled_under(YEO_JOHNSON, plan)]
            raise Refuse(
                "schema",
                f"the values of {listed([titles[k] for k in asked[~good]])} are too large for this transform",
                "Give such columns in a larger unit, or declare them as text in its schema.",
            )
        return {
            "plan": plan, "most": max(1, int(self.n.max())),
            "asked": asked, "centre": self.centre[asked], "powers": powers,
            "size": exponent(
                np.maximum(*map(np.abs, self.bends(asked, powers))), 1 + np.abs(self.centre[asked, None])
            ),
        }  # fmt: skip

    def bends(self, asked: np.ndarray, powers: np.ndarray) -> list[np.ndarray]:
        """The least and the largest that the transform about the centre may be: float64, as `powers`."""
        centre = self.centre[asked, None]
        return [
            transform.from_offsets(end[asked, None], centre, powers) for end in (self.lowest, self.highest)
        ]

    def about(self, centre: np.ndarray) -> Pool:
        """The same about another centre of each feature."""
        shift = transform.offsets(centre, self.centre)
        return replace(self, lowest=self.lowest - shift, highest=self.highest - shift, centre=centre)

    def flat(self, asked: np.ndarray, power: np.ndarray, middle: np.ndarray) -> np.ndarray:
        """Mark the features whose inverse loses, at an end, over a billionth of the range: bool (asked,).

        A value transformed about the `middle` is rounded to a share of its size; the slope there tells what
        this is in x.
        """
        shift = transform.offsets(middle, self.centre[asked])
        ends = [end[asked] - shift for end in (self.lowest, self.highest)]
        low, high = (transform.from_offsets(end, middle, START) for end in ends)  # x - middle
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sizes = [np.abs(transform.from_offsets(end, middle, power)) for end in ends]
            slopes = [exp((power - 1) * end) for end in ends]
            lost = [transform.ROUNDING * size / slope for size, slope in zip(sizes, slopes, strict=True)]
        return np.asarray(np.maximum(*lost) > _FLAT * (high - low))

    def computable(self, asked: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Mark the lambdas at which nothing overflows, not even on the way: bool, shaped as `powers`."""
        # As in `unpooled.fitted.yeo_johnson`: mirrored, so that centres are not negative, in two parts at 0.
        mirror = np.where(self.centre[asked, None] < 0, -1.0, 1.0)
        middle = np.abs(transform.logarithm(self.centre[asked, None]))
        powers = np.where(mirror < 0, 2 - powers, powers)
        good = np.asarray(np.abs(powers) < FARTHEST)
        for end in (self.lowest, self.highest):
            s = mirror * end[asked, None]
            above = middle + np.maximum(powers * np.maximum(s, -middle), 0)
            below = (1 - powers) * middle + np.maximum((powers - 2) * (s + middle), 0)
            good &= (above < _LARGEST_POWER) & ((s >= -middle) | (below < _LARGEST_POWER))
        return good


@dataclass(frozen=True, eq=False)
class OfBends(UnderPlan, ring_bits=128):
    """About some features, each transformed about a centre at some lambdas."""

    lambdas: ClassVar[int] = 1
    """Number of lambdas asked about for each feature."""
    most_rounds: ClassVar[int] = 1
    """Maximum number of questions about one feature."""
    by_bits: ClassVar[bool] = False
    """True if asked only where the plan says that nobody reads the sums; False if only where it does not."""
    each: ClassVar[dict[str, str]] = {"count": "feature"}

    most: int
    """The largest number of values of a feature."""
    asked: np.ndarray
    """int64 (asked,), ascending: the features that this is about."""
    centre: np.ndarray
    """float64 (asked,)"""
    powers: np.ndarray
    """float64 (asked, lambdas)"""
    size: np.ndarray
    """int64 (asked, lambdas): no transformed value is larger than 2 to this power."""

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        is_asked = is_compared(plan) == cls.by_bits and scaled_under(YEO_JOHNSON, plan)
        return cls.sends if is_asked else ()

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(**cls.foreseen_fields(plan))], cls.most_rounds, exact=False)

    @classmethod
    def foreseen_fields(cls, plan: Plan) -> dict[str, Any]:
        """The fields of a question about all features."""
        features = len(scaled_under(YEO_JOHNSON, plan))
        return {
            "plan": plan,
            "most": 1,
            "asked": np.arange(features),
            "centre": np.zeros(features),
            "powers": np.zeros((features, cls.lambdas)),
            "size": np.zeros((features, cls.lambdas), np.int64),
        }

    @property
    def count(self) -> int:
        return len(self.asked)

    def columns_under(self, plan: Plan) -> tuple[str, ...]:
        features = scaled_under(YEO_JOHNSON, plan)
        return tuple(features[k].title for k in self.asked)

    def offsets(self, table: Table) -> Iterator[np.ndarray]:
        return sorted_offsets(table, self.plan, self.asked.tolist(), self.centre)


_SEARCH_TELLS = (
    "mean and spread of the pool's values bent at each lambda; at one far from 1, the smallest or the "
    "largest values of single people"
)
_MOST_ROUNDS = 12
"""Maximum number of rounds of the search, for any possible number of values: docs/normalization.md."""


@dataclass(frozen=True, eq=False)
class OfDerivatives(OfBends):
    """About the derivative of the likelihood at some lambdas."""

    width: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64 (asked,): no phi(x) - phi(centre) is larger than 2 to this power."""

    @classmethod
    def foreseen_fields(cls, plan: Plan) -> dict[str, Any]:
        width = np.zeros(len(scaled_under(YEO_JOHNSON, plan)), np.int64)
        return {**super().foreseen_fields(plan), "width": width}

    def summed(self, table: Table, size: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum offsets, (count,), and the four numbers of `bend_sums`, (count, lambdas, 4), in these units."""
        sums, offsets = np.empty((self.count, self.lambdas, 4)), np.empty(self.count)
        for k, s in enumerate(self.offsets(table)):
            offsets[k] = np.ldexp(np.sum(s), -self.width[k])
            sums[k] = bend_sums(s, self.centre[k], self.powers[k], size[k], int(width[k]))
        return offsets, sums


def named(offsets: np.ndarray, sums: np.ndarray) -> Arrays:
    """The arrays that are sent, from what `OfDerivatives.summed` returns."""
    g, squares, slopes, products = np.moveaxis(sums, 2, 0)
    return {"offsets": offsets, "g": g, "squares": squares, "slopes": slopes, "products": products}


@dataclass(frozen=True, eq=False)
class Search(OfDerivatives, name="normalization/search", title="Search for lambda"):
    """Asks for the sums that tell at which lambdas the likelihood grows."""

    lambdas: ClassVar[int] = ASKED
    most_rounds: ClassVar[int] = _MOST_ROUNDS
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "offsets",
            ("count",),
            "most",
            "per feature: the sum of phi(x) - phi(centre)",
            "the last digits of the mean logarithm",
        ),
        Real(
            "g",
            ("count", ASKED),
            "most",
            "per feature and lambda: the sum of the transformed values g",
            _SEARCH_TELLS,
            of_one=True,
        ),
        Real(
            "squares",
            ("count", ASKED),
            "most",
            "likewise: the sum of g^2",
            _SEARCH_TELLS,
            of_one=True,
        ),
        Real(
            "slopes",
            ("count", ASKED),
            "most",
            "likewise: the sum of g', the derivative by lambda",
            _SEARCH_TELLS,
            of_one=True,
        ),
        Real(
            "products",
            ("count", ASKED),
            "most",
            "likewise: the sum of g g'",
            _SEARCH_TELLS,
            of_one=True,
        ),
    )

    def local(self, table: Table) -> Arrays:
        return named(*self.summed(table, self.size, self.width))

    def signs(self, sums: Arrays, pool: Pool, cohorts: int) -> np.ndarray:
        """Return the direction in which the likelihood goes at each lambda, as `growing` does; 0 for a
        constant.
        """
        n = pool.n[self.asked]
        signs = growing(sums, n, fraction_bits(self.most, cohorts, self.ring_bits))
        # Of a constant every lambda is as likely: with no sign at the start the search ends there.
        signs[self._nearly_constant(sums, n), 0] = 0
        return signs

    def _nearly_constant(self, total: Arrays, n: np.ndarray) -> np.ndarray:
        """Mark the features that vary only by rounding: bool (asked,); only the first round tells.

        Its first lambda is 1, at which the transform is x - centre.
        """
        plain, size = self.powers[:, 0] == START, self.size[:, 0].astype(np.int32)
        mean, squares = (total[name][:, 0] / n for name in ("g", "squares"))
        deviation = np.ldexp(np.sqrt(np.maximum(squares - mean * mean, 0)), size)
        return np.asarray(plain & is_nearly_constant(n, self.centre + np.ldexp(mean, size), deviation))


def growing(total: Arrays, n: np.ndarray, bits: int) -> np.ndarray:
    """Tell where the likelihood grows with lambda: int8 (asked, lambdas), 1, -1 if it falls, 0 if unknown.

    `total` has the sums that `Search` asks for, in units of 2^-bits; `n` int64 (asked,) is how many values
    each feature has. Nothing else of these sums is used.
    """
    n = n[:, None]
    g, squares, slope, product = (total[name] / n for name in ("g", "squares", "slopes", "products"))
    variance, covariance = squares - g * g, product - g * slope
    derivative = total["offsets"][:, None] / n * variance - covariance
    known = (variance > _LOST * squares) & (squares > math.ldexp(1.0, _NEEDED_BITS - bits))
    return np.where(known, np.where(derivative >= 0, 1, -1), 0).astype(np.int8)


@dataclass(frozen=True, eq=False)
class MeasureTransformed(OfBends, name="normalization/transformed", title="Measure the transformed features"):
    """Sums of the transformed values and of their squares, at the lambda that was found."""

    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "g",
            ("count", 1),
            "most",
            "per feature: the sum of the transformed values g",
            "the mean of each transformed feature of the pool",
        ),
        Real(
            "squares",
            ("count", 1),
            "most",
            "per feature: the sum of g^2",
            "the standard deviation of each transformed feature of the pool",
        ),
    )

    def local(self, table: Table) -> Arrays:
        columns = zip(self.offsets(table), self.centre, self.powers, self.size, strict=True)
        sums = np.array([bend_sums(s, centre, powers, size, 0)[:, :2] for s, centre, powers, size in columns])
        return {"g": sums[:, :, 0], "squares": sums[:, :, 1]}


def _parameters(power: np.ndarray, centre: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> Arrays:
    """The parameters of features, given mean and deviation of their transform about `centre`.

    Mean and deviation of Psi are infinite, or 0, where they are no numbers. The value whose transform is the
    mean, rounded, takes the place of the centre; there `spread` is the deviation in units of the feature, and
    `rest` what is left of the mean, in deviations.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        slope = transform.derivative(centre, power)
        middle = transform.inverse(mean, centre, power)
        return {
            "lambda": power,
            "mean": transform.transformed(centre, power) + slope * mean,
            "deviation": slope * spread,
            "centre": middle,
            "spread": spread * exp((1 - power) * transform.offsets(middle, centre)),
            "rest": np.where(spread > 0, (mean - transform.about(middle, centre, power)) / spread, 0.0),
        }


def exponent(bound: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """int64: of a power of two that is above the bound. What is far below the `unit` counts as constant."""
    # A millionth more than rounding of the transform can add, so that no value is beyond the bound.
    above, least = (np.frexp(size * (1 + 1e-6))[1].astype(np.int64) for size in (bound, unit))
    return np.maximum(above, least + SMALLEST_EXPONENT)
