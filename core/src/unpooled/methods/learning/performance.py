"""Performance of a model on rows that it has not seen, from masked counts by range of score.

    AUC        the share of pairs of a case and another row in which the case has the higher score. Of pairs
               in different ranges that is known; of those in one range none, half or all may be so
    Brier      the mean of (p - y)^2, p the predicted probability and y 1 or 0; over several classes summed
    expected   beside what was seen in each range: the calibration

Ranges are equally likely ones of a normal distribution with the scores' mean and variance, which follow from
the sums that the models were fitted to. Each row is scored by the model that was fitted without the row's
fold. Which ranges enough people are in is compared first; what is then counted is about ranges joined so that
each has that many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Finish, Go, Rows, Study, procedure
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Count, Foreseen, Real, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.fitted.model import NUMBER, SOFTMAX, has_probabilities, probabilities, ranked
from unpooled.kernels.fixed_order import normal_quantile, product, settled, total
from unpooled.methods.learning.design import OfDesign, SumProducts
from unpooled.methods.learning.models import Path, link_of
from unpooled.methods.learning.pool import Folds
from unpooled.methods.learning.reading import Examples, examples, people_in
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

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
        # To columns as they were asked for, so that cohorts can score rows with what they have.
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
    # Of fewer rows a range says nothing, and its people would be too few to be read.
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
    about = study.plan, design, weights, intercepts, np.zeros(0), np.ones(scores, np.int64)
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
    fields = study.plan, design, weights, intercepts
    if not study.plan.alone:
        sifted = SiftScores(*fields, ends, sizes)
        ends, sizes = joined(sifted, (yield sifted)["enough"])
    yield Finish(report_scores(study, SumScores(*fields, ends, sizes)))


@procedure("model/report-scores")
def report_scores(study: Study, question: SumScores) -> Asks[None]:
    """Count rows by range of score, and report how well the models do."""
    sums = yield question
    yield from report_ranges(question, sums)


def joined(question: Sifted, enough: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges and sizes of ranges of which each has enough people: those that do not join their neighbours."""
    found = []
    of = np.split(enough, np.cumsum(question.sizes)[:-1])
    for ends, is_enough in zip(question.edges_of, of, strict=True):
        # Each range that has enough begins a new one, and those between go with the one before.
        found.append(ends[np.flatnonzero(is_enough)[1:] - 1])
    return np.concatenate(found), np.array([len(each) + 1 for each in found], np.int64)


def report_ranges(question: Summed, sums: Arrays) -> Iterator[Rows]:
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


def _of_ranges(question: Summed, sums: Arrays) -> Arrays:
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


# Questions

MOST_RANGES = 256
"""Largest number of ranges of a score."""
_FARTHEST = 1 << 20
"""Limit at which a predicted number is cut off, in units of about the outcome's deviation: models may fail.
"""
FRACTION_BITS = 60


class Scored(OfDesign, UnderPlan, ring_bits=128):
    """About the scores of rows that a model has not seen, and their ranges."""

    each: ClassVar[dict[str, str]] = {"cells": "range", "classified": "range", "predicted": "range"}
    farthest: ClassVar[int] = MOST_PEOPLE * _FARTHEST
    """Largest sum of scores, which are cut off."""

    edges: np.ndarray
    """float64 (edges of all scores,): the ends of ranges, each but the last of a score"""
    sizes: np.ndarray
    """int64 (scores,): into how many ranges each score is split"""

    @property
    def link(self) -> str:
        """Kind of score, as named in the model file."""
        return link_of(self.plan)

    def tested(self, found: Examples) -> tuple[Examples, np.ndarray]:
        """The rows that are tested, and their scores, float64 (n, scores)."""
        raise NotImplementedError

    @property
    def cells(self) -> int:
        return int(self.sizes.sum())

    @property
    def edges_of(self) -> list[np.ndarray]:
        """The edges of each score."""
        return np.split(self.edges, np.cumsum(self.sizes - 1)[:-1])

    def ranges(self, scores: np.ndarray) -> np.ndarray:
        """The cell of each row's score: int64 (n, scores)."""
        first = np.cumsum(self.sizes) - self.sizes
        of = [
            np.searchsorted(edges, score, side="right")
            for edges, score in zip(self.edges_of, ranked(scores, self.link).T, strict=True)
        ]
        return np.asarray(np.column_stack(of) + first)


