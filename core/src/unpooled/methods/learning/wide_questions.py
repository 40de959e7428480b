"""Questions of a fit to very many columns: sums and projections instead of all products."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import Arrays, Condition, Foreseen, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.methods.learning.design import FRACTION_BITS, OfDesign, SumProducts, is_wide
from unpooled.methods.learning.options import MODEL_PENALTIES, MOST_DIRECTIONS, WIDE_PENALTIES
from unpooled.methods.learning.reading import Examples, examples
from unpooled.plan.plan import Plan

_FARTHEST = 1 << 12
"""Limit at which a residual is cut off, in units of about the outcome's deviation."""


def penalties_tried(plan: Plan) -> int:
    """Count the penalties that a fit tries."""
    return len(set(MODEL_PENALTIES.of(plan))) or WIDE_PENALTIES


class _OfWide(OfDesign):
    asked_if: ClassVar[Condition] = is_wide

    @property
    def folds(self) -> int:
        return self.design.folds

    @property
    def targets(self) -> int:
        return self.design.targets

    @property
    def columns(self) -> int:
        return self.design.columns

    @property
    def features(self) -> int:
        return self.columns - self.targets

    @property
    def most(self) -> int:
        return self.design.most

    def blocks(self, found: Examples) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The table by blocks of rows: the fold, the features, and the outcome in float64 (rows, targets)."""
        for fold, _, z in self.design.blocks(found):
            yield fold, np.ascontiguousarray(z[:, : self.features]), z[:, self.features :]


@dataclass(frozen=True, eq=False)
class SumWithOutcome(
    _OfWide, name="model/outcome-products", title="Sum products with the outcome", ring_bits=128
):
    """Sums and squares of all columns, and their products with the outcome, by fold."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "sums",
            ("folds", "columns"),
            "most",
            "per fold and column: the sum of its standardised values",
            "the mean of each column in each fold of the pool",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "squares",
            ("folds", "columns"),
            "most",
            "per fold and column: the sum of the squares of these",
            "the variance of each column in each fold of the pool",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "crossed",
            ("folds", "pairs"),
            "most",
            "per fold, column and outcome: the sum of their products",
            "the covariance of each column and the outcome in each fold of the pool",
            fraction_bits=FRACTION_BITS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"folds": "fold", "columns": "column", "pairs": "pair"}

    design: SumProducts

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        asked = [cls(SumProducts.widest(plan))] if is_wide(plan) else []
        return Foreseen(asked, exact=not plan.categories)

    @property
    def pairs(self) -> int:
        return self.columns * self.targets

    def local(self, table: Table) -> Arrays:
        sums, squares = np.zeros((2, self.folds, self.columns))
        crossed = np.zeros((self.folds, self.columns, self.targets))
        for fold, _, z in self.design.blocks(examples(table)):
            sums[fold] += z.sum(axis=0)
            squares[fold] += np.einsum("ij,ij->j", z, z)
            crossed[fold] += z.T @ z[:, self.features :]
        return {"sums": sums, "squares": squares, "crossed": crossed.reshape(self.folds, self.pairs)}


@dataclass(frozen=True, eq=False)
class ProjectColumns(_OfWide, name="model/projections", title="Project the columns", ring_bits=128):
    """Z'(Z p) for a direction p of each fit, Z the standardised features of the rows that it is fitted to.

    A direction has length 1: no product is beyond the number of rows times the root of that of columns.
    """

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "projections",
            ("fits", "features"),
            "bound",
            "per fit and column: the sum of the standardised values times the score in this round's "
            "direction",
            "one projection of the columns' covariances in the pool for each fit",
            fraction_bits=FRACTION_BITS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"fits": "fit", "features": "column"}

    design: SumProducts
    directions: np.ndarray
    """float64 (fits, features)"""
    without: np.ndarray
    """int64 (fits,): the fold that each leaves out; -1 for none"""
    iteration: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        if not is_wide(plan):
            return Foreseen([])
        design = SumProducts.widest(plan)
        without = np.repeat(np.arange(-1, design.folds), design.targets)
        directions = np.zeros((len(without), design.columns - design.targets))
        return Foreseen([cls(design, directions, without, 1)], MOST_DIRECTIONS, exact=False)

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return MOST_DIRECTIONS

    @property
    def fits(self) -> int:
        return len(self.without)

    @property
    def bound(self) -> int:
        return self.most * (math.isqrt(self.features) + 1)

    def local(self, table: Table) -> Arrays:
        found = np.zeros((self.fits, self.features))
        for fold, z, _ in self.blocks(examples(table)):
            of = np.flatnonzero(self.without != fold)
            found[of] += (z @ self.directions[of].T).T @ z
        return {"projections": found}


@dataclass(frozen=True, eq=False)
class SumResiduals(_OfWide, name="model/residuals", title="Test the penalties", ring_bits=128):
    """Asks for the squared errors of each penalty's models on the fold that they have not seen."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "residuals",
            ("cells",),
            "farthest",
            "per fold and penalty: the sum of the squared errors of what is predicted",
            "how well the models of each penalty do on rows that they have not seen",
            fraction_bits=FRACTION_BITS,
        ),
        Real(
            "predictions",
            ("classified",),
            "farthest",
            "per fold, penalty and outcome: the sum of the squares of what is predicted",
            "how much what they predict varies",
            fraction_bits=FRACTION_BITS,
        ),
    )
    each: ClassVar[dict[str, str]] = {"cells": "group", "classified": "group"}

    design: SumProducts
    weights: np.ndarray
    """float64 (folds, models, features, targets): of the standardised outcome"""
    intercepts: np.ndarray
    """float64 (folds, models, targets)"""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        if not is_wide(plan):
            return Foreseen([])
        design, models = SumProducts.widest(plan), penalties_tried(plan)
        shape = design.folds, models, design.columns - design.targets, design.targets
        intercepts = np.zeros((design.folds, models, design.targets))
        return Foreseen([cls(design, np.broadcast_to(0.0, shape), intercepts)], exact=False)

    @property
    def models(self) -> int:
        return int(self.intercepts.shape[1])

    @property
    def cells(self) -> int:
        return self.folds * self.models

    @property
    def classified(self) -> int:
        return self.cells * self.targets

    @property
    def farthest(self) -> int:
        return _FARTHEST**2 * self.targets * self.design.rows

    def local(self, table: Table) -> Arrays:
        residuals = np.zeros((self.folds, self.models))
        predictions = np.zeros((self.folds, self.models, self.targets))
        for fold, z, y in self.blocks(examples(table)):
            predicted = np.einsum("nm,lmt->nlt", z, self.weights[fold], optimize=True) + self.intercepts[fold]
            apart = np.clip(y[:, None, :] - predicted, -_FARTHEST, _FARTHEST)
            residuals[fold] += np.einsum("nlt,nlt->l", apart, apart)
            predictions[fold] += np.square(np.clip(predicted, -_FARTHEST, _FARTHEST)).sum(axis=0)
        return {"residuals": residuals.ravel(), "predictions": predictions.ravel()}
