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
from unpooled.methods.regression.method import HETEROGENEITY, regression
from unpooled.methods.regression.null_model import Begun, NullModel
from unpooled.methods.regression.options import few_cohorts, is_exact
from unpooled.methods.regression.pool import Pool
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
    terms = terms_of(study.plan)
    calls = Calls.of(counted.table, chunk.chromosome, pool, is_exact(study.plan))
    counts_first = first_is_a1 | terms.is_plain
    coded = CodedCalls.of(calls, terms, chunk.chromosome, counts_first)
    asked = counted.variants, calls.incomplete, coded.fill, counts_first, tied
    sums = yield SumWithGenotypes.about(study.plan, chunk, pool.complete, columns, *asked)
    order = counts.ordered(first_is_a1, tied, sums["first"], study.plan.cohorts)
    for plan, one in zip(study.plan.each, one_by_one(study.plan), strict=True):
        own = one.of_columns(columns), counted, calls, coded, one.of_block(block)
        fit = Fit(plan, chunk.chromosome, pool, *own)
        of_sex = one.of_sex(sums["of_sex"], chunk.chromosome)
        missing = one.of_missing(sums["missing"])
        rows = fit.rows(one.of_genotype(terms, sums["genotype"]), of_sex, missing, order)
        yield of_several(rows, plan.phenotype) if len(study.plan.phenotype_names) > 1 else rows


def _is_about_the_pool_alone(plan: Plan) -> bool:
    """Tell whether there are neither estimates of single cohorts, nor clumps, nor cohorts apart, nor a
    phenotype's predictions."""
    return not {META, CLUMPED} & {*plan.files} and not is_apart(plan) and not LOCO.of(plan)


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
        SumGenotypesApart,
    ),
    options=(RINT, COHORTS_APART, HETEROGENEITY),
    rule=few_cohorts,
    # Calls are looked up eight columns at a time; dosages are read twice, counted and multiplied.
    cost=Cost(10e-6, lambda columns: 0.32e-9 * -(-columns // 8), (2 * 0.5 + 0.14 + 0.3) * 1e-9),
    # Else something is of one phenotype: the cohorts' own estimates, leads, what cohorts apart send.
    shares=_is_about_the_pool_alone,
)