def widest_ranges(scores: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges and sizes of as many ranges as there can be."""
    ranges = np.arange(1, MOST_RANGES, dtype=float)
    return np.tile(ranges, scores), np.full(scores, MOST_RANGES, np.int64)


@dataclass(frozen=True, eq=False)
class OfScores(Scored):
    """About the scores of models that are fitted from products or by a likelihood."""

    design: SumProducts
    """Design that turns a row into columns: the question whose sums the models were fitted to."""
    weights: np.ndarray
    """float64 (folds, columns before the outcome, scores): of the model that was fitted without a fold"""
    intercepts: np.ndarray
    """float64 (folds, scores)"""
    edges: np.ndarray
    sizes: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(**cls.widest(plan))], exact=False)  # type: ignore[arg-type]

    @classmethod
    def widest(cls, plan: Plan) -> dict[str, object]:
        """The fields of a question about as many columns and ranges as there can be."""
        design = SumProducts.widest(plan)
        scores, columns = design.targets, design.columns - design.targets
        edges, sizes = widest_ranges(scores)
        return {
            "plan": plan,
            "design": design,
            "weights": np.zeros((design.folds, columns, scores)),
            "intercepts": np.zeros((design.folds, scores)),
            "edges": edges,
            "sizes": sizes,
        }

    def tested(self, found: Examples) -> tuple[Examples, np.ndarray]:
        """All rows, each scored by the model that has not seen its fold."""
        scores = np.empty((len(found.values), self.design.targets))
        for fold, rows, z in self.design.blocks(found):
            scores[rows] = z[:, : self.weights.shape[1]] @ self.weights[fold] + self.intercepts[fold]
        return found, scores


@dataclass(frozen=True, eq=False)
class AverageScores(OfScores, name="model/average-scores", title="Average scores"):
    """Mean and spread of log odds that are no sum of columns, so that they do not follow from other sums."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "sums",
            ("cells",),
            "farthest",
            "per class: the sum of its log odds",
            "the mean log odds of each class",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "squares",
            ("cells",),
            "farthest",
            "per class: the sum of their squares",
            "how far the log odds of each class spread",
            fraction_bits=FRACTION_BITS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"cells": "score"}
    asked_if: ClassVar[Condition] = lambda plan: link_of(plan) == SOFTMAX

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        scores = SumProducts.widest(plan).targets
        fields = {**cls.widest(plan), "edges": np.zeros(0), "sizes": np.ones(scores, np.int64)}
        return Foreseen([cls(**fields)] if link_of(plan) == SOFTMAX else (), exact=False)  # type: ignore[arg-type]

    def local(self, table: Table) -> Arrays:
        _, scores = self.tested(examples(table))
        odds = ranked(scores, self.link)
        return {"sums": odds.sum(axis=0), "squares": (odds**2).sum(axis=0)}


