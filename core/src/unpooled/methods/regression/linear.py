"""Linear regression of a quantitative phenotype on each variant (PLINK's --linear), covariates included.

The residual sum of squares follows from the sums: y'y - b'X'y, harmless after standardising. Under the rule
`mean` a missing call is taken to be the mean of the pool's calls (on X, of the same sex), and no sum is over
the people without a call alone.

Several phenotypes of the same people are columns side by side: counts and whatever has no phenotype in it are
asked for once, and no two phenotypes are multiplied with one another.
"""

from __future__ import annotations

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
        about = counted.some(some), first_is_a1[some], tied[some]
        if ROBUST.of(study.plan) and not is_few:
            yield from fit_robustly(study, chunk, pool, columns, block, *about)
        else:
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
    sums, order = yield from _sum(study, chunk, pool, columns, counted, first_is_a1, tied)
    terms = terms_of(study.plan)
    for plan, one in zip(study.plan.each, one_by_one(study.plan), strict=True):
        fit = _fit(plan, chunk, pool, one.of_columns(columns), one.of_block(block), counted, order)
        rows = fit.rows(one.of_sums(terms, sums, chunk.chromosome), order, few=ROBUST.of(plan))
        yield of_several(rows, plan.phenotype) if len(study.plan.phenotype_names) > 1 else rows


@procedure("linear/robust")
def fit_robustly(
    study: Study,
    chunk: Chunk,
    pool: Pool,
    columns: PooledColumns,
    block: Block,
    counted: Counted,
    first_is_a1: np.ndarray,
    tied: np.ndarray,
) -> Asks[None]:
    """Sum genotypes likewise, and go on to the residuals, which cohorts have once they know the estimates."""
    sums, order = yield from _sum(study, chunk, pool, columns, counted, first_is_a1, tied)
    some = {name: sums[name] for name in ("genotype", "of_sex", "missing")}
    fit = _fit(study.plan, chunk, pool, columns, block, counted, order)
    fill = CodedCalls.of(fit.calls, terms_of(study.plan), chunk.chromosome, order).fill
    asked = SquareLinearResiduals.about(
        study.plan,
        chunk,
        pool.complete,
        columns,
        counted.variants,
        fit.calls.incomplete,
        fill,
        order,
        np.zeros_like(tied),
        with_sex=fit.with_sex,
        beta=settled(fit.coefficients(some, order), step_of(OF_MODEL, pool.complete)),
        iteration=1,
        evaluation=1,
    )
    about = chunk, pool, columns, block, counted, order, tuple(some.items())
    yield Finish(square_residuals(study, asked, *about), may_lead=True)


@procedure("linear/squares")
def square_residuals(
    study: Study,
    asked: SquareLinearResiduals,
    chunk: Chunk,
    pool: Pool,
    columns: PooledColumns,
    block: Block,
    counted: Counted,
    first_is_a1: np.ndarray,
    sums: tuple[tuple[str, np.ndarray], ...],
) -> Asks[None]:
    """Sum the squared residuals of variants of which the other sums are known, and report them."""
    squares = (yield asked)["squares"]
    fit = _fit(study.plan, chunk, pool, columns, block, counted, first_is_a1)
    yield fit.rows(dict(sums), first_is_a1, squares=squares)


def _sum(
    study: Study,
    chunk: Chunk,
    pool: Pool,
    columns: PooledColumns,
    counted: Counted,
    first_is_a1: np.ndarray,
    tied: np.ndarray,
) -> Asks[tuple[Arrays, np.ndarray]]:
    """Ask for the sums of variants; return them with whether the panel's first allele is A1: bool (m,)."""
    counts_first = first_is_a1 | terms_of(study.plan).is_plain
    calls, coded = _coded(study.plan, chunk, pool, counted, counts_first)
    asked = counted.variants, calls.incomplete, coded.fill, counts_first, tied
    sums = yield SumWithGenotypes.about(study.plan, chunk, pool.complete, columns, *asked)
    return sums, counts.ordered(first_is_a1, tied, sums["first"], study.plan.cohorts)


def _fit(
    plan: Plan,
    chunk: Chunk,
    pool: Pool,
    columns: PooledColumns,
    block: Block,
    counted: Counted,
    first_is_a1: np.ndarray,
) -> Fit:
    # Of ties copies of the first allele were counted: where the model is more than these, there are none.
    own = _coded(plan, chunk, pool, counted, first_is_a1 | terms_of(plan).is_plain)
    return Fit(plan, chunk.chromosome, pool, columns, counted, *own, block)


def _coded(
    plan: Plan, chunk: Chunk, pool: Pool, counted: Counted, counts_first: np.ndarray
) -> tuple[Calls, CodedCalls]:
    calls = Calls.of(counted.table, chunk.chromosome, pool, is_exact(plan))
    return calls, CodedCalls.of(calls, terms_of(plan), chunk.chromosome, counts_first)


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
