"""The lambda of Yeo and Johnson's transform by signs alone: nobody reads a sum on the way.

As in `yeo_johnson`, but server and compensator compute the derivative of the likelihood and tell only how far
outwards it keeps its sign (SecureFedYJ, Marchand and others 2022, with two parties). All that the server
learns, the number of values, their range and those signs, follows from the results, but for the range, which
is known to 12 bits.

The transform is taken about an end of the range, the low one below lambda = 1, else the high one: so no
exponent is positive and nothing overflows, and no mean is told. Cohorts divide their sums by the number of
values, so that what is compared is at most 1 (`unpooled.protocol.circuits.Grows`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Each, Finish, Go, Study, procedure
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Real
from unpooled.fitted import yeo_johnson as transform
from unpooled.methods.tables import order
from unpooled.methods.tables.bends import Bends
from unpooled.methods.tables.bracket import ASKED, FARTHEST, START, Brackets
from unpooled.methods.tables.ranges import FindRangeByBits, ends
from unpooled.methods.tables.search import MeasureTransformed, OfDerivatives, Pool, found, named
from unpooled.methods.tables.table import places_under, scaled_under
from unpooled.plan.encodings import YEO_JOHNSON
from unpooled.plan.plan import Plan
from unpooled.protocol.circuits import FRACTION_BITS, GROWS_BITS, SURE_BITS

_NARROW = 2.0**-5
"""Width of a range, relative to its distance from 0, below which its ends, known to 12 bits, do not give it.
"""
_MOST_ROUNDS = 13
_SMALLEST_UNIT = -1000
"""Exponent of two of the smallest unit, for the transform as for phi."""


@procedure("yeo-johnson/range-by-bits")
def by_signs(study: Study, n: np.ndarray, centre: np.ndarray, searches: int = 1) -> Asks[Bends | None]:
    """Find the range of each feature of `n` values, and search from its middle.

    Its ends are known to 12 bits of their distance from the centre: 0 at first. Where they lie closer
    together than that tells, they are asked for again, about the middle between them. A study of models
    is given what was found.
    """
    asked = FindRangeByBits.about(study.plan, n, centre)
    (bytes_,) = yield Each([order.narrow(study, asked, ends(n))])
    pool = Pool(n, *asked.range_of(bytes_, n), centre)
    middle = transform.shifted(centre, (pool.lowest + pool.highest) / 2)
    narrow = pool.highest - pool.lowest < _NARROW * pool.width
    # Each search adds 11 bits, and float64 has 52: after six there is nothing left to find.
    if narrow.any() and searches < FindRangeByBits.searches:
        return (yield from Go(by_signs(study, n, np.where(narrow, middle, centre), searches + 1)))
    pool = pool.about(middle)
    return (yield from _onwards(study, pool, Outwards.first(n > 0, pool.first_step()), _apart(n, middle)))


def _apart(n: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """The centres about which a variance is known, at lambda = 1, if it is more than rounding.

    For a variance is known that is more than 2^-30 of the mean square, and close to a constant that is the
    square of its distance from the centre. See `unpooled.fitted.scaler.is_nearly_constant`.
    """
    # The same bound as `is_nearly_constant` has, solved for the distance from the centre.
    share = n * np.finfo(np.float64).eps
    return np.asarray(middle * (1 - math.sqrt(2**SURE_BITS) * share / np.sqrt(1 - share)))


def _onwards(
    study: Study, pool: Pool, brackets: Outwards, centre: np.ndarray | None = None
) -> Asks[Bends | None]:
    """Search, from this centre or from an end of the range, or measure what was found."""
    if len(brackets.open):
        about = pool.about(_end(pool, brackets.far) if centre is None else centre)
        return (yield from Go(search_by_signs(study, pool, about, brackets)))
    if places := places_under(YEO_JOHNSON, study.plan):
        return Bends(np.array(places), pool.centre, brackets.found)
    yield from Go(measure(study, pool.about(_end(pool, brackets.found)), brackets))
    return None


def _end(pool: Pool, power: np.ndarray) -> np.ndarray:
    """The centre about which nothing overflows between 1 and a lambda, and beyond; at 1 the middle."""
    low, high = (transform.shifted(pool.centre, end) for end in (pool.lowest, pool.highest))
    return np.where(power < START, low, np.where(power > START, high, pool.centre))


@procedure("yeo-johnson/search-by-signs")
def search_by_signs(study: Study, pool: Pool, about: Pool, brackets: Outwards) -> Asks[Bends | None]:
    """Ask how far each likelihood grows. `about` is the pool about the ends from which that is asked."""
    powers = brackets.questions()
    kind = FindDirection if powers.shape[1] == 1 else SearchBySigns
    good = about.computable(brackets.open, powers)  # up to where floating-point numbers end
    asked = np.where(good, powers, START)
    bits = yield kind(**kind.fields(about, study.plan, brackets.open, asked))
    known, grows = np.moveaxis(bits[SIGNS], 2, 0) & good
    return (yield from _onwards(study, pool, brackets.outwards(known, grows)))


@procedure("yeo-johnson/measure-by-signs")
def measure(study: Study, pool: Pool, brackets: Outwards) -> Asks[None]:
    """Report mean and deviation: first a mean about an end, then both about what that is the transform of."""
    asked = pool.transformed(study.plan, brackets, MeasureUnderway)
    sums = yield asked
    mean = np.ldexp(sums["g"] / np.maximum(pool.n[asked.asked], 1)[:, None], asked.size.astype(np.int32))
    middle = transform.inverse(mean[:, 0], asked.centre, asked.powers[:, 0])
    centre = pool.centre.copy()
    centre[asked.asked] = np.where(np.isfinite(middle), middle, asked.centre)
    good = pool.about(centre).computable(asked.asked, asked.powers)[:, 0]
    centre[asked.asked] = np.where(good, centre[asked.asked], asked.centre)
    yield Finish(report_by_signs(study, pool.about(centre), brackets))


@procedure("yeo-johnson/report-by-signs")
def report_by_signs(study: Study, pool: Pool, brackets: Outwards) -> Asks[None]:
    """Measure the transformed features about their means, and report them."""
    asked = pool.transformed(study.plan, brackets, MeasureUnderway)
    sums = yield asked
    yield found(asked, pool, brackets, sums)


@dataclass(frozen=True, eq=False)
class Outwards(Brackets):
    """Brackets of which each answer says how far outwards the likelihood grows."""

    name: ClassVar[str] = "tables/brackets-outwards"

    def questions(self) -> np.ndarray:
        """Return the lambdas to ask about for each `open` feature: the start, then 15, nearest first."""
        near, far = self.near[self.open, None], self.far[self.open, None]
        if np.isnan(far).any():
            return np.full((len(near), 1), START)
        places = np.arange(ASKED)
        with np.errstate(invalid="ignore", over="ignore"):
            step = np.where(near == START, np.sign(far) * self.step[self.open, None], 2 * (near - START))
            beyond = np.clip(START + np.ldexp(step, places), -FARTHEST, FARTHEST)
            between = near + (far - near) * (places + 1) / (ASKED + 1)
        return np.asarray(np.where(np.isinf(far), beyond, between))

    def outwards(self, known: np.ndarray, grows: np.ndarray) -> Outwards:
        """The brackets after the answers to `questions`, outwards from the near end: bool (open, lambdas).

        `grows` up to where the likelihood does so; `known` at the first lambda behind that tells whether it
        falls there, or is not known.
        """
        asked, rows = self.questions(), np.arange(len(self.open))
        near, far, edge = self.near.copy(), self.far.copy(), self.edge.copy()
        if asked.shape[1] == 1:
            direction = np.where(grows[:, 0], np.inf, -np.inf)
            far[self.open] = np.where(known[:, 0], direction, START)  # not known: the values do not differ
            return replace(self, far=far)
        count = np.count_nonzero(grows, axis=1)
        last, ended = np.minimum(count, ASKED - 1), count < ASKED
        near[self.open] = np.where(count > 0, asked[rows, count - 1], near[self.open])
        far[self.open] = np.where(ended, asked[rows, last], far[self.open])
        edge[self.open] = np.where(ended, ~known[rows, last], edge[self.open])
        return replace(self, near=near, far=far, edge=edge)


SIGNS = "signs"

_SEARCHED = ("count", "lambdas")


def _mean(name: str, meaning: str, dims: tuple[str | int, ...] = _SEARCHED) -> Real:
    return Real(name, dims, "largest", meaning, UNREAD, fraction_bits="fraction_bits")


@dataclass(frozen=True, eq=False)
class _OfSigns(OfDerivatives, ring_bits=GROWS_BITS):
    """Asks how far the likelihood grows, outwards."""

    by_bits: ClassVar[bool] = True
    sends: ClassVar[tuple[Real, ...]] = (
        _mean(
            "offsets",
            "per feature: the sum of phi(x) - phi(centre), divided by the number of values",
            ("count",),
        ),
        _mean("g", "per feature and lambda: the sum of the transformed values g, likewise divided"),
        _mean("squares", "likewise: the sum of g^2"),
        _mean("slopes", "likewise: the sum of g', the derivative by lambda"),
        _mean("products", "likewise: the sum of g g'"),
    )
    largest: ClassVar[float] = 1.0
    fraction_bits: ClassVar[int] = FRACTION_BITS

    values: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """int64 (asked,): how many the pool has of each feature."""

    @classmethod
    def fields(cls, pool: Pool, plan: Plan, asked: np.ndarray, powers: np.ndarray) -> dict[str, Any]:
        """The fields of a question about a pool."""
        fields = pool.fields(plan, asked, powers)
        size = _above(np.maximum(*map(np.abs, pool.bends(asked, powers))))
        return {**fields, "size": size, "width": _above(pool.width[asked]), "values": pool.n[asked]}

    @classmethod
    def foreseen_fields(cls, plan: Plan) -> dict[str, Any]:
        values = np.zeros(len(scaled_under(YEO_JOHNSON, plan)), np.int64)
        return {**super().foreseen_fields(plan), "values": values}

    def local(self, table: Table) -> Arrays:
        # In the smallest units what is computed on the way may be no number; the sums are.
        size, width = np.maximum(self.size, _SMALLEST_UNIT), np.maximum(self.width, _SMALLEST_UNIT)
        offsets, sums = self.summed(table, size, width)
        size, width = size - self.size, (width - self.width)[:, None]
        sums = np.ldexp(sums, np.stack([size, 2 * size, size + width, 2 * size + width], axis=2))
        n = np.maximum(self.values, 1)
        outwards = np.where(self.powers.min(axis=1) < START, -1.0, 1.0)  # what grows this way
        sums /= n[:, None, None]
        sums[:, :, 2:] *= outwards[:, None, None]
        return named(outwards * offsets / n, sums)


def _above(bound: np.ndarray) -> np.ndarray:
    """int64: of powers of two that are above the bounds."""
    return np.frexp(bound * (1 + 1e-6))[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class FindDirection(_OfSigns, name="normalization/direction", title="Find on which side lambda lies"):
    """Asks on which side of 1 lambda lies."""

    opens: ClassVar[Bits] = Bits(
        SIGNS,
        ("count", 1, 2),
        "grows:1",
        "on which side of 1 the lambda of each feature lies, and whether its values differ",
    )


@dataclass(frozen=True, eq=False)
class SearchBySigns(_OfSigns, name="normalization/search-by-signs", title="Search for lambda by signs"):
    """Asks at how many of 15 lambdas, outwards, the likelihood still grows."""

    lambdas: ClassVar[int] = ASKED
    most_rounds: ClassVar[int] = _MOST_ROUNDS
    opens: ClassVar[Bits] = Bits(
        SIGNS,
        ("count", ASKED, 2),
        f"grows:{ASKED}",
        "between which of the lambdas that are asked about that of each feature lies",
    )


@dataclass(frozen=True, eq=False)
class MeasureUnderway(MeasureTransformed, name="normalization/transformed-twice"):
    """The same sums as in a search by sums, asked twice: the first finds the centre of the second."""

    by_bits: ClassVar[bool] = True
    only_server: ClassVar[Condition] = lambda plan: False
    most_rounds: ClassVar[int] = 2
