"""Linear regression with cohorts apart: as with an indicator of each cohort among the covariates.

Each cohort takes genotype, covariates and phenotype about its own means over the people who are in a
variant's regression, and only products of such deviations are summed. So the estimates are those with
indicators (Frisch and Waugh, Econometrica 1933; Lovell, JASA 1963), of as many degrees of freedom fewer as
there are further cohorts, and no sum of one cohort is sent. Where nobody of a cohort is in a variant's
regression, its indicator says nothing, and both PLINKs say NA; so does this.

Products about the means are those of everyone, less what the people without a call change: both of these a
cohort knows. On X sex is a column like the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import MALE, UNKNOWN_SEX, Cohort, Samples
from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import pairs, square, total
from unpooled.methods.ld.options import is_clumped
from unpooled.methods.regression.about_variants import INCOMPLETE, AboutVariants
from unpooled.methods.regression.calls import Calls, CodedCalls
from unpooled.methods.regression.counts import TIES, count, ordered
from unpooled.methods.regression.floors import are_few, foreseen_parts, has_floors, split_by_carriers
from unpooled.methods.regression.least_squares import Fitting, Problem
from unpooled.methods.regression.options import is_exact
from unpooled.methods.regression.pool import Pool, everyone, foreseen_chunks
from unpooled.methods.shared.allele_coding import PLACES, X2_KNOWN, by_plink2, by_sex, most_copies, on_x
from unpooled.methods.shared.chunks import DIPLOID, Chunk, Y, foreseen_of
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.groups import MEN, complete
from unpooled.methods.shared.options import COHORTS_APART, is_apart
from unpooled.methods.shared.standardise import Columns, PooledColumns, column_names, standardised
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

EVERYONE, KNOWN = "", "known sex"

_MEMBERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    EVERYONE: lambda sex: sex >= 0,
    MEN: lambda sex: sex == MALE,
    KNOWN: lambda sex: sex != UNKNOWN_SEX,
}
"""Tests of sex that select the people who count in each place."""

_LEAST_OF_SEX = 0.25
"""Smallest sum of squares of sex about the mean that counts as variation: if sex varies in any cohort, the
sum is at least 1/2.
"""

_ROUNDING = 2.0**-40
"""Share of the squares of sex that a difference of sums may leave of no variation: one carrier is more."""

_NOTHING = 2.0**-50
"""Share of a sum of squares that the rounding of sums of dosages may leave of no variation."""


@dataclass(frozen=True, eq=False)
class Within:
    """Products of the columns about the cohorts' own means, of everyone with complete data."""

    name: ClassVar[str] = "linear/within"

    places: tuple[str, ...]
    """Groups of people that the products are over: `SumColumnsApart.places`."""
    with_sex: bool
    """True if sex is the first column."""
    products: np.ndarray
    """float64 (places, pairs)"""
    cohorts: np.ndarray
    """int64 (places,): how many have anybody"""

    def at(self, chromosome: str, columns: int) -> np.ndarray:
        """Return the products of the given number of columns on a class of chromosomes: float64 (q, q)."""
        found = square(self.products[self.places.index(place_of(chromosome))], columns + self.with_sex)
        return found if on_x(chromosome) else found[self.with_sex :, self.with_sex :]

    def cohorts_at(self, chromosome: str) -> int:
        """Count the cohorts in which anybody counts on a class of chromosomes."""
        return int(self.cohorts[self.places.index(place_of(chromosome))])

    def has_all(self, chromosome: str) -> bool:
        """Tell whether every cohort's indicator varies there; plink2 leaves out those that do not."""
        return by_plink2(chromosome) or self.cohorts_at(chromosome) == self.cohorts_at(DIPLOID)


def place_of(chromosome: str) -> str:
    """Return the group whose sums serve a class of chromosomes: everyone, men, or people of known sex."""
    return MEN if PLACES[chromosome] == Y else KNOWN if chromosome == X2_KNOWN else EVERYONE


def sum_columns_apart(
    study: Study, pool: Pool, columns: PooledColumns, chunks: Iterable[Chunk], few: tuple[str, ...]
) -> Asks[Within]:
    """Products about the cohorts' means, asked for once for all variants; `few` are as of `find_few`.

    Refuse if these would be products of few people of a sex.
    """
    if any(are_few(chunk.chromosome, few) for chunk in chunks):
        raise Refuse(
            "chromosomes",
            f"fewer than {FEWEST_AT_A_LEVEL} men, or people who are not men, perhaps without one of the "
            "cohorts, are above or below the mean of a covariate or of the phenotype, and with variants on X "
            "or Y sums by sex would reveal them",
            f"Leave out X and Y, or {COHORTS_APART.flag}, or invite further cohorts.",
        )
    question = SumColumnsApart.of(study.plan, pool, columns, chunks)
    sums = yield question
    return Within(question.places, question.with_sex, sums["products"], sums["cohorts"])


