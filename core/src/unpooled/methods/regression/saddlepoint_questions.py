"""Questions of the saddlepoint approximation: genotypes, scores, and sums at the points of a search.

With p each person's risk in the covariates' model and g̃ their copies less what covariates explain of these,

    K(t) = Σ log(1 - p + p exp(g̃ t)) - t Σ g̃ p

is what the logarithm of E exp(t T) is for the score T = Σ g̃ (y - p) if the genotype has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.question import Arrays, Condition, Foreseen, Question, Real
from unpooled.asking.sizes import Sizes
from unpooled.kernels.cumulants import cumulants
from unpooled.methods.regression.listed import CountAutosomes
from unpooled.methods.regression.logistic_questions import People
from unpooled.methods.regression.null_model import BesideNull
from unpooled.methods.shared import filters
from unpooled.methods.shared.block import OfBlock
from unpooled.methods.shared.chunks import DIPLOID, Chunk, foreseen_autosomal, foreseen_of
from unpooled.methods.shared.copies import copies_of
from unpooled.methods.shared.dosage_counts import SumListed
from unpooled.methods.shared.options import DOSAGES
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.plan.result_files import SPA

MOST_TURNS = 30
"""Largest number of points at which the sums of a variant are asked for."""
FARTHEST = 4096
"""Largest |t|. Where every carrier is a case the search may end at about the number of controls per case."""
TAILS = 2
"""Tails of the score, the upper one first."""

_VARIANTS_AT_ONCE = 64
"""Variants whose genotypes are in memory as numbers."""


def has_saddlepoint(plan: Plan) -> bool:
    return SPA in plan.files


@dataclass(frozen=True, eq=False)
class CountTested(CountAutosomes, name="spa/genotypes", title="Count genotypes for the score test"):
    """Genotype counts of variants, and who in the regression carries each allele, capped."""

    asked_if: ClassVar[Condition] = lambda plan: has_saddlepoint(plan) and filters.counts_calls(plan)


@dataclass(frozen=True, eq=False)
class SumTested(
    CountTested, SumListed, name="spa/dosages", title="Sum dosages for the score test", ring_bits=64
):
    """Sums of dosages of variants, and who in the regression carries each allele, capped."""

    asked_if: ClassVar[Condition] = lambda plan: has_saddlepoint(plan) and DOSAGES.of(plan)


@dataclass(frozen=True, eq=False)
class OfTested(BesideNull, OfBlock):
    """About variants of a chunk beside the covariates' model."""

    asked_if: ClassVar[Condition] = has_saddlepoint

    @classmethod
    def foreseen_about(cls, plan: Plan, chunk: Chunk, *others: Any) -> Self:
        """A question about every variant of a chunk; `others` are its further fields."""
        m = chunk.variants
        return cls(plan, np.zeros(m, np.uint32), np.zeros(m), *cls.foreseen_null(plan), *others)


@dataclass(frozen=True, eq=False)
class SumScores(OfTested, name="spa/score", title="Sum the scores of variants", ring_bits=64):
    """Sums from which the score of each variant and its variance follow."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("count", "width"),
            "bound",
            "per variant: sums of its copies, less the pool's mean, times covariate and its weight in the "
            "covariates' model, times the residual there, and of their squares times the weight",
            "how each variant is associated with being a case and with the covariates in the pool; only of "
            f"variants of which each allele has at least {FEWEST_AT_A_LEVEL} carriers there without any one "
            "cohort",
        ),
    )
    each: ClassVar[dict[str, str]] = {"count": "variant", "width": "column"}

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_autosomal(plan, sizes)
        return foreseen_of(chunks, lambda chunk: cls.foreseen_about(plan, chunk))

    @property
    def width(self) -> int:
        return len(self.beta) + 2

    def local(self, cohort: Cohort) -> Arrays:
        columns, weight = self.null_design(cohort.samples)
        found, dosed = np.empty((self.count, self.width)), DOSAGES.of(self.plan)
        for part in blocks(self.count, len(columns)):
            copies, mean = copies_of(cohort, self.items[part], dosed=dosed), self.mean[part]
            sums = copies.with_squares(columns, weight[:, None])
            called = columns.sum(axis=0) - copies.over_missing(np.ones(len(mean), bool), columns)
            found[part, :-1] = sums[:, :-1] - mean[:, None] * called
            # The first column is the weight itself.
            found[part, -1] = sums[:, -1] - mean * (2 * sums[:, 0] - mean * called[:, 0])
        return {"sums": found}


_TELLS = (
    "how likely a larger score is by chance, for each variant with a score beyond two deviations; only of "
    f"variants of which each allele has at least {FEWEST_AT_A_LEVEL} carriers without any one cohort"
)


@dataclass(frozen=True, eq=False)
class Evaluate(OfTested, name="spa/evaluate", title="Approximate the tails of scores", ring_bits=64):
    """K(t) and its first two derivatives, of each variant at a point for each tail."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "generating",
            ("count", "tails"),
            "exponents",
            "per variant and tail: the cumulant generating function of its score at a point",
            _TELLS,
        ),
        Real("slope", ("count", "tails"), "bound", "its first derivative there", _TELLS),
        Real("curvature", ("count", "tails"), "bound", "its second derivative there", _TELLS),
    )
    each: ClassVar[dict[str, str]] = {"count": "variant", "tails": "tail"}

    explained: np.ndarray
    """float64 (m, q): what covariates explain of the copies."""
    at: np.ndarray
    """float64 (m, TAILS): the points, at most `FARTHEST` from 0."""
    iteration: int
    """Number of the points, from 1."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Foresee every variant; as a rule one in twenty is asked about."""

        def every(chunk: Chunk) -> Evaluate:
            m, columns = chunk.variants, 1 + len(plan.covariate_columns)
            return cls.foreseen_about(plan, chunk, np.zeros((m, columns)), np.zeros((m, TAILS)), 1)

        return foreseen_of(foreseen_autosomal(plan, sizes), every, rounds=MOST_TURNS, usual_rounds=5)

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return MOST_TURNS

    def parts(self, cohort: Cohort) -> Iterable[Question]:
        for start in range(0, self.count, _VARIANTS_AT_ONCE):
            own = slice(start, start + _VARIANTS_AT_ONCE)
            by_variant = ("variants", "mean", "explained", "at")
            yield replace(self, **{name: getattr(self, name)[own] for name in by_variant})

    @property
    def tails(self) -> int:
        return TAILS

    @property
    def bound(self) -> int:
        return 16 * self.people

    @property
    def exponents(self) -> int:
        """Bound of sums of |g̃ t|."""
        return 2 * FARTHEST * self.people

    def local(self, cohort: Cohort) -> Arrays:
        people = People.of(cohort.samples, DIPLOID, False, self.centre, self.exponent)
        x, _, residual, _ = people.null(self.beta)
        found = np.zeros((3, self.count, TAILS))
        for some, copies in self.genotypes(cohort):
            who = people.inside[some]
            risk = (people.case - residual)[some][who]
            found += cumulants(copies[who].T, x[some][who], self.explained, risk, self.at)
        return dict(zip(("generating", "slope", "curvature"), found, strict=True))