class Sifted(Scored):
    """Asks which ranges of a score hold enough people; nobody reads how many."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Count("people", ("cells",), MOST_PEOPLE, "per range of a score: number of people in it", UNREAD),
    )
    opens: ClassVar[Bits] = Bits(
        "enough",
        ("cells",),
        "at-least",
        f"which ranges of a score {FEWEST_AT_A_LEVEL} people are in; of none how many",
    )

    def thresholds(self) -> Arrays:
        return {"people": np.full(self.cells, FEWEST_AT_A_LEVEL)}

    def local(self, table: Table) -> Arrays:
        found, scores = self.tested(examples(table))
        cells = self.ranges(scores)
        people = [people_in(cell, found.patients, self.cells) for cell in cells.T]
        return {"people": np.sum(people, axis=0)}


@dataclass(frozen=True, eq=False)
class SiftScores(OfScores, Sifted, name="model/sift-scores", title="Sift scores"):
    """Sifts the scores of models that are fitted from products or by a likelihood."""


class Summed(Scored):
    """Asks for the outcomes of the rows in each range of a score."""

    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Sent, ...]] = (
        Count(
            "rows",
            ("cells",),
            MOST_PEOPLE,
            "per range of a score: number of rows",
            "how many rows of the pool are in each range of a score",
        ),
        Count(
            "cases",
            ("classified",),
            MOST_PEOPLE,
            "per range of a score: number of rows of the class that the score is of",
            "how many of these are of the class that the score is of",
        ),
        Real(
            "expected",
            ("likely",),
            MOST_PEOPLE,
            "per range of a score: the sum of the predicted probabilities of that class",
            "how many of these the model expects to be of that class",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "squares",
            ("is_likely",),
            2 * MOST_PEOPLE,
            "the sum of (p - y)^2 over rows and classes, p the predicted probability and y 1 or 0",
            "how far predicted probabilities are from what came true",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "predictions",
            ("predicted",),
            "farthest",
            "per range of a prediction: the sum of the standardised predictions",
            "the mean prediction in each range",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "outcomes",
            ("predicted",),
            "farthest",
            "per range of a prediction: the sum of the standardised outcomes",
            "the mean outcome in each range",
            fraction_bits=FRACTION_BITS,
        ),
    )

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Only what the plan's kind of score has."""
        link = link_of(plan)
        own = {"rows", *(("predictions", "outcomes") if link == NUMBER else ("cases",))}
        own |= {"expected", "squares"} if has_probabilities(link) else set()
        return tuple(array for array in cls.sends if array.name in own)

    @property
    def classified(self) -> int:
        return self.cells if self.design.classes else 0

    @property
    def likely(self) -> int:
        return self.cells if has_probabilities(self.link) else 0

    @property
    def is_likely(self) -> int:
        return int(has_probabilities(self.link))

    @property
    def predicted(self) -> int:
        return 0 if self.design.classes else self.cells

    def local(self, table: Table) -> Arrays:
        found, scores = self.tested(examples(table))
        cells = self.ranges(scores)
        nothing = {"cases": np.zeros(0, np.int64), "expected": np.zeros(0), "squares": np.zeros(0)}
        nothing |= {"predictions": np.zeros(0), "outcomes": np.zeros(0)}
        counts = np.bincount(cells.ravel(), minlength=self.cells)
        of = self._of_classes if self.design.classes else self._of_number
        return {**nothing, "rows": counts, **of(found, scores, cells)}

    def _of_classes(self, found: Examples, scores: np.ndarray, cells: np.ndarray) -> Arrays:
        classes = np.arange(self.design.classes - self.design.targets, self.design.classes)
        is_case = found.classes[:, None] == classes
        sums = {"cases": np.bincount(cells[is_case], minlength=self.cells)}
        if self.likely:
            p = probabilities(scores, self.link)
            of_score = p[:, -self.design.targets :]
            sums["expected"] = np.bincount(cells.ravel(), of_score.ravel(), self.cells)
            sums["squares"] = np.array([np.sum((of_score - is_case) ** 2)])
        return sums

    def _of_number(self, found: Examples, scores: np.ndarray, cells: np.ndarray) -> Arrays:
        centre, exponent = self.design.centre[-1], int(self.design.exponent[-1])
        outcome = found.values[:, [self.design.outcome]]
        both = (
            np.clip(np.ldexp(numbers - centre, -exponent), -_FARTHEST, _FARTHEST)
            for numbers in (scores, outcome)
        )
        predictions, outcomes = (np.bincount(cells.ravel(), each.ravel(), self.cells) for each in both)
        return {"predictions": predictions, "outcomes": outcomes}


@dataclass(frozen=True, eq=False)
class SumScores(OfScores, Summed, name="model/scores", title="Test the model"):
    """Tests models that are fitted from products or by a likelihood."""
