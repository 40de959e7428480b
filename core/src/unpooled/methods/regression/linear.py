"""Linear regression of a quantitative phenotype on each variant (PLINK's --linear), covariates included.

The residual sum of squares follows from the sums: y'y - b'X'y, harmless after standardising. Under the rule
`mean` a missing call is taken to be the mean of the pool's calls (on X, of the same sex), and no sum is over
the people without a call alone.

Several phenotypes of the same people are columns side by side: counts and whatever has no phenotype in it are
asked for once, and no two phenotypes are multiplied with one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import MALE, UNKNOWN_SEX, Cohort, Samples
from unpooled.asking.procedure import Asks, Each, Finish, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real
from unpooled.asking.sizes import Sizes
from unpooled.formats import regression_report
from unpooled.kernels.least_squares import MOST_INFLATED
from unpooled.methods.algorithm import Cost, VariantMethod
from unpooled.methods.ld.lead_questions import LEADS_ASKS
from unpooled.methods.ld.leads import clumped_or, with_leads
from unpooled.methods.ld.options import PRUNE_COMPONENTS
from unpooled.methods.regression.about_variants import FIRST, INCOMPLETE, SECOND, TIED, AboutVariants
from unpooled.methods.regression.apart import (
    SumColumnsApart,
    SumGenotypesApart,
    fit_chunk_apart,
    sum_columns_apart,
)
from unpooled.methods.regression.conditions import (
    CountConditions,
    OrderConditions,
    find_conditions,
    pooled_columns,
)
from unpooled.methods.regression.dependent import about_means, refuse_dependent
from unpooled.methods.regression.dosages import CountDosages, count
from unpooled.methods.regression.floors import (
    CountCarriers,
    CountInside,
    find_few,
    foreseen_parts,
    split_by_carriers,
)
from unpooled.methods.regression.heterogeneity import ESTIMATES_ASKS, compare_cohorts, with_meta
from unpooled.methods.regression.least_squares import Block, Fit, places_of_sex
from unpooled.methods.regression.one_phenotype import among
from unpooled.methods.regression.ordering import OrderBeforeFit, order_of
from unpooled.methods.regression.own_columns import CodedCalls, OwnSums
from unpooled.methods.regression.pool import (
    TIES,
    Calls,
    Census,
    CountGenotypes,
    OrderAlleles,
    Pool,
    chunks_of,
    columns_of,
    count_people,
    everyone,
    ordered,
    report_ties,
)
from unpooled.methods.regression.symmetric import pairs
from unpooled.methods.shared.allele_coding import PLACES, by_sex, counted, on_x
from unpooled.methods.shared.chunks import DIPLOID, Chunk, X, Y
from unpooled.methods.shared.frequencies import CountFar
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.groups import COMPLETE
from unpooled.methods.shared.some_variants import flags
from unpooled.methods.shared.standardise import (
    Columns,
    Magnitude,
    Mean,
    PooledColumns,
    Spread,
    column_names,
    fraction_bits,
    standardised,
)
from unpooled.methods.shared.tables_of_several import of_several
from unpooled.plan import common_options as options
from unpooled.plan import genotype_model, heterogeneity_option
from unpooled.plan.apart_option import COHORTS_APART, few_cohorts, is_apart
from unpooled.plan.clump_option import CLUMPED, CLUMPING
from unpooled.plan.common_options import MISSING, PHENOTYPES
from unpooled.plan.dosage_option import DOSAGES, OF_DOSAGES
from unpooled.plan.frequency_option import FREQUENCY_FLAGS
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.heterogeneity_option import FEW_STUDIES, META
from unpooled.plan.plan import EXACT, Plan
from unpooled.plan.templates import with_components
from unpooled.protocol.codec import came_later


@procedure("linear")
def linear(study: Study) -> Asks[None]:
    """Standardise covariates and phenotype, sum them once for all variants, then fit chunk by chunk."""
    conditions = find_conditions(study)
    pool = yield from count_people(study)
    columns = yield from pooled_columns(study, pool, conditions)
    few = yield from find_few(study, columns)
    chunks = chunks_of(study, pool)
    if is_apart(study.plan):
        within = yield from sum_columns_apart(study, pool, columns, chunks, few)
        products = within.at(DIPLOID, len(columns.centre))
        fits = [fit_chunk_apart(study, chunk, pool, columns, within, few) for chunk in chunks]
    else:
        sums = yield SumColumns.of(study.plan, pool, columns)
        block = Block(sums["sums"], sums["products"])
        some = among(study.plan)[0].of_block(block)  # it is about the covariates
        products = about_means(some.sums, some.products, pool.of(COMPLETE))
        fits = [fit_chunk(study, chunk, pool, columns, block, few) for chunk in chunks]
    if not study.plan.alone:
        refuse_dependent(study.plan, products, MOST_INFLATED)
    ties = yield Each(fits)
    yield Finish(report_ties(study, tuple(ties)))


@procedure("linear/chunk")
def fit_chunk(
    study: Study, chunk: Chunk, pool: Pool, columns: PooledColumns, block: Block, few: tuple[str, ...]
) -> Asks[Counted]:
    """Count the genotypes of a chunk, sum them with the columns, and fit the variants that pass filters.

    `few` are those of the `SEXES` of whom there are too few to tell sums of.
    """
    counted, ties = yield from count(study, chunk, pool)
    yield from compare_cohorts(study, chunk, counted, int(columns.exponent[-1]))
    first_is_a1, tied = yield from order_of(study, chunk, counted)
    for is_few, some in (yield from split_by_carriers(study, chunk, pool, counted, few)):
        about = counted.some(some), first_is_a1[some], tied[some]
        yield Finish(fit_counted(study, chunk, pool, columns, block, *about), may_lead=not is_few)
    return ties


@procedure("linear/sums")
def fit_counted(
    study: Study,
    chunk: Chunk,
    pool: Pool,
    columns: PooledColumns,
    block: Block,
    counted: Counted,
    first_is_a1: np.ndarray,
    tied: np.ndarray,
) -> Asks[None]:
    """Sum the genotypes of variants of a chunk with the columns, and fit them; bool (m,) as of `order_of`."""
    exact, terms = MISSING.of(study.plan) == EXACT, terms_of(study.plan)
    calls = Calls.of(counted.table, chunk.chromosome, pool, exact)
    counts_first = first_is_a1 | terms.is_plain
    coded = CodedCalls.of(calls, terms, chunk.chromosome, counts_first)
    wanted = np.where(counts_first, FIRST, SECOND) + INCOMPLETE * calls.incomplete + TIED * tied
    sums = yield SumWithGenotypes(
        start=chunk.start,
        asked=flags(chunk, counted.variants, wanted),
        chromosome=chunk.chromosome,
        exact=exact,
        fill=coded.fill[calls.incomplete & (not exact)],
        people=pool.of(COMPLETE),
        centre=columns.centre,
        exponent=columns.exponent,
        cohorts=study.plan.cohorts,
        model=terms.model,
        interacting=terms.interacting,
        phenotypes=len(study.plan.phenotype_names),
        dosages=DOSAGES.of(study.plan),
    )
    order = ordered(first_is_a1, tied, sums["first"], study.plan.cohorts)
    for plan, one in zip(study.plan.each, among(study.plan), strict=True):
        own = one.of_columns(columns), counted, calls, coded, one.of_block(block)
        fit = Fit(plan, chunk.chromosome, pool, *own)
        of_sex = one.of_sex(sums["of_sex"], chunk.chromosome)
        missing = one.of_missing(sums["missing"])
        rows = fit.rows(one.of_genotype(terms, sums["genotype"]), of_sex, missing, order)
        yield of_several(rows, plan.phenotype) if PHENOTYPES.of(study.plan) else rows


@dataclass(frozen=True, eq=False)
class SumColumns(Question):
    """Sums of the standardised columns, and of their products."""

    name: ClassVar[str] = "linear/block"
    title: ClassVar[str] = "Sum covariates and phenotype"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("columns",),
            "bound",
            "bits",
            "sums of covariates and phenotype",
            "means of covariates and phenotype in the pool",
        ),
        Real(
            "products",
            ("pairs",),
            "bound",
            "bits",
            "sums of products of two of these",
            "how covariates and phenotype are associated in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"columns": "column", "pairs": "pair of columns"}
    ring_bits: ClassVar[int] = 128
    asked_if: ClassVar[Condition] = lambda plan: not is_apart(plan)

    people: int
    centre: np.ndarray
    exponent: np.ndarray
    cohorts: int
    phenotypes: int = came_later(1)
    """Number of phenotypes; they are the last columns."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        columns = len(column_names(plan))
        nothing = Columns(np.zeros(columns), np.zeros(columns, np.int64))
        return Foreseen([cls.of(plan, everyone(plan), nothing)] if cls.asked_if(plan) else [])

    @classmethod
    def of(cls, plan: Plan, pool: Pool, columns: Columns) -> SumColumns:
        return cls(
            people=pool.of(COMPLETE),
            centre=columns.centre,
            exponent=columns.exponent,
            cohorts=plan.cohorts,
            phenotypes=len(plan.phenotype_names),
        )

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def pairs(self) -> int:
        return len(pairs(self.columns, self.phenotypes)[0])

    @property
    def bound(self) -> int:
        return 2 * max(self.people, 1)

    @property
    def bits(self) -> int:
        return fraction_bits(self.bound, self.cohorts)

    def local(self, cohort: Cohort) -> Arrays:
        z = standardised(cohort.samples, self.centre, self.exponent)
        i, j = pairs(self.columns, self.phenotypes)
        return {"sums": z.sum(axis=0), "products": np.einsum("ni,ni->i", z[:, i], z[:, j])}


