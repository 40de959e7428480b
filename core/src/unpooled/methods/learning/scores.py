"""Questions of a study of models about its scores: counts by range of score, over rows that a model has not
seen.

Each row is scored by the model that was fitted without the row's fold. Which ranges enough people are in is
compared first; what is then counted is about ranges joined so that each has that many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Count, Foreseen, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.fitted.model import NUMBER, SOFTMAX, has_probabilities, probabilities, ranked
from unpooled.methods.learning.models import link_of
from unpooled.methods.learning.questions import OfDesign, SumProducts, examples
from unpooled.methods.learning.reading import Examples, people_in
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

MOST_RANGES = 256
"""Largest number of ranges of a score."""
_FARTHEST = 1 << 20
"""Limit at which a predicted number is cut off, in units of about the outcome's deviation: models may fail.
"""
_FRACTION_BITS = 60


@dataclass(frozen=True, eq=False)
class OfScores(OfDesign):
    """About the scores of rows that a model has not seen."""

    each: ClassVar[dict[str, str]] = {"cells": "range", "classified": "range", "predicted": "range"}
    ring_bits: ClassVar[int] = 128

    design: SumProducts
    """Design that turns a row into columns: the question whose sums the models were fitted to."""
    link: str
    """Kind of score, as named in the model file."""
    weights: np.ndarray
    """float64 (folds, columns before the outcome, scores): of the model that was fitted without a fold"""
    intercepts: np.ndarray
    """float64 (folds, scores)"""
    edges: np.ndarray
    """float64 (edges of all scores,): the ends of ranges, each but the last of a score"""
    sizes: np.ndarray
    """int64 (scores,): into how many ranges each score is split"""

    @classmethod
    def widest(cls, plan: Plan) -> dict[str, object]:
        """The fields of a question about as many columns and ranges as there can be."""
        design = SumProducts.widest(plan)
        scores, columns = design.targets, design.columns - design.targets
        ranges = np.arange(1, MOST_RANGES, dtype=float)
        return {
            "design": design,
            "link": link_of(plan),
            "weights": np.zeros((design.folds, columns, scores)),
            "intercepts": np.zeros((design.folds, scores)),
            "edges": np.tile(ranges, scores),
            "sizes": np.full(scores, MOST_RANGES, np.int64),
        }

    @property
    def cells(self) -> int:
        return int(self.sizes.sum())

    @property
    def edges_of(self) -> list[np.ndarray]:
        """The edges of each score."""
        return np.split(self.edges, np.cumsum(self.sizes - 1)[:-1])

    def scored(self, found: Examples) -> np.ndarray:
        """The scores of each row, float64 (n, scores), by the model that has not seen its fold."""
        scores = np.empty((len(found.values), self.design.targets))
        for fold, rows, z in self.design.blocks(found):
            scores[rows] = z[:, : self.weights.shape[1]] @ self.weights[fold] + self.intercepts[fold]
        return scores

    def ranges(self, scores: np.ndarray) -> np.ndarray:
        """The cell of each row's score: int64 (n, scores)."""
        first = np.cumsum(self.sizes) - self.sizes
        of = [
            np.searchsorted(edges, score, side="right")
            for edges, score in zip(self.edges_of, ranked(scores, self.link).T, strict=True)
        ]
        return np.asarray(np.column_stack(of) + first)


@dataclass(frozen=True, eq=False)
class AverageScores(OfScores):
    """Mean and spread of log odds that are no sum of columns, so that they do not follow from other sums."""

    name: ClassVar[str] = "model/average-scores"
    title: ClassVar[str] = "Average scores"
    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "sums",
            ("cells",),
            "farthest",
            _FRACTION_BITS,
            "per class: the sum of its log odds",
            "the mean log odds of each class",
        ),
        Real(
            "squares",
            ("cells",),
            "farthest",
            _FRACTION_BITS,
            "per class: the sum of their squares",
            "how far the log odds of each class spread",
        ),
    )
    each: ClassVar[dict[str, str]] = {"cells": "score"}
    asked_if: ClassVar[Condition] = lambda plan: link_of(plan) == SOFTMAX

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        scores = SumProducts.widest(plan).targets
        fields = {**cls.widest(plan), "edges": np.zeros(0), "sizes": np.ones(scores, np.int64)}
        return Foreseen([cls(**fields)] if link_of(plan) == SOFTMAX else (), exact=False)  # type: ignore[arg-type]

    @property
    def farthest(self) -> int:
        return MOST_PEOPLE * _FARTHEST

    def local(self, table: Table) -> Arrays:
        odds = ranked(self.scored(examples(table)), self.link)
        return {"sums": odds.sum(axis=0), "squares": (odds**2).sum(axis=0)}


@dataclass(frozen=True, eq=False)
class SiftScores(OfScores):
    """Asks which ranges of a score hold enough people; nobody reads how many."""

    name: ClassVar[str] = "model/sift-scores"
    title: ClassVar[str] = "Sift scores"
    sends: ClassVar[tuple[Sent, ...]] = (
        Count("people", ("cells",), MOST_PEOPLE, "per range of a score: number of people in it", UNREAD),
    )
    opens: ClassVar[Bits] = Bits(
        "enough",
        ("cells",),
        "at-least",
        f"which ranges of a score {FEWEST_AT_A_LEVEL} people are in; of none how many",
    )

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(**cls.widest(plan))], exact=False)  # type: ignore[arg-type]

    def thresholds(self) -> Arrays:
        return {"people": np.full(self.cells, FEWEST_AT_A_LEVEL)}

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        cells = self.ranges(self.scored(found))
        people = [people_in(cell, found.patients, self.cells) for cell in cells.T]
        return {"people": np.sum(people, axis=0)}


@dataclass(frozen=True, eq=False)
class SumScores(OfScores):
    """Asks for the outcomes of the rows in each range of a score."""

    name: ClassVar[str] = "model/scores"
    title: ClassVar[str] = "Test the model"
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
            _FRACTION_BITS,
            "per range of a score: the sum of the predicted probabilities of that class",
            "how many of these the model expects to be of that class",
        ),
        Real(
            "squares",
            ("is_likely",),
            2 * MOST_PEOPLE,
            _FRACTION_BITS,
            "the sum of (p - y)^2 over rows and classes, p the predicted probability and y 1 or 0",
            "how far predicted probabilities are from what became true",
        ),
        Real(
            "predictions",
            ("predicted",),
            "farthest",
            _FRACTION_BITS,
            "per range of a prediction: the sum of the standardised predictions",
            "the mean prediction in each range",
        ),
        Real(
            "outcomes",
            ("predicted",),
            "farthest",
            _FRACTION_BITS,
            "per range of a prediction: the sum of the standardised outcomes",
            "the mean outcome in each range",
        ),
    )

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Only what the plan's kind of score has."""
        link = link_of(plan)
        own = {"rows", *(("predictions", "outcomes") if link == NUMBER else ("cases",))}
        own |= {"expected", "squares"} if has_probabilities(link) else set()
        return tuple(array for array in cls.sends if array.name in own)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(**cls.widest(plan))], exact=False)  # type: ignore[arg-type]

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

    @property
    def farthest(self) -> int:
        return MOST_PEOPLE * _FARTHEST

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        scores = self.scored(found)
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
