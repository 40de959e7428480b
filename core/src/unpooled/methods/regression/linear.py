"""Linear regression of a quantitative phenotype on each variant (PLINK's --linear), covariates included.

The residual sum of squares follows from the sums: y'y - b'X'y, harmless after standardising. Under the rule
`mean` a missing call is taken to be the mean of the pool's calls (on X, of the same sex), and no sum is over
the people without a call alone.

Several phenotypes of the same people are columns side by side: counts and whatever has no phenotype in it are
asked for once, and no two phenotypes are multiplied with one another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Each, Finish, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.kernels.fixed_order import settled, step_of
from unpooled.methods.algorithm import Cost
from unpooled.methods.phenotypes import of_several
from unpooled.methods.regression import counts
from unpooled.methods.regression.apart import (
    SumColumnsApart,
    SumGenotypesApart,
    fit_chunk_apart,
    sum_columns_apart,
)
from unpooled.methods.regression.beginning import count_and_standardise
from unpooled.methods.regression.calls import Calls, CodedCalls
from unpooled.methods.regression.dependent import about_means, refuse_dependent
from unpooled.methods.regression.floors import CountCarriers, split_by_carriers
from unpooled.methods.regression.least_squares import Block, Fit
from unpooled.methods.regression.linear_questions import SumColumns, SumWithGenotypes, one_by_one
from unpooled.methods.regression.locus_questions import has_credible_sets
from unpooled.methods.regression.logistic_questions import OF_MODEL
from unpooled.methods.regression.method import HETEROGENEITY, regression
from unpooled.methods.regression.null_model import Begun, NullModel
from unpooled.methods.regression.options import ROBUST, few_cohorts, is_exact
from unpooled.methods.regression.pool import Pool
from unpooled.methods.regression.robust import SquareLinearResiduals
from unpooled.methods.shared.chunks import DIPLOID, Chunk
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.options import COHORTS_APART, RINT, is_apart
from unpooled.methods.shared.standardise import PooledColumns
from unpooled.plan.common_options import LOCO
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import CLUMPED, META


@procedure("linear")
def linear(study: Study) -> Asks[Begun | None]:
    """Standardise covariates and phenotype, sum them once for all variants, then fit chunk by chunk.

    Gives the model without genotypes if its plan has use for it.
    """
    begun = None
    pool, columns, few, chunks = yield from count_and_standardise(study)
    if is_apart(study.plan):
        within = yield from sum_columns_apart(study, pool, columns, chunks, few)
        products = within.at(DIPLOID, len(columns.centre))
        fits = [fit_chunk_apart(study, chunk, pool, columns, within, few) for chunk in chunks]
    else:
        sums = yield SumColumns.of(study.plan, pool, columns)
        block = Block(sums["sums"], sums["products"])
        # Any phenotype's block will do: the check is about the covariates, which all phenotypes share.
        some = one_by_one(study.plan)[0].of_block(block)
        products = about_means(some.sums, some.products, pool.complete)
        fits = [fit_chunk(study, chunk, pool, columns, block, few) for chunk in chunks]
        if has_credible_sets(study.plan):
            begun = Begun(pool, NullModel.of_number(pool, columns, sums))
    if not study.plan.alone:
        refuse_dependent(study.plan, products)
    ties = yield Each(fits)
    yield Finish(counts.report_ties(study, tuple(ties)))
    return begun


@procedure("linear/chunk")
def fit_chunk(
    study: Study, chunk: Chunk, pool: Pool, columns: PooledColumns, block: Block, few: tuple[str, ...]
) -> Asks[Counted]:
    """Count the genotypes of a chunk, sum them with the columns, and fit the variants that pass filters.

    `few` are those of the `SEXES` of whom there are too few to tell sums of.
    """
    counted, ties = yield from counts.count(study, chunk, pool, int(columns.exponent[-1]))
    first_is_a1, tied = yield from counts.order_of(study, chunk, counted)
    for is_few, some in (yield from split_by_carriers(study, chunk, pool, counted, few)):
        about = Variants(chunk, pool, columns, block, counted.some(some), first_is_a1[some], tied[some])
        if ROBUST.of(study.plan) and not is_few:
            yield from fit_robustly(study, about)
        else:
            yield Finish(fit_counted(study, about), may_lead=not is_few)
    return ties


@dataclass(frozen=True, eq=False)
class Variants:
    """Counted variants of a chunk, and what is known of everyone."""

    name: ClassVar[str] = "linear/variants"

    chunk: Chunk
    pool: Pool
    columns: PooledColumns
    block: Block
    counted: Counted
    first_is_a1: np.ndarray
    tied: np.ndarray
    """bool (m,), as `first_is_a1`: both as of `order_of`"""

    def sum_up(self, study: Study) -> Asks[tuple[Arrays, Variants]]:
        """Ask for their sums; return them, and the variants with every tie settled."""
        plan = study.plan
        calls, coded = self._coded(plan)
        asked = self.counted.variants, calls.incomplete, coded.fill, self._counts_first(plan), self.tied
        sums = yield SumWithGenotypes.about(plan, self.chunk, self.pool.complete, self.columns, *asked)
        order = counts.ordered(self.first_is_a1, self.tied, sums["first"], plan.cohorts)
        return sums, replace(self, first_is_a1=order)

    def fit(self, plan: Plan) -> Fit:
        about = self.chunk.chromosome, self.pool, self.columns, self.counted
        return Fit(plan, *about, *self._coded(plan), self.block)

    def _coded(self, plan: Plan) -> tuple[Calls, CodedCalls]:
        chromosome = self.chunk.chromosome
        calls = Calls.of(self.counted.table, chromosome, self.pool, is_exact(plan))
        return calls, CodedCalls.of(calls, terms_of(plan), chromosome, self._counts_first(plan))

    def _counts_first(self, plan: Plan) -> np.ndarray:
        # Of ties copies of the first allele are counted: where the model is more than these, there are none.
        return self.first_is_a1 | terms_of(plan).is_plain


@procedure("linear/sums")
def fit_counted(study: Study, variants: Variants) -> Asks[None]:
    """Sum the genotypes of variants of a chunk with the columns, and fit them."""
    sums, some = yield from variants.sum_up(study)
    terms = terms_of(study.plan)
    for plan, one in zip(study.plan.each, one_by_one(study.plan), strict=True):
        own = replace(some, columns=one.of_columns(some.columns), block=one.of_block(some.block))
        of_one = one.of_sums(terms, sums, some.chunk.chromosome)
        rows = own.fit(plan).rows(of_one, some.first_is_a1, few=ROBUST.of(plan))
        yield of_several(rows, plan.phenotype) if len(study.plan.phenotype_names) > 1 else rows


@procedure("linear/robust")
def fit_robustly(study: Study, variants: Variants) -> Asks[None]:
    """Sum genotypes likewise, and go on to the residuals, which cohorts have once they know the estimates."""
    found, some = yield from variants.sum_up(study)
    sums = {name: found[name] for name in ("genotype", "of_sex", "missing")}
    fit, people = some.fit(study.plan), some.pool.complete
    asked = SquareLinearResiduals.about(
        study.plan,
        some.chunk,
        people,
        some.columns,
        some.counted.variants,
        fit.calls.incomplete,
        CodedCalls.of(fit.calls, terms_of(study.plan), some.chunk.chromosome, some.first_is_a1).fill,
        some.first_is_a1,
        np.zeros_like(some.tied),
        with_sex=fit.with_sex,
        beta=settled(fit.coefficients(sums, some.first_is_a1), step_of(OF_MODEL, people)),
        iteration=1,
        evaluation=1,
    )
    yield Finish(square_residuals(study, asked, some, tuple(sums.items())), may_lead=True)


@procedure("linear/squares")
def square_residuals(
    study: Study, asked: SquareLinearResiduals, some: Variants, sums: tuple[tuple[str, np.ndarray], ...]
) -> Asks[None]:
    """Sum the squared residuals of variants of which the other sums are known, and report them."""
    squares = (yield asked)["squares"]
    yield some.fit(study.plan).rows(dict(sums), some.first_is_a1, squares=squares)


def _is_about_the_pool_alone(plan: Plan) -> bool:
    """Tell whether there are neither estimates of single cohorts, nor clumps, nor cohorts apart, nor a
    phenotype's predictions or residuals."""
    apart = is_apart(plan) or LOCO.of(plan) or ROBUST.of(plan)
    return not {META, CLUMPED} & {*plan.files} and not apart


LINEAR = regression(
    "linear",
    "Linear regression",
    "quantitative",
    "The phenotype was regressed on the copies of A1 by least squares",
    linear,
    asks=(
        SumColumns,
        SumColumnsApart,
        counts.CountDosages,
        counts.CountCodedDosages,
        counts.CountGenotypes,
        counts.OrderBeforeFit,
        CountCarriers,
        SumWithGenotypes,
        SquareLinearResiduals,
        SumGenotypesApart,
    ),
    options=(RINT, COHORTS_APART, HETEROGENEITY),
    rule=few_cohorts,
    # Calls are looked up eight columns at a time; dosages are read twice, counted and multiplied.
    cost=Cost(10e-6, lambda columns: 0.32e-9 * -(-columns // 8), (2 * 0.5 + 0.14 + 0.3) * 1e-9),
    # Else something is of one phenotype: the cohorts' own estimates, leads, what cohorts apart send.
    shares=_is_about_the_pool_alone,
)
