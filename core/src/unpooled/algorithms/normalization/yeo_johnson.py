"""The transform of Yeo and Johnson that makes each feature of the pool most like a normal.

    Narrow              between which values the feature lies: 3 bytes of its smallest and largest
    AverageLogarithms   the sum of phi(x) = sgn(x) log(1 + |x|); its mean is that of the centre
    Search              at 15 lambdas the sums that tell whether the likelihood grows with lambda
    MeasureTransformed  mean and deviation of the transformed values, at the lambda that was found

The log-likelihood of lambda is -n/2 log Var(Psi) + (lambda - 1) sum of phi (Yeo and Johnson 2000; the
search by signs is that of Marchand and others 2022, SecureFedYJ). Cohorts sum the transform about a common
centre, g, as `unpooled.yeo_johnson` has it. It differs from Psi by a shift, which a variance does not see,
and by the factor exp((lambda - 1) phi(centre)); so the derivative by lambda, divided by n and times the
variance, is

    mean(phi - phi(centre)) Var(g) - Cov(g, g')

The transform grows with x, so its values at both ends of the range bound it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from unpooled import yeo_johnson as transform
from unpooled.algorithms import plausible
from unpooled.algorithms.normalization import order
from unpooled.algorithms.normalization.bracket import ASKED, Brackets
from unpooled.algorithms.normalization.moments import OfFeatures
from unpooled.algorithms.normalization.table import FEATURES, derived, known, table_values
from unpooled.algorithms.standardise import fraction_bits
from unpooled.cohort import Cohort
from unpooled.errors import ProtocolError, UnpooledError
from unpooled.kernels.bends import bend_sums
from unpooled.kernels.columns import moments
from unpooled.plan import Plan
from unpooled.sizes import Sizes
from unpooled.step import Arrays, Foreseen, Real, Rows, Step, server_only

LARGEST_LOGARITHM = 710.0
_LARGEST_POWER = 700.0
"""Of e: beyond it the transform, and what is computed on the way, may be no number."""
_MOST_BLUR = 12.0
"""Power of e by which the bound of g may exceed it, because the range is known to some digits only."""

_SMALLEST_EXPONENT = -1000
"""Of two: one over it is still a number."""

_STEPS = 10
"""Doublings of the search's first step, or more, that lead to where lambda - 1 is one over the width."""
_LARGEST_STEP = 900
"""As a power of two: all lambdas of the search are numbers still."""

_LOST = 1e-9
"""A variance of this share of the mean square, or less, is rounding."""
_NEEDED_BITS = 45
"""Of a mean square behind the point; with fewer of them the variance is rounding."""


@dataclass(frozen=True, eq=False)
class AverageLogarithms(OfFeatures, order.Follows):
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

    lowest: np.ndarray | None = server_only(None)  # noqa: RUF009
    highest: np.ndarray | None = server_only(None)  # noqa: RUF009
    """float64 (features, 2): between which values the smallest lies, and the largest."""

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

    def within(self, lowest: np.ndarray, highest: np.ndarray) -> Iterator[Step | Rows]:
        some = self.values[:, None] > 0
        yield replace(self, lowest=np.where(some, lowest, 0.0), highest=np.where(some, highest, 0.0))

    def local(self, cohort: Cohort) -> Arrays:
        logarithms = transform.logarithm(table_values(cohort, self.features))
        nothing = np.zeros(self.features)
        return {"logarithms": moments(logarithms, nothing, nothing.astype(np.int64))[0]}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        if self.lowest is None or self.highest is None:
            raise ProtocolError("between what the values lie is known only where the study is run")
        centre = transform.exponential(total["logarithms"] / np.maximum(self.values, 1))
        centre = np.clip(centre, self.lowest[:, 0], self.highest[:, 1])
        pool = _Pool(self.values, self.cohorts, self.lowest, self.highest, centre)
        yield pool.ask(Brackets.first(self.values > 0, pool.first_step()))


