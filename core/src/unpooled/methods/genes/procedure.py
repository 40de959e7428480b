"""Tests of sets of variants: the model without genotypes, the variants one by one, then set by set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from unpooled.asking.procedure import Asks, Each, Finish, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse
from unpooled.kernels import least_squares as codes
from unpooled.memory.spool import slices
from unpooled.methods.genes.base import ALONE, WAITING, Batch, Variants, columns_among
from unpooled.methods.genes.options import MAX_MAF, SET_LIST, masks_of, narrow_first, sets_of
from unpooled.methods.genes.questions import (
    MOST_COLUMNS,
    CountDosages,
    CountGenotypes,
    CountRare,
    FitCovariates,
    SumColumns,
    SumSets,
    batches,
)
from unpooled.methods.genes.result import FEW, NO_MODEL, NONE, TESTED, TOO_MANY, rows_of, without_result
from unpooled.methods.regression.ascent import Ascent
from unpooled.methods.regression.beginning import count_and_standardise
from unpooled.methods.regression.calls import Calls
from unpooled.methods.regression.dependent import about_means, refuse_dependent
from unpooled.methods.regression.fitting import refuse_without_a_model
from unpooled.methods.regression.listed import count_listed
from unpooled.methods.regression.logistic import fit_covariates
from unpooled.methods.regression.null_model import NullModel
from unpooled.methods.regression.pool import Pool
from unpooled.methods.shared import summary
from unpooled.methods.shared.chunks import DIPLOID, chromosome_class
from unpooled.methods.shared.genotype_counts import is_carried
from unpooled.methods.shared.standardise import PooledColumns, is_number
from unpooled.methods.shared.without_any import holds_without_any, people_without_any
from unpooled.panel.list_file import BLOCK_ROWS
from unpooled.plan.common_options import COVARIATES, MAX_ITERATIONS
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

PEOPLE_A_COLUMN, OTHERS_A_COLUMN = 10, 5
"""Smallest number of people in the pool for each column of a set; and in the pool without any one cohort."""

_TOLERANCE = 2.0**-44
"""PLINK's, for frequencies."""


@procedure("gene-tests")
def test_sets(study: Study) -> Asks[None]:
    """Fit the null model, count the variants of all sets, then sum and test set by set."""
    plan = study.plan
    sets = find_sets(study)
    pool, columns, _, _ = yield from count_and_standardise(study)
    null = yield from fit_null(study, pool, columns)
    listed = np.unique(np.concatenate([found for found, _ in sets])).astype(np.uint32)
    parts = np.split(listed, np.arange(plan.chunk_size, len(listed), plan.chunk_size))
    found = yield Each(count_variants(study, part, pool) for part in parts)
    variants = Variants.joined(found)
    yield Rows(
        summary.VARIANTS,
        {
            "variant": variants.variants,
            "first_is_a1": variants.counts_first,
            "a1_freq": variants.mean / 2,
            "collapsed": variants.collapsed,
        },
    )
    yield Each(test_batch(study, batch, null) for batch in _batches(plan, sets, variants))


def find_sets(study: Study) -> list[tuple[np.ndarray, np.ndarray]]:
    """Find the panel indices of the autosomal variants of each set, int64, rising, and their own weights.

    Refuse if there are none. An ID that several variants have is nobody's.
    """
    sets = sets_of(study.plan)
    listed = [each.variants for each in sets]
    wanted = np.unique(np.array([name.encode() for names in listed for name in names]))
    found, times = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    panel = study.panel
    for rows in slices(len(panel), BLOCK_ROWS):
        names = np.asarray(panel.name[rows])
        at = np.minimum(np.searchsorted(wanted, names), len(wanted) - 1)
        met = np.flatnonzero(wanted[at] == names)
        found[at[met]] = rows.start + met
        np.add.at(times, at[met], 1)
    code = panel.chromosome[found] if len(panel) else np.zeros(len(found), np.uint8)
    classes = {c: chromosome_class(c, study.plan.autosomes) for c in np.unique(code).tolist()}
    good = (times == 1) & np.isin(code, [c for c, of in classes.items() if of == DIPLOID])
    if not good.any():
        raise Refuse(
            SET_LIST.name,
            "no variant of the sets is among those of the autosomes that all cohorts have",
            "Look at the IDs: they are those of the cohorts' files, or, where variants are matched by place, "
            "such as 1:12345:A:G.",
        )
    members = []
    for each in sets:
        names = np.array([name.encode() for name in each.variants], wanted.dtype)
        place = np.searchsorted(wanted, names)
        weights = np.array(each.weights) if each.weights else np.ones(len(names))
        own = good[place]
        order = np.argsort(found[place[own]])
        members.append((found[place[own]][order], weights[own][order]))
    return members


def fit_null(study: Study, pool: Pool, columns: PooledColumns) -> Asks[NullModel]:
    """Fit the model without genotypes to a number, or to cases and controls."""
    plan = study.plan
    if is_number(plan):
        sums = yield SumColumns.of(plan, pool, columns)
        return null_of_number(plan, pool, columns, sums)
    asked = FitCovariates.first(plan, pool, columns, DIPLOID)
    # As a branch of its own: it goes on by `Go`, where what was before is forgotten.
    (model,) = yield Each([fit_covariates(study, asked, columns, Ascent.begin(asked.beta[None]))])
    if not plan.alone:
        refuse_without_a_model(plan, [model])
    if model.code != codes.FITTED and not plan.alone:
        raise Refuse(
            COVARIATES.name,
            "the model of the covariates alone has no estimate: they tell cases from controls, or "
            f"{MAX_ITERATIONS.of(plan)} iterations are too few",
            "Leave covariates out, or allow more iterations.",
        )
    return NullModel.of_cases(pool, columns, model)


