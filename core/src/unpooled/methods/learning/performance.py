"""Performance of a model on rows that it has not seen, from masked counts by range of score.

    AUC        the share of pairs of a case and another row in which the case has the higher score. Of pairs
               in different ranges that is known; of those in one range none, half or all may be so
    Brier      the mean of (p - y)^2, p the predicted probability and y 1 or 0; over several classes summed
    expected   beside what was seen in each range: the calibration

Ranges are equally likely ones of a normal distribution with the scores' mean and variance, which follow from
the sums that the models were fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unpooled.asking.procedure import Asks, Finish, Go, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.fitted.model import SOFTMAX
from unpooled.kernels.fixed_order import normal_quantile, product, settled, total
from unpooled.methods.learning.models import Path, link_of
from unpooled.methods.learning.pool import Folds
from unpooled.methods.learning.questions import SumProducts
from unpooled.methods.learning.scores import MOST_RANGES, AverageScores, SiftScores, SumScores

PERFORMANCE, RANGES = "performance", "ranges"
"""The result tables: of each score, and of each of its ranges."""

_ROWS_A_RANGE = 20
_GRID_BITS = 36
"""Weights and edges are whole numbers of 2^-36 of the outcome's unit: no last bit shows in them."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The models of the chosen penalty, each fitted without a fold, on the columns that were asked for."""

    weights: np.ndarray
    """float64 (folds, columns before the outcome, scores)"""
    intercepts: np.ndarray
    """float64 (folds, scores)"""

    @classmethod
    def of(cls, folds: Folds, path: Path, rows: np.ndarray, step: float) -> HeldOut:
        """`rows`, int64 (all folds,): those of an empty fold have no model."""
        w, b = path.held_out
        m, some = w.shape[1], rows > 0
        weights, intercepts = np.zeros((len(rows), *w.shape[1:])), np.zeros((len(rows), b.shape[1]))
        shift, scale = folds.standard.shift[:m], folds.standard.scale[:m]
        weights[some] = w * scale[:, None]
        intercepts[some] = folds.origin + b - product(shift * scale, np.swapaxes(w, 0, 1))
        return cls(settled(weights, step), settled(intercepts, step))


def grid(design: SumProducts) -> float:
    """The step on which weights and edges lie."""
    return math.ldexp(1.0, (0 if design.classes else int(design.exponent[-1])) - _GRID_BITS)


