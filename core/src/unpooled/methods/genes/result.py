"""The results of tests of sets of variants: scores and their covariance from sums, and rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.methods.genes.base import ALONE, Batch
from unpooled.methods.genes.options import BETA, MADSEN_BROWNING, OWN, OWN_BETA, SET_WEIGHTS, sets_of
from unpooled.methods.genes.questions import SumSets
from unpooled.methods.genes.tests import TESTS, neg_log10_p
from unpooled.methods.regression.null_model import NullModel
from unpooled.methods.shared.standardise import is_number
from unpooled.pages.page import Html, section, table, tag
from unpooled.plan.plan import Plan

TABLE = "genes"
"""A row per set of the plan. Columns:

index          its place among them
reason         why there is no result: NONE, FEW, TOO_MANY or NO_MODEL; TESTED if there is one
columns        variants that were summed one by one
collapsed      variants that were collapsed into a column beside these, or several
left_out       variants that too few people carry, even together, or that are collapsed in a set before
n              people
a1_freq        sum of the frequencies of the columns
beta, se       effect of the burden, per unit of the weighted sum; NaN without a result
neg_log10_p    (sets, tests)
"""

TESTED, NONE, FEW, TOO_MANY, NO_MODEL = range(5)
REASONS = ("", "NO_VARIANT", "FEW_CARRIERS", "TOO_MANY_VARIANTS", "NO_MODEL")


def without_result(index: np.ndarray, code: np.ndarray) -> Rows:
    """Rows of sets that are not tested."""
    nothing, none = np.zeros(len(index), np.int32), np.full(len(index), np.nan)
    return Rows(
        TABLE,
        {
            "index": index.astype(np.uint32),
            "reason": code.astype(np.uint8),
            "columns": nothing,
            "collapsed": nothing,
            "left_out": nothing,
            "n": nothing,
            "a1_freq": none,
            "beta": none,
            "se": none,
            "neg_log10_p": np.full((len(index), len(TESTS)), np.nan),
        },
    )


def rows_of(plan: Plan, batch: Batch, null: NullModel, asked: SumSets, sums: Arrays) -> Rows:
    """Test the sets of a question, from its sums."""
    sizes = np.array(asked.in_sets)
    tested = np.flatnonzero(sizes)
    ends, pairs = np.cumsum(sizes), np.cumsum(sizes * (sizes + 1) // 2)
    of_sets = np.array(batch.sizes)
    rare = np.bincount(batch.set_of[batch.column > ALONE], minlength=len(sizes))
    scale = null.columns.scales[-1] if is_number(plan) else 1.0
    burden, p = np.full((len(tested), 2), np.nan), np.full((len(tested), len(TESTS)), np.nan)
    frequency = np.zeros(len(tested))
    for row, k in enumerate(tested.tolist()):
        own = sums["sums"][ends[k] - sizes[k] : ends[k]]
        products = np.zeros((sizes[k], sizes[k]))
        upper = np.triu_indices(sizes[k])
        triangle = sums["products"][pairs[k] - len(upper[0]) : pairs[k]]
        products[upper] = products.T[upper] = triangle
        scores, covariance, varies = null.score_statistics(own[:, -1 - len(null.beta) :], products)
        scores, covariance = scores / null.variance, covariance / null.variance
        each = own[:, 0] / (2 * null.people)
        weights = weights_of(plan, each, batch, batch.stretches[k])
        p[row] = neg_log10_p(scores, covariance, weights, each)
        frequency[row] = each.sum()
        if not np.isnan(p[row, 0]):
            w = weights * varies
            information = w @ covariance @ w
            burden[row] = w @ scores / information * scale, scale / np.sqrt(information)
    return Rows(
        TABLE,
        {
            "index": (batch.first + tested).astype(np.uint32),
            "reason": np.zeros(len(tested), np.uint8),
            "columns": (of_sets - rare)[tested].astype(np.int32),
            "collapsed": rare[tested].astype(np.int32),
            "left_out": np.array(batch.left_out)[tested].astype(np.int32),
            "n": np.full(len(tested), null.people, np.int32),
            "a1_freq": frequency,
            "beta": burden[:, 0],
            "se": burden[:, 1],
            "neg_log10_p": p,
        },
    )


def weights_of(plan: Plan, frequency: np.ndarray, batch: Batch, some: slice) -> np.ndarray:
    """The weight of each column of a set, float64 (m,), by its frequency and the weights of its variants."""
    chosen = SET_WEIGHTS.of(plan)
    found = np.ones(len(frequency))
    if chosen in (BETA, OWN_BETA):
        found = 25 * (1 - frequency) ** 24
    if chosen == MADSEN_BROWNING:
        found = 1 / np.sqrt(frequency * (1 - frequency))
    if chosen in (OWN, OWN_BETA):
        found = found * own_weights(batch.column[some], batch.own[some], batch.mean[some])
    return np.asarray(found)


def own_weights(column: np.ndarray, own: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The own weight of each column of a set, (m,): of collapsed variants the mean of theirs by copies.

    Not the most of weight times copies, as in regenie: a weight that is much larger than the others would let
    the column tell of few carriers.
    """
    collapsed = (column == number for number in np.unique(column[column > ALONE]))
    each = [np.average(own[inside], weights=mean[inside]) for inside in collapsed]
    return np.append(own[column == ALONE], each)


_SHOWN = 20


def shown(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """Show the sets of the least P, as a part of the report."""
    found = tables[TABLE]
    p = found["neg_log10_p"][:]
    of_skato = p[:, TESTS.index("ADD-SKATO")]
    order = np.argsort(-np.nan_to_num(of_skato, nan=-1.0), kind="stable")[:_SHOWN]
    sets = sets_of(plan)
    rows = [
        [sets[index].title, f"{columns + collapsed:,}", *(f"{10.0**-value:.3g}" for value in p[k].tolist())]
        for k, index, columns, collapsed in zip(
            order.tolist(),
            *(found[name][:][order].tolist() for name in ("index", "columns", "collapsed")),
            strict=True,
        )
        if not found["reason"][k]
    ]
    without = int(np.count_nonzero(found["reason"][:]))
    told = f"{len(p):,} sets; {without:,} have no result, and the file says why."
    heads = ("Set", "Variants", "Burden", "SKAT", "SKAT-O", "ACAT-V")
    listed = table("P values of the sets with the least of SKAT-O", heads, rows, numbers=range(1, 6))
    return section("Sets of variants", tag("p", told), listed)