@dataclass(frozen=True, eq=False)
class SumWithGenotypes(AboutVariants):
    """Sums of genotype times column for some variants of a chunk; over missing calls, where exact."""

    name: ClassVar[str] = "linear/sums"
    title: ClassVar[str] = "Sum genotypes, covariates and phenotype"
    sends: ClassVar[tuple[Count | Real, ...]] = (
        TIES,
        Real(
            "genotype",
            ("variants", "sexes", "sums"),
            "bound",
            "bits",
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
            "bits",
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
            "bits",
            "per variant with missing calls, under the rule `exact` only: sums over the people without a "
            "call of covariates, phenotype, and products of two of these. With few missing calls these are "
            "values of single people, without name or cohort",
            "covariates and phenotype of people without a call: if they are few, of single people",
            of_one=True,
        ),
    )
    each: ClassVar[dict[str, str]] = {**AboutVariants.each, "sums": "sum", "sexed": "variant on X or Y"}
    asked_if: ClassVar[Condition] = lambda plan: not is_apart(plan)

    phenotypes: int = came_later(1)
    """Number of phenotypes; they are the last columns."""

    @property
    def bound(self) -> int:
        """Bound of the sums; with interactions, squares of copies are multiplied by squares of columns."""
        return super().bound * (2 if self.interacting else 1)

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
        chunks = foreseen_parts(plan, sizes)
        if chunks is None:
            return None
        count = len(plan.phenotype_names)
        questions = (cls(**cls.foreseen_fields(plan, chunk), phenotypes=count) for chunk in chunks)
        return Foreseen(questions, exact=False)

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