@procedure("linear/chunk-apart")
def fit_chunk_apart(
    study: Study, chunk: Chunk, pool: Pool, columns: PooledColumns, block: Within, few: tuple[str, ...]
) -> Asks[Counted]:
    """Count the genotypes of a chunk, sum products about the cohorts' means, and fit what passes filters.

    `few` are as of `find_few`.
    """
    counted, ties = yield from count(study, chunk, pool, int(columns.exponent[-1]))
    for is_few, some in (yield from split_by_carriers(study, chunk, pool, counted, few)):
        about_some = fit_counted_apart(study, chunk, pool, columns, block, counted.some(some))
        yield Finish(about_some, may_lead=not is_few)
    return ties


@procedure("linear/sums-apart")
def fit_counted_apart(
    study: Study, chunk: Chunk, pool: Pool, columns: PooledColumns, block: Within, counted: Counted
) -> Asks[None]:
    """Sum products of variants of a chunk about the cohorts' means, and fit them."""
    plan, chromosome = study.plan, chunk.chromosome
    calls = Calls.of(counted.table, chromosome, pool, is_exact(plan))
    first = np.ones(len(counted.variants), bool)
    coded = CodedCalls.of(calls, terms_of(plan), chromosome, first)
    first_is_a1, tied = counted.order()
    asked = counted.variants, calls.incomplete, coded.fill, first, tied
    sums = yield SumGenotypesApart.about(plan, chunk, pool.complete, columns, *asked)
    order = ordered(first_is_a1, tied, sums["first"], plan.cohorts)
    fit = FitApart(plan, chromosome, pool, columns, counted, calls, coded, block)
    yield fit.rows(sums, order)


