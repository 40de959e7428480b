"""A score test that holds its level with few cases: the tails of the score by a saddlepoint approximation.

The score T of a genotype at the covariates' model is nearly normal only where many cases carry an allele. Its
cumulant generating function K (`saddlepoint_questions`) is a sum over people. With K'(t) = s at t, a tail is

    P(T > s) = Φ(-z)      z = w + log(v / w) / w      w² = 2 (ts - K(t))      v = t √K''(t)

by Barndorff-Nielsen's formula (Kuonen, Biometrika 86, 1999; Dey and others, Am J Hum Genet 101, 2017). P is
the sum of the tails beyond T and -T. As in regenie only variants with P < 0.05 by the normal score test have
one: near the mean a normal tail is as good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Each, Go, Procedure, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.formats.spa import write_spa
from unpooled.kernels.elementary import log1p
from unpooled.kernels.fixed_order import product, settled, solve_positive, step_of, total
from unpooled.kernels.statistics import normal_neg_log10_p
from unpooled.methods.algorithm import AboutFile
from unpooled.methods.features import Feature, FeatureFile
from unpooled.methods.regression.listed import count_listed
from unpooled.methods.regression.null_model import NEGLIGIBLE, Begun, NullModel, file_problem
from unpooled.methods.regression.pool import Pool
from unpooled.methods.regression.saddlepoint_questions import (
    FARTHEST,
    MOST_TURNS,
    CountTested,
    Evaluate,
    SumScores,
    SumTested,
    has_saddlepoint,
)
from unpooled.methods.shared.chunks import ByVariant, Chunk, autosomal_chunks
from unpooled.methods.shared.genotype_counts import is_carried
from unpooled.methods.shared.summary import VARIANTS
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import SPA

TABLE = "saddlepoint"
"""A row per variant on the autosomes that passes the filters. Columns:

variant                panel index
n                      people in the regression
score, score_variance  of copies of the panel's first allele; NaN where too few people carry an allele, or
                       covariates determine the copies
score_neg_log10_p      of the score as a normal number
neg_log10_p            of its tails by the saddlepoint approximation; NaN where it is not looked for
"""

_FAR = 3.841458820694124
"""Squared score over its variance at P = 0.05."""
_NEAR = 1e-7
"""Distance from a saddlepoint, in deviations of the tilted score, that is none: P is off by less."""
_NEGLIGIBLE_TAIL = 30.0
"""Distance of the tails' exponents from which on the smaller tail is none: e^-30 of the other."""
_BITS = 30
"""Bits after the point of t, in standard errors: see `step_of`."""


@dataclass(frozen=True, eq=False)
class Tested(ByVariant):
    """Variants with a score."""

    name: ClassVar[str] = "spa/tested"

    variants: np.ndarray
    """uint32 (m,)"""
    mean: np.ndarray
    """float64 (m,): copies of the panel's first allele"""
    explained: np.ndarray
    """float64 (m, q): what covariates explain of these."""
    score: np.ndarray
    variance: np.ndarray
    """float64 (m,) each; NaN where covariates determine the copies."""

    @classmethod
    def of_sums(cls, asked: SumScores, sums: np.ndarray, null: NullModel) -> Tested:
        """Build from the sums of `SumScores`, less what covariates explain."""
        q, squares = len(asked.beta), sums[:, -1]
        explained = np.ascontiguousarray(solve_positive(null.products, sums[:, :q].T).T)
        score = sums[:, q] - product(explained, null.gradient)
        variance = squares - total(explained * sums[:, :q], 1)
        varies = variance > NEGLIGIBLE * squares
        score, variance = (np.where(varies, values, np.nan) for values in (score, variance))
        return cls(asked.variants, asked.mean, explained, score, variance)

    @classmethod
    def none(cls, variants: np.ndarray) -> Tested:
        """Variants that have no score."""
        nothing = np.full(len(variants), np.nan)
        return cls(variants, nothing, nothing[:, None], nothing, nothing)

    @property
    def is_far(self) -> np.ndarray:
        """Tell which scores are so far out that their tails are looked for: bool (m,)."""
        return np.asarray(self.score * self.score > _FAR * self.variance)

    @property
    def beyond(self) -> np.ndarray:
        """Scores beyond which the tails lie: float64 (m, TAILS)."""
        size = np.abs(self.score)
        return np.stack([size, -size], axis=1)


