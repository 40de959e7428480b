"""Linear regression of a quantitative phenotype on each variant (PLINK's --linear), covariates included.

The residual sum of squares follows from the sums: y'y - b'X'y, harmless after standardising. Under the rule
`mean` a missing call is taken to be the mean of the pool's calls (on X, of the same sex), and no sum is over
the people without a call alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled import shared_options as options
from unpooled.algorithms.algorithm import Algorithm, Cost
from unpooled.algorithms.regression.about_variants import FIRST, INCOMPLETE, TIED, AboutVariants, flags
from unpooled.algorithms.regression.least_squares import Block, Fit
from unpooled.algorithms.regression.pool import (
    TIES,
    Calls,
    Census,
    CountGenotypes,
    OrderAlleles,
    Pool,
    chunks_of,
    columns_of,
    count_genotypes,
    count_people,
    everyone,
    foreseen_chunks,
    report_filtered,
    settled,
)
from unpooled.algorithms.regression.symmetric import pairs
from unpooled.algorithms.shared import plausible
from unpooled.algorithms.shared.chunks import Chunk, X, Y
from unpooled.algorithms.shared.coding import PLACES, X2_KNOWN, by_sex, counted, has_place, most_copies, on_x
from unpooled.algorithms.shared.genotype_counts import Counted, order_ties
from unpooled.algorithms.shared.groups import COMPLETE, MEN, NOT_MEN, UNKNOWN, WOMEN, complete, members
from unpooled.algorithms.shared.standardise import (
    Columns,
    Magnitude,
    Mean,
    Spread,
    column_names,
    fraction_bits,
    real_columns,
    standardise,
)
from unpooled.cohort import MALE, Cohort, Samples
from unpooled.errors import ProtocolError
from unpooled.formats import regression_report
from unpooled.kernels import products as kernel
from unpooled.plan import EXACT, Plan
from unpooled.procedure import Asks, Each, Study, procedure
from unpooled.question import Arrays, Count, Foreseen, Question, Real
from unpooled.sizes import Sizes


@procedure("linear")
def linear(study: Study) -> Asks[None]:
    """Standardise covariates and phenotype, sum them once for all variants, then fit chunk by chunk."""
    pool = yield from count_people(study)
    columns = yield from standardise(study, pool.of(COMPLETE))
    chunks = chunks_of(study, pool)
    sums = yield SumColumns.of(study.plan, pool, columns, chunks)
    block = Block(sums["sums"], sums["products"])
    ties = yield Each(fit_chunk(study, chunk, pool, columns, block) for chunk in chunks)
    yield from order_ties(study, OrderAlleles, ties, report_filtered)


@procedure("linear/chunk")
def fit_chunk(study: Study, chunk: Chunk, pool: Pool, columns: Columns, block: Block) -> Asks[Counted]:
    """Count the genotypes of a chunk, sum them with the columns, and fit the variants that pass filters."""
    counted, ties = yield from count_genotypes(study, chunk, pool)
    if len(counted.variants):
        exact = study.plan.missing == EXACT
        calls = Calls.of(counted.table.counts, counted.table.groups, chunk.chromosome, pool, exact)
        first_is_a1, tied = counted.order()
        sums = yield SumWithGenotypes(
            start=chunk.start,
            asked=flags(chunk, counted.variants, FIRST + INCOMPLETE * calls.incomplete + TIED * tied),
            chromosome=chunk.chromosome,
            exact=exact,
            fill=calls.means[calls.incomplete & (not exact)],
            people=pool.of(COMPLETE),
            centre=columns.centre,
            exponent=columns.exponent,
            cohorts=study.plan.cohorts,
        )
        order = settled(first_is_a1, tied, sums["first"], study.plan.cohorts)
        fit = Fit(study.plan, chunk.chromosome, pool, columns, block, counted, calls)
        yield fit.rows(sums["genotype"], sums["missing"], order)
    return ties


@dataclass(frozen=True, eq=False)
class SumColumns(Question):
    """Sums of the standardised columns, and of their products."""

    name: ClassVar[str] = "linear/block"
    title: ClassVar[str] = "Sum covariates and phenotype"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("sexes", "columns"),
            "bound",
            "bits",
            "sums of covariates and phenotype; if there are variants on X or Y, men separately, and with "
            "plink2's report under the rule `exact` people of unknown sex: either may be few",
            "means of covariates and phenotype in the pool; if a separate group is one person, that person's",
        ),
        Real(
            "products",
            ("sexes", "pairs"),
            "bound",
            "bits",
            "sums of products of two of these, likewise",
            "how covariates and phenotype are associated in the pool; if a separate group is one person, "
            "that person's",
        ),
    )
    each: ClassVar[dict[str, str]] = {"sexes": "sex", "columns": "column", "pairs": "pair of columns"}
    ring_bits: ClassVar[int] = 128

    people: int
    men_apart: bool
    """For variants on X and Y."""
    sex_known: bool
    """There are plink2's numbers of X to be had, without people of unknown sex."""
    centre: np.ndarray
    exponent: np.ndarray
    cohorts: int

    def __post_init__(self) -> None:
        good = plausible.pool(self.people, self.cohorts) and plausible.columns(self.centre, self.exponent)
        plausible.require(good, "covariates and phenotype")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        asked = foreseen_chunks(plan, sizes)
        if asked is None:
            return None
        columns = len(column_names(plan))
        nothing = Columns(np.zeros(columns), np.zeros(columns, np.int64))
        question = cls.of(plan, everyone(plan), nothing, asked)
        return Foreseen([question], exact=not question.men_apart)

    @classmethod
    def of(cls, plan: Plan, pool: Pool, columns: Columns, chunks: Iterable[Chunk]) -> SumColumns:
        """What is asked of a pool, given all chunks that will be asked about."""
        codings = {chunk.chromosome for chunk in chunks}
        return cls(
            people=pool.of(COMPLETE),
            men_apart=any(PLACES[coding] in (X, Y) for coding in codings),
            sex_known=X2_KNOWN in codings,
            centre=columns.centre,
            exponent=columns.exponent,
            cohorts=plan.cohorts,
        )

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def sexes(self) -> int:
        return len(self._apart)

    @property
    def _apart(self) -> tuple[str, ...]:
        if not self.men_apart:
            return ("",)
        return (MEN, WOMEN, UNKNOWN) if self.sex_known else (MEN, NOT_MEN)

    @property
    def pairs(self) -> int:
        return self.columns * (self.columns + 1) // 2

    @property
    def bound(self) -> int:
        return 2 * max(self.people, 1)

    @property
    def bits(self) -> int:
        return fraction_bits(self.bound, self.cohorts)

    def local(self, cohort: Cohort) -> Arrays:
        z = standardised(cohort.samples, self.centre, self.exponent)
        i, j = pairs(self.columns)
        parts = [z[members((sex,) if sex else (), cohort.samples)] for sex in self._apart]
        return {
            "sums": np.array([part.sum(axis=0) for part in parts]),
            "products": np.array([np.einsum("ni,ni->i", part[:, i], part[:, j]) for part in parts]),
        }

    def agrees(self, plan: Plan) -> bool:
        """People of unknown sex apart only by the rule that shows single people."""
        allowed = plan.missing == EXACT or not self.sex_known
        return allowed and (self.columns, self.cohorts) == (len(column_names(plan)), plan.cohorts)

    def fits_panel(self, chromosomes: np.ndarray, plan: Plan) -> bool:
        """People are apart by sex only where there are variants on X or Y."""
        men = not self.men_apart or any(has_place(place, chromosomes, plan) for place in (X, Y))
        return men and (not self.sex_known or has_place(X2_KNOWN, chromosomes, plan))


