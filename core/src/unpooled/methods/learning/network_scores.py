"""Questions about how well a network does in the fold that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import Arrays, Foreseen, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.fitted.model import ranked
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.network_questions import OfNetwork, network_of
from unpooled.methods.learning.performance import (
    FRACTION_BITS,
    Scored,
    Sifted,
    Summed,
    widest_ranges,
)
from unpooled.methods.learning.reading import Examples, examples, of_rows
from unpooled.plan.plan import Plan

_FARTHEST = 1024.0
"""Limit at which a predicted number is cut off, in units of about the outcome's deviation."""


@dataclass(frozen=True, eq=False)
class OfNetworkScores(OfNetwork, Scored):
    """About the scores of the rows in the fold that is left out."""

    design: SumProducts
    scale: np.ndarray
    weights: np.ndarray
    held_out: int
    edges: np.ndarray
    sizes: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        design = SumProducts.widest(plan)
        scale, weights = np.zeros(design.columns - design.targets), np.zeros(network_of(plan, design).size)
        return Foreseen([cls(plan, design, scale, weights, 0, *cls.widest_of(design.targets))], exact=False)

    @classmethod
    def widest_of(cls, scores: int) -> tuple[np.ndarray, np.ndarray]:
        """Edges and sizes of as many ranges as there can be."""
        return widest_ranges(scores)

    def tested(self, found: Examples) -> tuple[Examples, np.ndarray]:
        places, scores = [np.zeros(0, np.int64)], [np.zeros((0, self.design.targets))]
        for _, rows, z in self.blocks(found):
            places.append(rows)
            scores.append(self.scores(found, rows, z))
        rows, all_scores = np.concatenate(places), np.concatenate(scores)
        some = replace(
            found,
            values=found.values[rows],
            classes=found.classes[rows],
            patients=of_rows(found.patients, rows),
            folds=found.folds[rows],
        )
        return some, all_scores if self.design.classes else self._in_units(all_scores)

    def _in_units(self, scores: np.ndarray) -> np.ndarray:
        """Standardised predictions in units of the files."""
        return np.asarray(np.ldexp(scores, int(self.design.exponent[-1])) + self.design.centre[-1])


@dataclass(frozen=True, eq=False)
class AverageNetworkScores(OfNetworkScores, name="network/average-scores", title="Average scores"):
    """Mean and spread of scores: of numbers standardised, of several classes log odds."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "sums",
            ("cells",),
            "farthest",
            "per score: the sum over the rows in the fold that is left out",
            "the mean of each score there",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "squares",
            ("cells",),
            "farthest",
            "per score: the sum of its squares there",
            "how far each score spreads there",
            fraction_bits=FRACTION_BITS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"cells": "score"}

    @classmethod
    def widest_of(cls, scores: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(0), np.ones(scores, np.int64)

    def local(self, table: Table) -> Arrays:
        found, scores = examples(table), [np.zeros((0, self.design.targets))]
        scores += [self.scores(found, rows, z) for _, rows, z in self.blocks(found)]
        odds = np.clip(ranked(np.concatenate(scores), self.link), -_FARTHEST, _FARTHEST)
        return {"sums": odds.sum(axis=0), "squares": (odds**2).sum(axis=0)}


@dataclass(frozen=True, eq=False)
class SiftNetworkScores(OfNetworkScores, Sifted, name="network/sift-scores", title="Sift scores"):
    """Sifts the scores of a network."""


@dataclass(frozen=True, eq=False)
class SumNetworkScores(OfNetworkScores, Summed, name="network/scores", title="Test the model"):
    """Tests a network."""