def _is_about_the_pool_alone(plan: Plan) -> bool:
    """Tell whether there are neither estimates of single cohorts, nor clumps, nor cohorts apart."""
    return not {META, CLUMPED} & {*plan.files} and not is_apart(plan)


LINEAR = VariantMethod(
    name="linear",
    title="Linear regression",
    method="The phenotype was regressed on the copies of A1 by least squares, as plink1.9 --linear and "
    "plink2 --glm compute it.",
    traits=("quantitative",),
    asks=(
        Census,
        CountConditions,
        OrderConditions,
        Magnitude,
        Mean,
        Spread,
        CountInside,
        SumColumns,
        SumColumnsApart,
        CountDosages,
        CountGenotypes,
        CountFar,
        OrderBeforeFit,
        *ESTIMATES_ASKS,
        CountCarriers,
        SumWithGenotypes,
        SumGenotypesApart,
        OrderAlleles,
        *LEADS_ASKS,
    ),
    procedure=with_leads(linear),
    files=regression_report.LINEAR_WRITERS,
    usual_files=("assoc",),
    options=(
        *options.REGRESSION,
        PRUNE_COMPONENTS,
        *genotype_model.OPTIONS,
        COHORTS_APART,
        FEW_STUDIES,
        *OF_DOSAGES,
        FREQUENCY_FLAGS,
        *CLUMPING,
    ),
    templates=(with_components("linear"),),
    rules=lambda plan: (
        genotype_model.names_problem(plan) | heterogeneity_option.problem(plan) | few_cohorts(plan)
    ),
    # Calls are looked up eight columns at a time; dosages are read twice, counted and multiplied.
    cost=Cost(10e-6, lambda columns: 0.32e-9 * -(-columns // 8), (2 * 0.5 + 0.14 + 0.3) * 1e-9),
    file_name=regression_report.file_name,
    columns=clumped_or(columns_of),
    looked_at=with_meta,
    # Else something is of one phenotype: the cohorts' own estimates, leads, what cohorts apart send.
    shares=_is_about_the_pool_alone,
)
