"""The questions of linear regression, and one phenotype's share of their sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import MALE, UNKNOWN_SEX, Cohort, Samples
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Real, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.kernels.fixed_order import pairs
from unpooled.methods.ld.options import is_clumped
from unpooled.methods.regression.about_variants import INCOMPLETE, AboutVariants
from unpooled.methods.regression.counts import TIES
from unpooled.methods.regression.floors import foreseen_parts
from unpooled.methods.regression.least_squares import Block, places_of_sex
from unpooled.methods.regression.options import ROBUST
from unpooled.methods.regression.own_columns import OwnSums
from unpooled.methods.regression.pool import Pool, everyone
from unpooled.methods.shared.allele_coding import PLACES, by_sex, counted, on_x
from unpooled.methods.shared.chunks import X, Y, foreseen_of
from unpooled.methods.shared.options import is_apart
from unpooled.methods.shared.standardise import Columns, PooledColumns, column_names, standardised
from unpooled.plan.genotype_model import Terms
from unpooled.plan.plan import Plan


class _OfPhenotypes(UnderPlan):
    """About columns of which the last are the phenotypes."""

    @property
    def phenotypes(self) -> int:
        return len(self.plan.phenotype_names)


@dataclass(frozen=True, eq=False)
class SumColumns(_OfPhenotypes, name="linear/block", title="Sum covariates and phenotype", ring_bits=128):
    """Sums of the standardised columns, and of their products."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("columns",),
            "bound",
            "sums of covariates and phenotype",
            "means of covariates and phenotype in the pool",
        ),
        Real(
            "products",
            ("pairs",),
            "bound",
            "sums of products of two of these",
            "how covariates and phenotype are associated in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"columns": "column", "pairs": "pair of columns"}
    asked_if: ClassVar[Condition] = lambda plan: not is_apart(plan)

    people: int
    centre: np.ndarray
    exponent: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = len(column_names(plan))
        nothing = Columns(np.zeros(columns), np.zeros(columns, np.int64))
        return Foreseen([cls.of(plan, everyone(plan), nothing)] if cls.asked_if(plan) else [])

    @classmethod
    def of(cls, plan: Plan, pool: Pool, columns: Columns) -> SumColumns:
        return cls(plan, pool.complete, columns.centre, columns.exponent)

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def pairs(self) -> int:
        return len(pairs(self.columns, self.phenotypes)[0])

    @property
    def bound(self) -> int:
        return 2 * max(self.people, 1)

    def local(self, cohort: Cohort) -> Arrays:
        z = standardised(cohort.samples, self.centre, self.exponent)
        i, j = pairs(self.columns, self.phenotypes)
        return {"sums": z.sum(axis=0), "products": np.einsum("ni,ni->i", z[:, i], z[:, j])}


@dataclass(frozen=True, eq=False)
class SumWithGenotypes(
    AboutVariants, _OfPhenotypes, name="linear/sums", title="Sum genotypes, covariates and phenotype"
):
    """Sums of genotype times column for some variants of a chunk; over missing calls, where exact."""

    only_server: ClassVar[Condition] = lambda plan: not (is_clumped(plan) or ROBUST.of(plan))
    sends: ClassVar[tuple[Count | Real, ...]] = (
        TIES,
        Real(
            "genotype",
            ("variants", "sexes", "sums"),
            "bound",
            "per variant: sums of genotype times covariate, and of genotype times phenotype; for an "
            "interaction also of these times the covariate, and of the squared genotype times it",
            "means of covariates and phenotype by genotype in the pool; for a variant that only one "
            "person carries, that person's, standardised, without name or cohort",
            of_one=True,
        ),
        Real(
            "of_sex",
            ("sexed", "of_one_sex"),
            "bound",
            "per variant on X or Y, alike for all: sums of covariates and phenotype over men, on Y of "
            "products of two of these, too; and with plink2's report under the rule `exact` on X both over "
            "people of known sex: men, and people of unknown sex, may be few",
            "means of covariates and phenotype by sex in the pool; if there is one man, that person's",
            of_one=True,
        ),
        Real(
            "missing",
            ("incomplete", "pairs"),
            "bound",
            "per variant with missing calls, under the rule `exact` only: sums over the people without a "
            "call of covariates, phenotype, and products of two of these. With few missing calls these are "
            "values of single people, without name or cohort",
            "covariates and phenotype of people without a call: if they are few, of single people",
            of_one=True,
        ),
    )
    each: ClassVar[dict[str, str]] = {**AboutVariants.each, "sums": "sum", "sexed": "variant on X or Y"}
    asked_if: ClassVar[Condition] = lambda plan: not is_apart(plan)

    @property
    def bound(self) -> int:
        """Bound of the sums; with interactions, squares of copies are multiplied by squares of columns."""
        return super().bound * (2 if self.terms.interacting else 1)

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def own(self) -> OwnSums:
        return OwnSums(self.terms, self.columns)

    @property
    def sums(self) -> int:
        return len(self.own)

    @property
    def sexed(self) -> int:
        return self.variants if PLACES[self.chromosome] in (X, Y) else 0

    @property
    def of_one_sex(self) -> int:
        return sum(map(len, places_of_sex(self.columns, self.phenotypes, self.chromosome)))

    @property
    def pairs(self) -> int:
        return missing_columns(self.columns, self.phenotypes, self.chromosome)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return foreseen_of(foreseen_parts(plan, sizes), lambda chunk: cls(**cls.foreseen_fields(plan, chunk)))

    def local(self, cohort: Cohort) -> Arrays:
        copies, lacking = self.copies_of(cohort), self.flagged(INCOMPLETE)
        z = standardised(cohort.samples, self.centre, self.exponent)
        apart, own = by_sex(self.chromosome, cohort.samples), self.own
        of_people = own.of_people(z)
        columns = np.concatenate([of_people * who[:, None] for who in apart], axis=1)
        sums = copies.products(columns, np.tile(own.coded, self.sexes))
        sums = sums.reshape(self.variants, self.sexes, self.sums)
        row = sums_of_sex(z, self.phenotypes, cohort.samples, self.chromosome)
        found = {"first": self.first_of_ties(copies.second), "of_sex": np.tile(row, (self.sexed, 1))}
        if self.exact:
            values = missing_values(z, self.phenotypes, cohort.samples, self.chromosome)
            over = copies.over_missing(lacking, values)
            return {**found, "genotype": sums, "missing": over}
        over = copies.over_missing(lacking, columns).reshape(-1, self.sexes, self.sums)
        # Two copies count as 2 everywhere.
        fill = own.filled(self.fill.reshape(-1, len(self.terms.coded))).reshape(over.shape)
        sums[lacking] += over * fill / own.units(self.chromosome)
        return {**found, "genotype": sums, "missing": np.zeros((0, self.pairs))}


def sums_of_sex(z: np.ndarray, phenotypes: int, samples: Samples, chromosome: str) -> np.ndarray:
    """The sums that `places_of_sex` names: of columns and products of men, and of people of known sex."""
    i, j = pairs(z.shape[1], phenotypes)
    values = np.concatenate([z, z[:, i] * z[:, j]], axis=1)
    men, known = (values[who].sum(axis=0) for who in (samples.sex == MALE, samples.sex != UNKNOWN_SEX))
    of_men, of_known = places_of_sex(z.shape[1], phenotypes, chromosome)
    return np.concatenate([men[of_men], known[of_known]])


def missing_columns(columns: int, phenotypes: int, chromosome: str) -> int:
    """Count the numbers that are sent for a variant with missing calls."""
    return columns + len(pairs(columns, phenotypes)[0]) + (columns if on_x(chromosome) else 0)


def missing_values(z: np.ndarray, phenotypes: int, samples: Samples, chromosome: str) -> np.ndarray:
    """Return the values to sum over people without a call: columns, products, and on X the columns of men."""
    z = z * counted(chromosome, samples)[:, None]
    i, j = pairs(z.shape[1], phenotypes)
    men = (samples.sex == MALE)[:, None]
    parts = [z, z[:, i] * z[:, j]] + ([z * men] if on_x(chromosome) else [])
    return np.concatenate(parts, axis=1)


def one_by_one(plan: Plan) -> tuple[OnePhenotype, ...]:
    """Each phenotype of a plan among all of them."""
    count = len(plan.phenotype_names)
    return tuple(OnePhenotype(place, count, len(plan.covariate_columns) + count) for place in range(count))


@dataclass(frozen=True)
class OnePhenotype:
    """Covariates and one phenotype, q columns, among covariates and all phenotypes."""

    place: int
    phenotypes: int
    columns: int
    """Number of covariates and phenotypes together."""

    @cached_property
    def _own(self) -> np.ndarray:
        """Their places among all columns: int64 (q,)."""
        covariates = self.columns - self.phenotypes
        return np.append(np.arange(covariates), covariates + self.place)

    @cached_property
    def _pairs(self) -> np.ndarray:
        """The places of their products among all that are sent: int64 (q (q + 1) / 2,)."""
        i, j = pairs(self.columns, self.phenotypes)
        return np.flatnonzero(np.isin(i, self._own) & np.isin(j, self._own))

    def of_columns(self, all_of: PooledColumns) -> PooledColumns:
        """Return the standardisation of these columns."""
        own = self._own
        return PooledColumns(
            all_of.centre[own], all_of.exponent[own], all_of.origin[own], all_of.unit[own], all_of.conditions
        )

    def of_block(self, block: Block) -> Block:
        """Their sums over everyone."""
        return Block(_some(block.sums, self._own), _some(block.products, self._pairs))

    def of_sums(self, terms: Terms, sums: Arrays, chromosome: str) -> Arrays:
        """Their share of the sums of `SumWithGenotypes`."""
        return {
            "genotype": self._of_genotype(terms, sums["genotype"]),
            "of_sex": self._of_sex(sums["of_sex"], chromosome),
            "missing": self._of_missing(sums["missing"]),
        }

    def _of_genotype(self, terms: Terms, sums: np.ndarray) -> np.ndarray:
        """Their sums with genotypes: (m, s, own sums) from (m, s, all sums)."""
        own = OwnSums(terms, len(self._own))
        return _some(sums, own.places_among(OwnSums(terms, self.columns), self._own.tolist()))

    def _of_sex(self, sums: np.ndarray, chromosome: str) -> np.ndarray:
        """Their sums over men, and over people of known sex, as `places_of_sex` has them."""
        own = set(self._own.tolist()) | set((self.columns + self._pairs).tolist())
        sent = np.concatenate(places_of_sex(self.columns, self.phenotypes, chromosome))
        return _some(sums, np.flatnonzero([place in own for place in sent.tolist()]))

    def _of_missing(self, sums: np.ndarray) -> np.ndarray:
        """Their sums over people without a call: of columns, of products, and on X of columns of men."""
        products = self.columns + len(pairs(self.columns, self.phenotypes)[0])
        parts = [self._own, self.columns + self._pairs]
        if sums.shape[1] > products:
            parts.append(products + self._own)
        return _some(sums, np.concatenate(parts))


def _some(sums: np.ndarray, which: np.ndarray | list[int]) -> np.ndarray:
    """Some of the last dimension, as contiguous as all were: what adds them up adds in the same order."""
    return np.take(sums, which, axis=-1)