@dataclass(frozen=True, eq=False)
class SumWithGenotypes(AboutVariants):
    """Sums of genotype times column for some variants of a chunk; over missing calls, where exact."""

    name: ClassVar[str] = "linear/sums"
    title: ClassVar[str] = "Sum genotypes, covariates and phenotype"
    sends: ClassVar[tuple[Count | Real, ...]] = (
        TIES,
        Real(
            "genotype",
            ("variants", "sexes", "columns"),
            "bound",
            "bits",
            "per variant: sums of genotype times covariate, and of genotype times phenotype",
            "means of covariates and phenotype by genotype in the pool; for a variant that only one "
            "person carries, that person's, standardised, without name or cohort",
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
        ),
    )
    alleles: ClassVar[frozenset[int]] = frozenset({FIRST})

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def pairs(self) -> int:
        return missing_columns(self.columns, self.chromosome)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        return Foreseen((cls(**cls.foreseen_fields(plan, chunk)) for chunk in chunks), exact=False)

    def local(self, cohort: Cohort) -> Arrays:
        words, second, lacking = self.words_of(cohort)
        z = standardised(cohort.samples, self.centre, self.exponent)
        apart = by_sex(self.chromosome, cohort.samples)
        columns = np.concatenate([z * who[:, None] for who in apart], axis=1)
        sums = kernel.products(words, second, columns)
        sums = sums.reshape(self.variants, self.sexes, self.columns)
        first = self.first_of_ties(second)
        if self.exact:
            over = kernel.over_missing(words[lacking], missing_values(z, cohort.samples, self.chromosome))
            return {"first": first, "genotype": sums, "missing": over}
        over = kernel.over_missing(words[lacking], columns).reshape(-1, self.sexes, self.columns)
        # The kernel counts a homozygous call as 2 everywhere.
        sums[lacking] += over * (2 / most_copies(self.chromosome) * self.fill)[:, :, None]
        return {"first": first, "genotype": sums, "missing": np.zeros((0, self.pairs))}


def missing_columns(columns: int, chromosome: str) -> int:
    """How many numbers are sent of a variant with missing calls."""
    return columns + columns * (columns + 1) // 2 + (columns if on_x(chromosome) else 0)


def missing_values(z: np.ndarray, samples: Samples, chromosome: str) -> np.ndarray:
    """What is summed over people without a call: columns, products, and on X the columns of men."""
    z = z * counted(chromosome, samples)[:, None]
    i, j = pairs(z.shape[1])
    men = (samples.sex == MALE)[:, None]
    parts = [z, z[:, i] * z[:, j]] + ([z * men] if on_x(chromosome) else [])
    return np.concatenate(parts, axis=1)


def standardised(samples: Samples, centre: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Covariates and phenotype, standardised: float64 (n, columns); 0 for whoever has incomplete data."""
    values = real_columns(samples, phenotype=True)
    if values.shape[1] != len(centre):
        raise ProtocolError("the question has another number of columns than this cohort's data")
    inside = complete(samples)
    return np.where(inside[:, None], Columns(centre, exponent).apply(np.where(inside[:, None], values, 0)), 0)


LINEAR = Algorithm(
    name="linear",
    title="Linear regression",
    method="The phenotype was regressed on the copies of A1 by least squares, as plink1.9 --linear and "
    "plink2 --glm compute it.",
    traits=("quantitative",),
    asks=(Census, Magnitude, Mean, Spread, SumColumns, CountGenotypes, SumWithGenotypes, OrderAlleles),
    procedure=linear,
    files=regression_report.LINEAR_WRITERS,
    usual_files=("assoc",),
    options=options.REGRESSION,
    cost=Cost(10e-6, lambda columns: 0.32e-9 * -(-columns // 8)),  # looked up eight columns at a time
    file_name=regression_report.file_name,
    columns=columns_of,
)
