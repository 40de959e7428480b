"""Questions of a study of a polygenic score after its first counts: sums with the genotypes, and products.

With X the genotypes of everyone, (people, variants), each variant about its mean and a missing call 0, and
C the columns 1 and the covariates,

    columns              C'C, C'y, y'y
    alleles              X'C, X'y
    projections          X'(X p) and C'(X p) for directions p, of which the conjugate gradients are made
    scores               s's, C's, y's of a score s = X b

each apart for the people that are fitted to and those that are left out. X'X is never formed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Real
from unpooled.asking.sizes import Sizes
from unpooled.methods.polygenic.counts import FITTED, GROUPS, OfDrawn
from unpooled.methods.polygenic.options import MOST_ROUNDS, SHARES, USUAL_SHARES
from unpooled.methods.shared.chunks import Chunk, OfChunk, foreseen_autosomal, foreseen_of
from unpooled.methods.shared.column_products import OfColumnProducts
from unpooled.methods.shared.dosage_table import nearest_in
from unpooled.methods.shared.genotype_counts import carriers, counted_in
from unpooled.methods.shared.kept_autosomes import OfKept, times_genotypes
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.without_any import capped
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

_MOST_COPIES = 4
"""Bound, per person, of a sum of copies about their mean times a standardised column."""


@dataclass(frozen=True, eq=False)
class SumColumns(OfDrawn, OfColumnProducts, name="polygenic/columns"):
    """Sums of the products of one, the standardised covariates and the phenotype."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "products",
            (GROUPS, "pairs"),
            "bound",
            "sums of covariates and phenotype, and of products of two of these, of the people that are "
            "fitted to, and of those that are left out",
            "how covariates and phenotype are associated in the pool, in both groups of people",
        ),
    )

    def local(self, cohort: Cohort) -> Arrays:
        z, (i, j) = self.values(cohort), np.triu_indices(self.width)
        parts = self.members(cohort)
        return {"products": np.array([np.einsum("ni,ni->i", z[p][:, i], z[p][:, j]) for p in parts])}


class _OfColumns(OfDrawn):
    """About genotypes with covariates and phenotype."""

    design: SumColumns


@dataclass(frozen=True)
class CountCarriers(OfChunk, OfDrawn, name="polygenic/carriers", title="Count carriers"):
    """Counts, capped, who carries each allele, of those fitted to and of those left out."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "capped",
            ("variants", GROUPS, 2),
            FEWEST_AT_A_LEVEL,
            "per variant and allele: how many of the people that are fitted to, and of those that are left "
            f"out, carry it, {FEWEST_AT_A_LEVEL} where there are more",
            f"whether {FEWEST_AT_A_LEVEL} people of each group of the pool carry the allele without any one "
            "cohort",
        ),
    )
    each: ClassVar[dict[str, str]] = {"variants": "variant"}

    start: int
    stop: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_autosomal(plan, sizes)
        return foreseen_of(chunks, lambda chunk: cls(plan, chunk.start, chunk.stop), exact=True)

    def local(self, cohort: Cohort) -> Arrays:
        count = nearest_in if DOSAGES.of(self.plan) else counted_in
        counts = count(cohort, slice(self.start, self.stop), self.members(cohort))
        return {"capped": capped(carriers(counts))}


@dataclass(frozen=True, eq=False)
class SumWithAlleles(
    _OfColumns, name="polygenic/alleles", title="Sum genotypes, covariates and phenotype", ring_bits=64
):
    """Sums of genotype times one, covariate and phenotype, for some variants of a chunk."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("count", GROUPS, "width"),
            "bound",
            "per variant, of the people that are fitted to and of those that are left out: sums of the "
            "genotype, and of genotype times covariate and times phenotype",
            "means of covariates and phenotype by genotype in both groups of the pool; none of fewer than "
            f"{FEWEST_AT_A_LEVEL} carriers without any one cohort",
        ),
    )
    each: ClassVar[dict[str, str]] = {"count": "variant", "width": "column"}

    start: int
    stop: int
    kept: np.ndarray
    """bool (variants of the chunk,)"""
    mean: np.ndarray
    """float64 (kept,): copies of the panel's first allele in the pool"""
    design: SumColumns

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        design = SumColumns.none(plan)

        def all_of(chunk: Chunk) -> SumWithAlleles:
            n = chunk.variants
            return cls(plan, chunk.start, chunk.stop, np.ones(n, bool), np.zeros(n), design)

        return foreseen_of(foreseen_autosomal(plan, sizes), all_of)

    @property
    def items(self) -> np.ndarray:
        """Panel indices: int64 (kept,)."""
        return np.asarray(self.start + np.flatnonzero(self.kept))

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.kept))

    @property
    def width(self) -> int:
        return self.design.width

    @property
    def bound(self) -> int:
        return _MOST_COPIES * self.design.people

    def local(self, cohort: Cohort) -> Arrays:
        z = self.design.values(cohort)
        columns = np.concatenate([z * part[:, None] for part in self.members(cohort)], axis=1)
        dosed = bool(DOSAGES.of(self.plan))
        sums = times_genotypes(cohort, self.items, self.mean, columns, dosed=dosed)
        return {"sums": sums.reshape(self.count, GROUPS, self.width)}