def null_of_number(plan: Plan, pool: Pool, columns: PooledColumns, sums: Arrays) -> NullModel:
    """The regression of a number on the covariates; Refuse if they determine it, or one another."""
    if not plan.alone:
        refuse_dependent(plan, about_means(sums["sums"], sums["products"], pool.complete))
    null = NullModel.of_number(pool, columns, sums)
    if math.isnan(null.variance) and not plan.alone:
        raise Refuse(
            COVARIATES.name,
            f"the covariates determine the phenotype of the {pool.complete:,} people in the pool, or nearly",
            "Leave covariates out, or invite further cohorts.",
        )
    return null


@procedure("gene-tests/variants")
def count_variants(study: Study, items: np.ndarray, pool: Pool) -> Asks[Variants]:
    """Count the genotypes of some variants, and keep those that pass the filters and vary."""
    counted = yield from count_listed(study, items, pool, CountGenotypes, CountDosages)
    return _rare(study.plan, items, *counted)


def _rare(plan: Plan, items: np.ndarray, calls: Calls, passing: np.ndarray, sums: Arrays) -> Variants:
    """Keep those that pass and are rare enough, by their calls."""
    called, first = calls.called[:, 0], calls.copies[:, 0]
    copies = np.minimum(first, 2 * called - first)
    mean = copies / np.maximum(called, 1)
    few = ~is_carried(plan, sums)
    found = Variants(items, first <= called, mean, few | (copies <= FEWEST_AT_A_LEVEL))
    return found.some((copies > 0) & (mean <= 2 * MAX_MAF.of(plan) * (1 + _TOLERANCE)) & passing)


def _batches(
    plan: Plan, sets: Sequence[tuple[np.ndarray, np.ndarray]], variants: Variants
) -> Iterator[Batch]:
    """The sets that have variants left, in the plan's stretches.

    What is collapsed is so in the first set of the list that has it, and left out of others: the difference
    of two such columns, of which one has a variant more, would be of its few carriers.
    """
    taken, masks = np.zeros(len(variants.variants), bool), len(masks_of(plan))
    for which in batches(plan):
        places, weights, left_out = [], [], []
        for number in range(which.start, which.stop):
            if number % masks == 0:
                before = taken.copy()
            own, weight = sets[number]
            kept = np.isin(own, variants.variants)
            place = np.searchsorted(variants.variants, own[kept])
            again = variants.collapsed[place] & before[place]
            taken[place] |= variants.collapsed[place]
            places.append(place[~again])
            weights.append(weight[kept][~again])
            left_out.append(int(np.count_nonzero(again)))
        some = variants.some(np.concatenate(places))
        column = np.where(some.collapsed, WAITING, ALONE).astype(np.int32)
        about = some.variants, some.counts_first, some.mean, column, np.concatenate(weights)
        yield Batch(which.start, masks, tuple(map(len, places)), tuple(left_out), *about)


@procedure("gene-tests/batch")
def test_batch(study: Study, batch: Batch, null: NullModel) -> Asks[None]:
    """Leave out what too few people carry, and sets of too many columns; sum the others, and test them."""
    plan = study.plan
    listed = np.array(batch.sizes) + batch.left_out
    batch, others = yield from collapse(study, batch, null)
    most = min(MOST_COLUMNS, null.people // PEOPLE_A_COLUMN, others // OTHERS_A_COLUMN)
    if plan.alone:
        most = MOST_COLUMNS
    columns = np.array([columns_among(batch.column[some]) for some in batch.stretches])
    if math.isnan(null.variance):  # which a cohort alone is not refused for
        columns[:] = -1
    reasons = [listed == 0, columns < 0, columns == 0, columns > most]
    code = np.select(reasons, [NONE, NO_MODEL, FEW, TOO_MANY], TESTED)
    if (code != TESTED).any():
        yield without_result(batch.first + np.flatnonzero(code != TESTED), code[code != TESTED])
    left_out = (code != TESTED)[batch.set_of] | (batch.column < ALONE)
    if not left_out.all():
        yield Finish(sum_sets(study, batch.without(left_out), null))


def collapse(study: Study, batch: Batch, null: NullModel) -> Asks[tuple[Batch, int]]:
    """Collapse the rare variants of each set, mask by mask, the narrow ones first.

    The variants of a mask that are in no column yet become one if enough people carry one of them, and wait
    for a wider mask otherwise. So no two columns have a variant in common, and a mask has those of the
    narrower masks within it. Also returns how many people there are without any one cohort, at least.
    """
    plan, others, sets = study.plan, null.people, len(batch.sizes)
    for number, mask in enumerate(narrow_first(plan), 1):
        waits, holds = batch.waiting(mask), np.zeros(sets, np.bool_)
        if plan.alone:
            holds[:] = True
        elif len(waits) and (waits.any() or number == 1):
            sizes = np.bincount(batch.set_of[waits], minlength=sets)[mask :: batch.masks]
            sums = yield CountRare(
                plan, batch.variants[waits], sizes.astype(np.uint32), batch.counts_first[waits]
            )
            holds[mask :: batch.masks] = holds_without_any(plan, sums["capped"]).all(axis=1)
            others = people_without_any(plan, sums, null.people)
        batch = batch.placed(waits & holds[batch.set_of], mask, number)
    return batch, others


@procedure("gene-tests/sums")
def sum_sets(study: Study, batch: Batch, null: NullModel) -> Asks[None]:
    """Sum the columns of sets, and test these."""
    asked = SumSets(
        study.plan,
        batch.variants,
        np.array(batch.sizes, np.uint32),
        batch.counts_first,
        *null.fields,
        batch.column,
        batch.mean,
    )
    sums = yield asked
    yield rows_of(study.plan, batch, null, asked, sums)