@dataclass(frozen=True, eq=False)
class _Pool:
    """What is known of the pool when the search begins."""

    n: np.ndarray
    """int64 (features,)"""
    cohorts: int
    lowest: np.ndarray
    highest: np.ndarray
    """float64 (features, 2), as above."""
    centre: np.ndarray
    """float64 (features,)"""

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Between these all values lie: float64 (features,)."""
        return self.lowest[:, 0], self.highest[:, 1]

    def first_step(self) -> np.ndarray:
        """The first step of the search, a power of two: float64 (features,). 1, or if more 2^-10 / width.

        No lambda is computable beyond 1 +- 700 n / width, for the width of one side is at least a share of
        1 / n of the other's: the offsets' mean is 0.
        """
        exponent = np.frexp(self._width(np.arange(len(self.n))))[1].astype(np.int64)
        doublings = np.clip(-exponent - _STEPS, 0, _LARGEST_STEP).astype(np.int32)
        return np.asarray(np.ldexp(1.0, doublings))

    def ask(self, brackets: Brackets) -> Search | MeasureTransformed:
        """The next question of the search, or the one after it."""
        known: dict[str, Any] = {
            "n": self.n, "lowest": self.lowest, "highest": self.highest, "centres": self.centre,
            "near": brackets.near, "far": brackets.far, "edge": brackets.edge,
        }  # fmt: skip
        if len(brackets.open):
            asked, powers = brackets.open, brackets.questions()
            powers = np.where(self._computable(asked, powers), powers, 1.0)
            return Search(**self._fields(asked, powers), width=_exponent(self._width(asked)), **known)
        asked = np.flatnonzero(self.n) if self.n.any() else np.arange(len(self.n))
        return MeasureTransformed(**self._fields(asked, brackets.found[asked, None]), **known)

    def _fields(self, asked: np.ndarray, powers: np.ndarray) -> dict[str, Any]:
        if not self._computable(asked, powers).all():
            raise UnpooledError(
                "a feature has values too large for this transform. Duplicate the study, and give the "
                "feature in a larger unit, or call the column text in its schema"
            )
        ends = [np.abs(self._about(asked, powers, end)) for end in self.ends]
        return {
            "features": len(self.n), "cohorts": self.cohorts, "most": max(1, int(self.n.max())),
            "asked": asked, "centre": self.centre[asked], "powers": powers,
            "size": _exponent(np.maximum(*ends)),
        }  # fmt: skip

    def _width(self, asked: np.ndarray) -> np.ndarray:
        """No |phi(x) - phi(centre)| of these features is larger: float64 (asked,)."""
        return np.asarray(np.maximum(*(np.abs(self._offsets(asked, end))[:, 0] for end in self.ends)))

    def _offsets(self, asked: np.ndarray, x: np.ndarray) -> np.ndarray:
        return transform.offsets(x[asked, None], self.centre[asked, None])

    def _about(self, asked: np.ndarray, powers: np.ndarray, x: np.ndarray) -> np.ndarray:
        return transform.about(x[asked, None], self.centre[asked, None], powers)

    def _computable(self, asked: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """At which lambdas sums have their digits, and nothing overflows on the way: as `powers`, bool."""
        good = np.ones(powers.shape, bool)
        centre = np.abs(transform.logarithm(self.centre[asked, None]))
        for k, end in enumerate(self.ends):
            # |g(x)| <= |x - centre| exp(max((lambda - 1) (phi(x) - phi(centre)), 0)).
            steep = np.maximum(powers - 1 if k else 1 - powers, 0)
            widest = 1 + np.maximum(centre, np.abs(transform.logarithm(end[asked, None])))
            good &= steep * np.abs(self._offsets(asked, end)) + widest < _LARGEST_POWER
            blur = transform.offsets(self.highest[asked, k], self.lowest[asked, k])
            good &= steep * blur[:, None] < _MOST_BLUR
        return good


@dataclass(frozen=True, eq=False)
class _OfBends(Step):
    """What these steps have in common: some features, each transformed about a centre at some lambdas."""

    ring_bits: ClassVar[int] = 128
    each: ClassVar[dict[str, str]] = {"count": "feature"}

    features: int
    """Of the table."""
    cohorts: int
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

    def __post_init__(self) -> None:
        good = self.asked.dtype == np.int64 and self.asked.ndim == 1 and 0 < len(self.asked) <= self.features
        good = (
            good
            and self.asked[0] >= 0
            and self.asked[-1] < self.features
            and bool(np.all(np.diff(self.asked) > 0))
        )
        good = (
            good and plausible.pool(self.most, self.cohorts) and plausible.real(self.centre, self.asked.shape)
        )
        good = good and self.powers.ndim == 2 and plausible.real(self.powers, (len(self.asked), self.lambdas))
        good = good and self.size.shape == self.powers.shape
        plausible.require(good and plausible.exponents(self.size.ravel(), self.size.size), "transforms")

    @classmethod
    def foreseen_fields(cls, plan: Plan, lambdas: int) -> dict[str, Any]:
        """The fields of a question about all features, at so many lambdas."""
        features = len(plan.features)
        return {
            "features": features,
            "cohorts": plan.cohorts,
            "most": 1,
            "asked": np.arange(features),
            "centre": np.zeros(features),
            "powers": np.zeros((features, lambdas)),
            "size": np.zeros((features, lambdas), np.int64),
        }

    @property
    def lambdas(self) -> int:
        """How many are asked of a feature."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        return len(self.asked)

    @property
    def bits(self) -> int:
        return fraction_bits(self.most, self.cohorts)

    def columns_under(self, plan: Plan) -> tuple[str, ...]:
        return tuple(plan.features[k].title for k in self.asked)

    def agrees(self, plan: Plan) -> bool:
        return self.features == len(plan.features) and self.cohorts == plan.cohorts

    def _offsets(self, cohort: Cohort) -> Iterator[np.ndarray]:
        """phi(x) - phi(centre) of all values of each feature that is asked."""
        values = table_values(cohort, self.features)
        kept: dict[int, tuple[float, np.ndarray]] = derived(cohort, "offsets", dict)
        for feature, centre in zip(self.asked.tolist(), self.centre.tolist(), strict=True):
            if feature not in kept or kept[feature][0] != centre:
                kept[feature] = centre, transform.offsets(known(values, feature), centre)
            yield kept[feature][1]