@dataclass(frozen=True, eq=False)
class Search(ByVariant):
    """Points at which sums are asked for, and between what the saddlepoints are: (m, TAILS) each."""

    name: ClassVar[str] = "spa/search"

    at: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def begin(cls, tested: Tested, grid: float) -> Search:
        """Begin where a score of rare carriers alone would have its saddlepoint."""
        first = log1p(np.abs(tested.score) / tested.variance)
        at = settled(np.stack([first, -first], axis=1), grid)
        none, far = np.zeros(len(at)), np.full(len(at), float(FARTHEST))
        return cls(at, np.stack([none, -far], axis=1), np.stack([far, none], axis=1))

    def advance(self, beyond: np.ndarray, sums: Arrays, grid: float) -> tuple[Search, np.ndarray]:
        """Take a step of Newton's method towards each saddlepoint, and tell whose are found: bool (m,).

        A step goes no further than to four times the point, and where it would leave what is known to hold
        the saddlepoint, to the middle of that.
        """
        off, curvature = sums["slope"] - beyond, sums["curvature"]
        low, high = np.where(off < 0, self.at, self.low), np.where(off < 0, self.high, self.at)
        found = is_found(off, curvature)
        most = np.maximum(2, 3 * np.abs(self.at))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.clip(-off / curvature, -most, most)
        trial = settled(self.at + step, grid)
        trial = np.where((trial > low) & (trial < high), trial, settled((low + high) / 2, grid))
        return Search(np.where(found, self.at, trial), low, high), found