@dataclass(frozen=True, eq=False)
class FitApart(Fitting):
    """The regressions of some variants of a chunk, from products about the cohorts' means."""

    block: Within

    def rows(self, sums: Arrays, first_is_a1: np.ndarray) -> Rows:
        """Compute the result rows from the sums of `SumGenotypesApart`; `first_is_a1`: bool (m,)."""
        c = len(self.columns.centre) - 1
        with_g, gg = sums["genotype"][:, 1:], sums["genotype"][:, 0]
        products, is_lost = self._columns(sums)
        # Copies of the other allele are 2 - g, and of men on X perhaps 1 - g: so they change with sex, too.
        most = most_copies(self.coding)
        if slope := most[0] - most[-1]:
            of_sex = slope**2 * products[:, 0, 0]
            other = gg - 2 * slope * with_g[:, 0] + of_sex
            other[other <= _ROUNDING * of_sex] = 0  # nobody has it, or all of a cohort alike
            gg = np.where(first_is_a1, gg, other)
        turned = (slope * products[:, 0] if slope else 0) - with_g
        with_g = np.where(first_is_a1[:, None], with_g, turned)

        with_sex, apart = self.with_sex, int(on_x(self.coding))
        chosen = [*range(apart, apart + c), *([0] * with_sex)]  # covariates, then sex
        p = 1 + len(chosen)
        about = np.zeros((len(gg), p, p))
        about[:, 0, 0] = gg
        about[:, 0, 1:] = about[:, 1:, 0] = with_g[:, chosen]
        about[:, 1:, 1:] = products[:, chosen][:, :, chosen]
        with_y = np.concatenate([with_g[:, -1:], products[:, chosen, -1]], axis=1)
        calls, exact = self.calls, is_exact(self.plan)
        people = total(calls.called if exact else np.tile(calls.people, (len(gg), 1)), 1)
        problem = Problem(
            about,
            with_y,
            products[:, -1, -1],
            np.zeros((len(gg), p)),
            people,
            max(self.block.cohorts_at(self.coding) - 1, 0),
            is_lost | (gg == 0) | (with_sex & (products[:, 0, 0] < _LEAST_OF_SEX)),
        )
        return self.rows_of(problem, first_is_a1)

    def _columns(self, sums: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Products of the columns over each variant's people, (m, q, q), and whether there is a cohort of
        which nobody is in, bool (m,)."""
        lacking = self.calls.incomplete
        of_all = self.block.at(self.coding, len(self.columns.centre))
        products = np.repeat(of_all[None], len(lacking), axis=0)
        is_lost = np.full(len(lacking), not self.block.has_all(self.coding))
        if is_exact(self.plan):
            products[lacking] -= square(sums["missing"], len(of_all))
            is_lost[lacking] |= sums["lost"] > 0
        return products, is_lost


@dataclass(frozen=True, eq=False)
class SumColumnsApart(
    Question,
    name="linear/block-apart",
    title="Sum covariates and phenotype about the cohorts' means",
    ring_bits=128,
):
    """Products of the standardised columns about a cohort's own means."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "products",
            ("groups", "pairs"),
            "bound",
            "products of two of covariates and phenotype about this cohort's means, summed; if there are "
            "variants on X with sex among them; on Y of men alone, and with plink2's report under the rule "
            "`exact` on X of people of known sex alone",
            "how covariates and phenotype are associated within the cohorts, over all of them; if two groups "
            "differ by one person, that person's values about the means of a cohort, without name",
            of_one=True,
        ),
        Count(
            "cohorts",
            ("groups",),
            1,
            "per group of these: 1 if this cohort has anybody, else 0",
            "how many cohorts have people with complete data",
        ),
    )
    each: ClassVar[dict[str, str]] = {"groups": "group of people", "pairs": "pair of columns"}
    asked_if: ClassVar[Condition] = is_apart

    people: int
    places: tuple[str, ...]
    """Groups of people with sums of their own: everyone, and perhaps men, and people of known sex."""
    with_sex: bool
    """True if sex is the first column."""
    centre: np.ndarray
    exponent: np.ndarray

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        return tuple(
            replace(array, of_one=array.of_one and not has_floors(plan))
            for array in super().sends_under(plan)
        )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        if (asked := foreseen_chunks(plan, sizes)) is None:
            return None
        count = len(column_names(plan))
        nothing = Columns(np.zeros(count), np.zeros(count, np.int64))
        question = cls.of(plan, everyone(plan), nothing, asked)
        return Foreseen([question] if cls.asked_if(plan) else [], exact=question.places == (EVERYONE,))

    @classmethod
    def of(cls, plan: Plan, pool: Pool, columns: Columns, chunks: Iterable[Chunk]) -> SumColumnsApart:
        """Build the question to a pool, given all chunks that will be asked about."""
        codings = {chunk.chromosome for chunk in chunks}
        found = {place_of(coding) for coding in codings}
        return cls(
            people=pool.complete,
            places=tuple(place for place in _MEMBERS if place in found or place == EVERYONE),
            with_sex=any(map(on_x, codings)),
            centre=columns.centre,
            exponent=columns.exponent,
        )

    @property
    def groups(self) -> int:
        return len(self.places)

    @property
    def columns(self) -> int:
        return len(self.centre) + self.with_sex

    @property
    def pairs(self) -> int:
        return len(pairs(self.columns)[0])

    @property
    def bound(self) -> int:
        return 2 * max(self.people, 1)

    def local(self, cohort: Cohort) -> Arrays:
        samples = cohort.samples
        z, inside = columns_apart(samples, self.centre, self.exponent, self.with_sex), complete(samples)
        groups = [z[inside & _MEMBERS[place](samples.sex)] for place in self.places]
        found = [about(_products(part), part.sum(axis=0), len(part)) for part in groups]
        return {"products": np.array(found), "cohorts": np.array([min(len(part), 1) for part in groups])}