@dataclass(frozen=True, eq=False)
class _Searching(_OfBends):
    """And what the server knows of all features meanwhile: float64 (features,) unless it says otherwise."""

    n: np.ndarray | None = server_only(None)  # noqa: RUF009
    """int64"""
    lowest: np.ndarray | None = server_only(None)  # noqa: RUF009
    highest: np.ndarray | None = server_only(None)  # noqa: RUF009
    """(features, 2)"""
    centres: np.ndarray | None = server_only(None)  # noqa: RUF009
    near: np.ndarray | None = server_only(None)  # noqa: RUF009
    far: np.ndarray | None = server_only(None)  # noqa: RUF009
    edge: np.ndarray | None = server_only(None)  # noqa: RUF009
    """bool"""

    def _state(self) -> tuple[_Pool, Brackets]:
        if (
            self.n is None or self.lowest is None or self.highest is None or self.centres is None
            or self.near is None or self.far is None or self.edge is None
        ):  # fmt: skip
            raise ProtocolError("how far the search is, is known only where the study is run")
        pool = _Pool(self.n, self.cohorts, self.lowest, self.highest, self.centres)
        return pool, Brackets(self.near, self.far, self.edge, pool.first_step())


_SEARCH_TELLS = (
    "mean and spread of the pool's values bent at each lambda; at one far from 1, the smallest or the "
    "largest values of single people"
)
_MOST_ROUNDS = 12
"""Of the search, at all numbers of values that a study can have: docs/normalization.md."""