def is_found(off: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Tell where a point is a saddlepoint, K' being `off` by so much."""
    return np.asarray((curvature > 0) & (np.abs(off) <= _NEAR * np.sqrt(np.maximum(curvature, 0))))


# By Chernoff's bound a tail is at most exp(K(t) - ts), at any t. So one that the score cannot reach, which
# therefore has no saddlepoint, is known to be none once the other's is found.
def is_none(found: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Tell which tails are none beside the other, given which saddlepoints are found: bool (m, TAILS)."""
    others = exponent[:, ::-1]
    return np.asarray(found[:, ::-1] & ~found & (exponent > others + _NEGLIGIBLE_TAIL))


def with_saddlepoint(method: Procedure[[], Begun | None]) -> Procedure[[], Begun | None]:
    """A regression that in the end tests the scores of variants, if its plan has the file."""

    @procedure(f"{method.name} and saddlepoint")
    def whole(study: Study) -> Asks[Begun | None]:
        begun = yield from method(study)
        if has_saddlepoint(study.plan) and begun is not None and not np.isnan(begun.null.variance):
            about = begun.pool, begun.null
            yield Each(test_chunk(study, chunk, *about) for chunk in autosomal_chunks(study))
        return begun

    return whole


@procedure("spa/chunk")
def test_chunk(study: Study, chunk: Chunk, pool: Pool, null: NullModel) -> Asks[None]:
    """Count the genotypes of a chunk, and go on with the variants that may be summed."""
    every = np.arange(chunk.start, chunk.stop, dtype=np.uint32)
    calls, passing, sums = yield from count_listed(study, every, pool, CountTested, SumTested)
    carried = is_carried(study.plan, sums)
    few = Tested.none(every[passing & ~carried])
    yield Rows.later(lambda: [rows_of(few, null.people, few.score)])
    if (inside := passing & carried).any():
        return (yield from Go(test_scores(study, every[inside], calls.means[inside, 0], null)))


@procedure("spa/score")
def test_scores(study: Study, variants: np.ndarray, mean: np.ndarray, null: NullModel) -> Asks[None]:
    """Sum the scores of variants, report those near 0, and search the saddlepoints of the others."""
    asked = SumScores(study.plan, variants, mean, *null.fields)
    sums = yield asked
    tested = Tested.of_sums(asked, sums["sums"], null)
    far = tested.is_far
    near, some = tested.some(~far), tested.some(far)
    yield Rows.later(lambda: [rows_of(near, null.people, np.full(len(near.variants), np.nan))])
    if far.any():
        search = Search.begin(some, step_of(_BITS, null.people))
        return (yield from Go(find_tails(study, some, search, null, 1)))


@procedure("spa/evaluate")
def find_tails(study: Study, tested: Tested, search: Search, null: NullModel, turn: int) -> Asks[None]:
    """Evaluate the variants at their points, report those whose tails are found, and go on with others."""
    about = tested.variants, tested.mean, *null.fields, tested.explained, search.at
    sums = yield Evaluate(study.plan, *about, turn)
    following, found = search.advance(tested.beyond, sums, step_of(_BITS, null.people))
    exponent = search.at * tested.beyond - sums["generating"]
    none = is_none(found, exponent)
    ended = (found | none).all(axis=1) | (turn == MOST_TURNS)
    done, at, last = tested.some(ended), search.at[ended], sums["curvature"][ended]
    kinds = found[ended], none[ended]
    yield Rows.later(lambda: [rows_of(done, null.people, tails(at, exponent[ended], last, *kinds))])
    if not ended.all():
        left = tested.some(~ended), following.some(~ended)
        return (yield from Go(find_tails(study, *left, null, turn + 1)))


def tails(
    at: np.ndarray, exponent: np.ndarray, curvature: np.ndarray, found: np.ndarray, none: np.ndarray
) -> np.ndarray:
    """-log10 P of both tails together, from the sums at their saddlepoints, (m, TAILS): float64 (m,).

    Chernoff's bound stands for a tail whose saddlepoint is not found. The largest score that there can be has
    its saddlepoint at infinity, where the bound is P.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        w, v = np.sqrt(2 * exponent), np.abs(at) * np.sqrt(curvature)
        z = w + np.log(v / w) / w
    bound = np.where(none, np.inf, np.maximum(exponent, 0) / np.log(10))
    one = np.where(found & (z > 0), normal_neg_log10_p(z) + np.log10(2), bound)
    least = one.min(axis=1)
    return np.asarray(np.maximum(least - np.log10(np.power(10, least[:, None] - one).sum(axis=1)), 0))


def rows_of(tested: Tested, people: int, neg_log10_p: np.ndarray) -> Rows:
    with np.errstate(invalid="ignore"):
        z = tested.score / np.sqrt(tested.variance)
    return Rows(
        TABLE,
        {
            "variant": tested.variants,
            "n": np.full(len(z), people, np.int32),
            "score": tested.score,
            "score_variance": tested.variance,
            "score_neg_log10_p": normal_neg_log10_p(z),
            "neg_log10_p": neg_log10_p,
        },
    )


_NO_ROWS = rows_of(Tested.none(np.zeros(0, np.uint32)), 0, np.zeros(0)).columns


# The file


def _columns(tables: Mapping[str, Arrays]) -> Arrays:
    """Return the rows of `TABLE`, with scores of A1 as the report has it."""
    found, reported = tables.get(TABLE, _NO_ROWS), tables[VARIANTS]
    place = np.searchsorted(reported["variant"][:], found["variant"][:])
    first = reported["first_is_a1"][:][place]
    rows = {name: found[name][:] for name in found}
    return {**rows, "score": np.where(first, rows["score"], -rows["score"]), "first_is_a1": first}


def _write(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    write_spa(out, panel, columns)


_ABOUT = AboutFile(
    "Saddlepoint P",
    ".spa: the score test of each variant on the autosomes, with a P that holds where cases are few",
    "Scores of the genotypes at the covariates' model were tested; where P was below 0.05, their tails were "
    "computed by a saddlepoint approximation, from sums over all cohorts.",
)

SADDLEPOINT = Feature(
    (),
    (SumTested, CountTested, SumScores, Evaluate),
    file=FeatureFile(SPA, "glm", _ABOUT, _write, _columns),
    rule=lambda plan: file_problem(plan, SPA, "the saddlepoint test", {}),
    around=with_saddlepoint,
)