@dataclass(frozen=True, eq=False)
class SumGenotypesApart(AboutVariants):
    """Products of genotype and columns about a cohort's own means; what missing calls change, where exact."""

    name: ClassVar[str] = "linear/sums-apart"
    title: ClassVar[str] = "Sum genotypes, covariates and phenotype about the cohorts' means"
    only_server: ClassVar[Condition] = lambda plan: not is_clumped(plan)
    sends: ClassVar[tuple[Sent, ...]] = (
        TIES,
        Real(
            "genotype",
            ("variants", "sums"),
            "bound",
            "per variant, about this cohort's means: the sum of the squared genotype, of genotype times "
            "covariate, and of genotype times phenotype; on X of genotype times sex, too",
            "how genotype, covariates and phenotype are associated within the cohorts, and how far allele "
            "frequencies differ between them: with few cohorts of known size that leaves few possibilities "
            "for the allele counts of each. Of a variant that only one person carries, that person's values "
            "about the means of a cohort, without name",
            of_one=True,
        ),
        Real(
            "missing",
            ("incomplete", "pairs"),
            "bound",
            "per variant with missing calls, under the rule `exact` only: by how much the people without a "
            "call change the products of covariates and phenotype. With few missing calls these are values "
            "of single people, without name or cohort",
            "covariates and phenotype of people without a call: if they are few, of single people",
            of_one=True,
        ),
        Count(
            "lost",
            ("incomplete",),
            1,
            "likewise: 1 if nobody of this cohort has a call, else 0",
            "in how many cohorts nobody has a call of the variant",
        ),
    )
    each: ClassVar[dict[str, str]] = {**AboutVariants.each, "sums": "sum", "pairs": "pair of columns"}
    asked_if: ClassVar[Condition] = is_apart

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        sent = super().sends_under(plan)
        return tuple(array for array in sent if is_exact(plan) or array.name != "lost")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return foreseen_of(foreseen_parts(plan, sizes), lambda chunk: cls(**cls.foreseen_fields(plan, chunk)))

    @property
    def columns(self) -> int:
        """Covariates and phenotype, and on X sex before them."""
        return len(self.centre) + on_x(self.chromosome)

    @property
    def sums(self) -> int:
        return 1 + self.columns

    @property
    def pairs(self) -> int:
        return len(pairs(self.columns)[0])

    def local(self, cohort: Cohort) -> Arrays:
        samples, copies, lacking = cohort.samples, self.copies_of(cohort), self.flagged(INCOMPLETE)
        apart = [who & complete(samples) for who in by_sex(self.chromosome, samples)]
        z = columns_apart(samples, self.centre, self.exponent, on_x(self.chromosome))
        z = z * np.logical_or.reduce(apart)[:, None]
        ones = np.stack(apart, axis=1).astype(np.float64)
        # Of each sex the columns, and behind them 1 for everyone: homozygous calls count alike there.
        columns = np.concatenate([np.column_stack([z, one]) * one[:, None] for one in ones.T], axis=1)
        sums = copies.with_squares(columns, ones)
        half, m, q = most_copies(self.chromosome) / 2, len(sums), z.shape[1]
        with_g = np.einsum("msq,s->mq", sums[:, : columns.shape[1]].reshape(m, len(half), q + 1), half)
        squares = np.einsum("ms,s->m", sums[:, columns.shape[1] :], half**2)
        over = copies.over_missing(lacking, columns).reshape(-1, len(half), q + 1)
        if not self.exact:
            with_g[lacking] += np.einsum("msq,ms->mq", over, self.fill)
            squares[lacking] += np.einsum("ms,ms->m", over[:, :, q], self.fill**2)

        of_all = np.append(z.sum(axis=0), ones.sum())
        everyone = np.repeat(of_all[None], m, axis=0)
        if self.exact:
            everyone[lacking] -= over.sum(axis=1)
        n = np.maximum(everyone[:, q], 1)
        genotype = np.column_stack([squares, with_g[:, :q]])
        genotype -= with_g[:, q:] * np.column_stack([with_g[:, q], everyone[:, :q]]) / n[:, None]
        genotype[genotype[:, 0] <= _NOTHING * squares] = 0  # the same for everyone
        found = {"first": self.first_of_ties(copies.second), "genotype": genotype}
        if not self.exact:
            return {**found, "missing": np.zeros((0, self.pairs)), "lost": np.zeros(0, np.int64)}
        products, some = _products(z), everyone[lacking]
        i, j = pairs(q)
        called = products - copies.over_missing(lacking, z[:, i] * z[:, j])
        change = about(products, of_all[:q], of_all[q]) - about(called, some[:, :q], some[:, q])
        return {**found, "missing": change, "lost": ((some[:, q] == 0) & (of_all[q] > 0)).astype(np.int64)}


def columns_apart(samples: Samples, centre: np.ndarray, exponent: np.ndarray, with_sex: bool) -> np.ndarray:
    """Covariates and phenotype about this cohort's means, perhaps with sex before them: float64 (n, q)."""
    z = standardised(samples, centre, exponent, apart=True)
    men = (complete(samples) & (samples.sex == MALE)).astype(np.float64)
    return np.column_stack([men, z]) if with_sex else z


def about(products: np.ndarray, sums: np.ndarray, people: np.ndarray | float) -> np.ndarray:
    """Products about the means, (..., pairs), from sums over so many people; 0 of nobody."""
    i, j = pairs(sums.shape[-1])
    n = np.maximum(np.asarray(people, np.float64), 1)[..., None]
    return np.asarray(products - sums[..., i] * sums[..., j] / n)


def _products(z: np.ndarray) -> np.ndarray:
    """Sums of products of two columns each: (pairs,)."""
    i, j = pairs(z.shape[1])
    return np.asarray(np.einsum("ni,ni->i", z[:, i], z[:, j]))