@dataclass(frozen=True, eq=False)
class Search(_Searching):
    """Asks for the sums that tell at which lambdas the likelihood grows."""

    name: ClassVar[str] = "normalization/search"
    title: ClassVar[str] = "Search for lambda"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "offsets",
            ("count",),
            "most",
            "bits",
            "per feature: the sum of phi(x) - phi(centre)",
            "the last digits of the mean logarithm",
        ),
        Real(
            "g",
            ("count", ASKED),
            "most",
            "bits",
            "per feature and lambda: the sum of the transformed values g",
            _SEARCH_TELLS,
        ),
        Real("squares", ("count", ASKED), "most", "bits", "likewise: the sum of g^2", _SEARCH_TELLS),
        Real(
            "slopes",
            ("count", ASKED),
            "most",
            "bits",
            "likewise: the sum of g', the derivative by lambda",
            _SEARCH_TELLS,
        ),
        Real("products", ("count", ASKED), "most", "bits", "likewise: the sum of g g'", _SEARCH_TELLS),
    )

    width: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64 (asked,): no phi(x) - phi(centre) is larger than 2 to this power."""

    def __post_init__(self) -> None:
        super().__post_init__()
        plausible.require(plausible.exponents(self.width, len(self.asked)), "transforms")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        width = np.zeros(len(plan.features), np.int64)
        return Foreseen([cls(**cls.foreseen_fields(plan, ASKED), width=width)], _MOST_ROUNDS, exact=False)

    @property
    def lambdas(self) -> int:
        return ASKED

    def local(self, cohort: Cohort) -> Arrays:
        sums, offsets = np.empty((self.count, ASKED, 4)), np.empty(self.count)
        for k, s in enumerate(self._offsets(cohort)):
            offsets[k] = np.ldexp(np.sum(s), -self.width[k])
            sums[k] = bend_sums(s, self.centre[k], self.powers[k], self.size[k], int(self.width[k]))
        g, squares, slopes, products = np.moveaxis(sums, 2, 0)
        return {"offsets": offsets, "g": g, "squares": squares, "slopes": slopes, "products": products}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        pool, brackets = self._state()
        signs = growing(total, pool.n[self.asked], self.bits)
        wanted = brackets.questions()
        yield pool.ask(brackets.narrowed(np.where(self.powers == wanted, signs, 0)))


def growing(total: Arrays, n: np.ndarray, bits: int) -> np.ndarray:
    """Whether the likelihood grows with lambda: int8 (asked, lambdas), 1, or -1 if it falls, 0 if unknown.

    `total` has the sums that `Search` asks for, in units of 2^-bits; `n` int64 (asked,) is how many values
    each feature has. Nothing else of these sums is used.
    """
    n = n[:, None]
    g, squares, slope, product = (total[name] / n for name in ("g", "squares", "slopes", "products"))
    variance, covariance = squares - g * g, product - g * slope
    derivative = total["offsets"][:, None] / n * variance - covariance
    known = (variance > _LOST * squares) & (squares > 2.0 ** (_NEEDED_BITS - bits))
    return np.where(known, np.where(derivative >= 0, 1, -1), 0).astype(np.int8)


@dataclass(frozen=True, eq=False)
class MeasureTransformed(_Searching):
    """Sums of the transformed values and of their squares, at the lambda that was found."""

    name: ClassVar[str] = "normalization/transformed"
    title: ClassVar[str] = "Measure the transformed features"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "g",
            ("count", 1),
            "most",
            "bits",
            "per feature: the sum of the transformed values g",
            "the mean of each transformed feature of the pool",
        ),
        Real(
            "squares",
            ("count", 1),
            "most",
            "bits",
            "per feature: the sum of g^2",
            "the standard deviation of each transformed feature of the pool",
        ),
    )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(**cls.foreseen_fields(plan, 1))], exact=False)

    @property
    def lambdas(self) -> int:
        return 1

    def local(self, cohort: Cohort) -> Arrays:
        columns = zip(self._offsets(cohort), self.centre, self.powers, self.size, strict=True)
        sums = np.array([bend_sums(s, centre, powers, size, 0)[:, :2] for s, centre, powers, size in columns])
        return {"g": sums[:, :, 0], "squares": sums[:, :, 1]}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        pool, brackets = self._state()
        n, power = pool.n[self.asked], self.powers[:, 0]
        mean, square = (total[name][:, 0] / np.maximum(n, 1) for name in ("g", "squares"))
        variance = square - mean * mean
        spread = np.sqrt(np.where(variance > _LOST * square, variance, 0))
        mean, spread = np.ldexp([mean, spread], self.size[:, 0].astype(np.int32))
        found = {
            name: np.full(self.features, np.nan)
            for name in ("lambda", "mean", "deviation", "centre", "spread")
        }
        if pool.n.any():
            own = _parameters(power, self.centre, mean, spread)
            for name, values in own.items():
                found[name][self.asked] = values
        yield Rows(
            FEATURES, {"feature": np.arange(self.features), "n": pool.n, **found, "edge": brackets.edge}
        )


def _parameters(power: np.ndarray, centre: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> Arrays:
    """The parameters of features, given mean and deviation of their transform about `centre`.

    Mean and deviation of Psi are infinite, or 0, where they are no numbers. The value whose transform is the
    mean takes the place of the centre; there `spread` is the deviation in units of the feature.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        slope = transform.derivative(centre, power)
        middle = transform.inverse(mean, centre, power)
        return {
            "lambda": power,
            "mean": transform.transformed(centre, power) + slope * mean,
            "deviation": slope * spread,
            "centre": middle,
            "spread": spread * np.exp((1 - power) * transform.offsets(middle, centre)),
        }


def _exponent(bound: np.ndarray) -> np.ndarray:
    """int64: of a power of two that is above the bound. What is far below the smallest counts as constant."""
    return np.maximum(np.frexp(bound * (1 + 1e-6))[1].astype(np.int64), _SMALLEST_EXPONENT)


def first(n: np.ndarray, cohorts: int) -> order.Narrow:
    """The first question, given how many values each feature has: int64 (features,)."""
    return order.first_of_ranges(n, AverageLogarithms(n, cohorts))