@dataclass(frozen=True, eq=False)
class Project(_OfColumns, OfKept, name="polygenic/projections", title="Project the genotypes", ring_bits=64):
    """X'(X p) and C'(X p) for one direction p of each fit that has not ended.

    A direction has length 1 where each variant is divided by its deviation: so no product is beyond the
    number of people times the root of the number of variants.
    """

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "genotypes",
            ("fits", "variants"),
            "bound",
            "per fit and variant: the sum of genotype times the score in this round's direction",
            "one projection of the genotypes' covariances in the pool for each fit",
        ),
        Real(
            "columns",
            ("fits", "width"),
            "bound",
            "per fit: the sums of that score, and of it times each covariate",
            "how that score goes with the covariates in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"fits": "fit", "variants": "variant", "width": "column"}

    kept: np.ndarray
    mean: np.ndarray
    directions: np.ndarray
    """float64 (fits, kept): what a copy counts"""
    is_of_all: tuple[bool, ...]
    """Flags by fit: True if it is of everyone; else it is without the people left out."""
    design: SumColumns
    iteration: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        def of_all(kept: np.ndarray, mean: np.ndarray) -> Project:
            return cls(plan, kept, mean, np.zeros((2, len(mean))), (False, True), SumColumns.none(plan), 1)

        return cls.foreseen_widest(plan, sizes, of_all, MOST_ROUNDS)

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return MOST_ROUNDS

    @property
    def fits(self) -> int:
        return len(self.is_of_all)

    @property
    def width(self) -> int:
        return self.design.width - 1

    @property
    def bound(self) -> int:
        return 2 * self.design.people * (math.isqrt(self.variants) + 1)

    def local(self, cohort: Cohort) -> Arrays:
        fitted, left_out = self.members(cohort)
        inside = np.column_stack([fitted | left_out if of_all else fitted for of_all in self.is_of_all])
        scores = self.scores(cohort, self.directions) * inside
        z = self.design.values(cohort)[:, :-1]
        found = self.times_genotypes(cohort, scores)
        return {"genotypes": np.ascontiguousarray(found.T), "columns": np.einsum("nf,nc->fc", scores, z)}


@dataclass(frozen=True, eq=False)
class SumScores(_OfColumns, OfKept, name="polygenic/scores", title="Test the scores", ring_bits=128):
    """Asks how the scores of the people left out relate to what is known of them."""

    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "squares",
            ("count",),
            "bound",
            "per share of variance: the sum of the squared scores of the people that are left out",
            "how much these scores vary in the pool",
        ),
        Real(
            "products",
            ("count", "width"),
            "bound",
            "per share of variance: the sums of these scores, and of them times covariate and phenotype",
            "how well these scores predict people of the pool that they were not fitted to",
        ),
    )
    each: ClassVar[dict[str, str]] = {"count": "share of variance", "width": "column"}

    kept: np.ndarray
    mean: np.ndarray
    weights: np.ndarray
    """float64 (scores, kept): what a copy counts; so that scores have a deviation near 1"""
    design: SumColumns

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        def of_all(kept: np.ndarray, mean: np.ndarray) -> SumScores:
            return cls(plan, kept, mean, np.zeros((len(shares_of(plan)), len(mean))), SumColumns.none(plan))

        return cls.foreseen_widest(plan, sizes, of_all)

    @property
    def count(self) -> int:
        return len(self.weights)

    @property
    def width(self) -> int:
        return self.design.width

    @property
    def bound(self) -> int:
        return self.design.people << 20  # far beyond scores of deviation 1

    def local(self, cohort: Cohort) -> Arrays:
        left_out = self.members(cohort)[1 - FITTED]
        scores = self.scores(cohort, self.weights)[left_out]
        z = self.design.values(cohort)[left_out]
        return {
            "squares": np.einsum("ns,ns->s", scores, scores),
            "products": np.einsum("ns,nc->sc", scores, z),
        }


def shares_of(plan: Plan) -> tuple[float, ...]:
    """The shares of variance to try, rising."""
    return tuple(sorted(SHARES.of(plan))) or USUAL_SHARES