def edges(mean: np.ndarray, deviation: np.ndarray, rows: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the ranges of the scores, given mean and deviation of each, and the number of ranges
    of each.
    """
    ranges = int(np.clip(rows // _ROWS_A_RANGE, 2, MOST_RANGES))
    normal = normal_quantile(np.arange(1, ranges) / ranges)
    found = [np.unique(settled(m + s * normal, step)) for m, s in zip(mean, deviation, strict=True)]
    return np.concatenate(found), np.array([len(each) + 1 for each in found], np.int64)


def _moments(folds: Folds, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each score over all rows, each scored without its fold: float64 (scores,)."""
    sums, squares, n = np.zeros(path.held_out[1].shape[1]), 0.0, 0.0
    for fold, w, b in zip(folds.folds, *path.held_out, strict=True):
        m = len(w)
        own = product(fold.sums[:m], w)
        sums += fold.rows * b + own
        of_products = total(w * product(fold.products[:m, :m], w), 0)
        squares = squares + fold.rows * b**2 + 2 * b * own + of_products
        n += fold.rows
    mean = sums / n
    return folds.origin + mean, np.sqrt(np.maximum(squares / n - mean**2, 0))


def measure_path(
    study: Study,
    question: SumProducts,
    folds: Folds,
    path: Path,
    rows: np.ndarray,
    of_scores: tuple[np.ndarray, np.ndarray] | None = None,
) -> Asks[None]:
    """Go on by testing the chosen penalty on what its models have not seen.

    `of_scores` are mean and deviation of each score, float64 (scores,); not needed of folds with products.
    """
    held_out, n = HeldOut.of(folds, path, rows, grid(question)), int(rows.sum(dtype=int))
    weights, intercepts = held_out.weights, held_out.intercepts
    if link_of(study.plan) == SOFTMAX:
        yield from Go(measure_odds(study, question, weights, intercepts, n))
    ends = edges(*(of_scores or _moments(folds, path)), n, grid(question))
    yield from Go(measure(study, question, weights, intercepts, *ends))


@procedure("model/measure-odds")
def measure_odds(
    study: Study, design: SumProducts, weights: np.ndarray, intercepts: np.ndarray, rows: int
) -> Asks[None]:
    """Ask for mean and spread of log odds; then as for other scores."""
    scores = weights.shape[2]
    about = design, SOFTMAX, weights, intercepts, np.zeros(0), np.ones(scores, np.int64)
    sums = yield AverageScores(*about)
    mean = sums["sums"] / rows
    deviation = np.sqrt(np.maximum(sums["squares"] / rows - mean**2, 0))
    yield from Go(measure(study, design, weights, intercepts, *edges(mean, deviation, rows, grid(design))))


@procedure("model/measure")
def measure(
    study: Study,
    design: SumProducts,
    weights: np.ndarray,
    intercepts: np.ndarray,
    ends: np.ndarray,
    sizes: np.ndarray,
) -> Asks[None]:
    """Join ranges of a score so that none is of few people; then count the rows in each."""
    fields = design, link_of(study.plan), weights, intercepts
    if not study.plan.alone:
        sifted = SiftScores(*fields, ends, sizes)
        ends, sizes = joined(sifted, (yield sifted)["enough"])
    yield Finish(report_scores(study, SumScores(*fields, ends, sizes)))


@procedure("model/report-scores")
def report_scores(study: Study, question: SumScores) -> Asks[None]:
    """Count rows by range of score, and report how well the models do."""
    sums = yield question
    yield from _report(question, sums)


def joined(question: SiftScores, enough: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges and sizes of ranges of which each has enough people: those that do not join their neighbours."""
    found = []
    of = np.split(enough, np.cumsum(question.sizes)[:-1])
    for ends, is_enough in zip(question.edges_of, of, strict=True):
        # Each range that has enough begins a new one, and those between go with the one before.
        found.append(ends[np.flatnonzero(is_enough)[1:] - 1])
    return np.concatenate(found), np.array([len(each) + 1 for each in found], np.int64)


def _report(question: SumScores, sums: Arrays) -> Iterator[Rows]:
    scores = np.repeat(np.arange(len(question.sizes)), question.sizes)
    yield Rows(RANGES, {"index": np.arange(question.cells), "score": scores, **_of_ranges(question, sums)})
    if not question.design.classes:
        return
    found = [
        auc(sums["cases"][scores == k], (sums["rows"] - sums["cases"])[scores == k])
        for k in range(len(question.sizes))
    ]
    least, point, most = np.array(found).T
    n = sums["rows"][scores == 0].sum()
    columns = {"index": np.arange(len(found)), "auc": point, "auc_low": least, "auc_high": most}
    brier = np.full(len(found), sums["squares"][0] / n if question.is_likely else np.nan)
    yield Rows(PERFORMANCE, {**columns, "brier": brier})


def _of_ranges(question: SumScores, sums: Arrays) -> Arrays:
    """Return the values reported for each range, in units of the files; NaN for what is not asked."""
    unknown = np.full(question.cells, np.nan)
    if question.design.classes:
        expected = sums["expected"] if question.likely else unknown
        return {"rows": sums["rows"], "observed": sums["cases"].astype(float), "expected": expected}
    centre, exponent = question.design.centre[-1], int(question.design.exponent[-1])
    expected, observed = (
        np.ldexp(sums[array], exponent) + sums["rows"] * centre for array in ("predictions", "outcomes")
    )
    return {"rows": sums["rows"], "observed": observed, "expected": expected}


def auc(cases: np.ndarray, others: np.ndarray) -> tuple[float, float, float]:
    """The least that the AUC may be, what it is if ties count half, and the most; from counts by range."""
    pairs = float(cases.sum()) * float(others.sum())
    if not pairs:
        return np.nan, np.nan, np.nan
    below = np.cumsum(others) - others
    apart, within = float(cases @ below.astype(float)), float(cases.astype(float) @ others)
    return apart / pairs, (apart + within / 2) / pairs, (apart + within) / pairs
