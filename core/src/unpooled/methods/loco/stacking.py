"""Stacking: the predictions of all blocks are combined by a second ridge regression.

With W the predictions of all blocks, each about its mean and in its deviation, and y as before,

    stack         W'W, W'y
    errors        squared errors of W (W'W + k I)⁻¹ W'y of people left out, for some k
    keep          has each cohort keep its people's predictions from all blocks, and from all chromosomes but
                  each
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, derived
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Foreseen, Question, Real, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.kernels.fixed_order import pairs, square
from unpooled.methods.loco.questions import (
    MOST_BLOCKS,
    MOST_OF_ONE,
    SHARES,
    Residual,
    Ridge,
    SumColumns,
    name_of_block,
    shifts_of,
    sums_of,
)
from unpooled.methods.loco.views import PREDICTIONS
from unpooled.methods.shared.chunks import foreseen_autosomal
from unpooled.plan.plan import Plan

STACKED_SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Shares of variance of which the best combines the predictions of the blocks."""


def stack(
    study: Study, residual: Residual, known: np.ndarray, chromosomes: np.ndarray
) -> Asks[tuple[float, np.ndarray]]:
    """Combine the predictions of all blocks, whose sums and squares are `known`: float64 (predictions, 2).

    Gives the share of the variance that they explain, and the sums of what cohorts keep.
    """
    people = residual.design.people
    mean = known[:, 0] / people
    squares = known[:, 1] / people - mean * mean
    varies = squares > 0
    scale = np.where(varies, 1 / np.sqrt(np.where(varies, squares, 1.0)), 0.0)
    about = study.plan, mean, scale, residual
    sums = yield SumPredictions(*about)
    shifts = shifts_of(STACKED_SHARES, len(mean))
    ridge = *about, sums["products"], sums["with_phenotype"]
    errors = (yield SumErrors(*ridge, shifts))["squares"]
    best = int(np.argmin(errors))
    kept = (yield KeepPredictions(*ridge, float(shifts[best]), chromosomes))["sums"]
    return float(1 - errors[best] / people), kept


class _OfPredictions(UnderPlan):
    """About the predictions of all blocks, each about its mean and in its deviation."""

    mean: np.ndarray
    """float64 (w,): of the w predictions, block after block"""
    scale: np.ndarray
    """float64 (w,): 1 / deviation"""
    residual: Residual

    @property
    def count(self) -> int:
        return len(self.mean)

    @property
    def _blocks(self) -> tuple[str, ...]:
        return tuple(name_of_block(block) for block in range(self.count // len(SHARES)))

    @property
    def uses(self) -> tuple[str, ...]:
        return self._blocks

    @property
    def people(self) -> int:
        return self.residual.design.people

    def values(self, cohort: Cohort) -> tuple[np.ndarray, np.ndarray]:
        """The predictions, float64 (n, w), and the phenotype's residual, (n,)."""
        columns, y = self.residual.in_cohort(cohort)
        w = np.concatenate([derived(cohort, name) for name in self._blocks], axis=1)
        return np.asarray((w - self.mean) * self.scale * columns[:, :1]), y

    @classmethod
    def none(cls, plan: Plan) -> Residual:
        return Residual(SumColumns.none(plan), np.zeros(0), 1.0)


@dataclass(frozen=True, eq=False)
class SumPredictions(_OfPredictions, name="loco/stack", title="Sum the predictions", ring_bits=64):
    """Sums of products of the predictions of all blocks, and of these with the phenotype."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "products",
            ("pairs",),
            "bound",
            "per pair of predictions: sum of their product",
            "how the predictions of the blocks go together in the pool",
        ),
        Real(
            "with_phenotype",
            ("count",),
            "bound",
            "per prediction: sum of it times the phenotype",
            "how well each block predicts the phenotype in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"pairs": "pair of predictions", "count": "prediction"}

    mean: np.ndarray
    scale: np.ndarray
    residual: Residual

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        chunks = foreseen_autosomal(plan, sizes)
        if chunks is None:
            return None
        blocks = min(MOST_BLOCKS, sum(chunk.variants for chunk in chunks))
        most = np.zeros(blocks * len(SHARES))
        return Foreseen([cls(plan, most, most, cls.none(plan))], exact=False)

    @property
    def pairs(self) -> int:
        return self.count * (self.count + 1) // 2

    @property
    def bound(self) -> int:
        return 2 * self.people

    def local(self, cohort: Cohort) -> Arrays:
        w, y = self.values(cohort)
        return {"products": (w.T @ w)[pairs(self.count)], "with_phenotype": w.T @ y}


class _OfStack(_OfPredictions):
    """About the ridge regression on the predictions of all blocks."""

    products: np.ndarray
    """float64 (pairs,): upper triangle of W'W"""
    with_y: np.ndarray
    """float64 (w,): W'y"""


@dataclass(frozen=True, eq=False)
class SumErrors(_OfStack, name="loco/errors", title="Test the predictions", ring_bits=64):
    """Sums of squared errors of whoever is left out, for some penalties."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "squares",
            ("penalties",),
            "bound",
            "per penalty: sum of the squared errors of predictions",
            "how well the pool predicts people that were left out",
        ),
    )
    each: ClassVar[dict[str, str]] = {"penalties": "trial"}

    mean: np.ndarray
    scale: np.ndarray
    residual: Residual
    products: np.ndarray
    with_y: np.ndarray
    shifts: np.ndarray
    """float64 (penalties,)"""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        none, shifts = np.zeros(0), np.ones(len(STACKED_SHARES))
        return Foreseen([cls(plan, none, none, cls.none(plan), none, none, shifts)])

    @property
    def penalties(self) -> int:
        return len(self.shifts)

    @property
    def bound(self) -> int:
        return MOST_OF_ONE * self.people

    def local(self, cohort: Cohort) -> Arrays:
        error = Ridge(self.products, self.with_y, self.shifts).errors(*self.values(cohort))
        return {"squares": np.einsum("np,np->p", error, error)}


@dataclass(frozen=True, eq=False)
class KeepPredictions(_OfStack, name="loco/keep", title="Keep the people's predictions", ring_bits=64):
    """Have each cohort keep its people's predictions: covariates of what is asked after this."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("count_of_kept", 2),
            "bound",
            "per chromosome: sums of the predictions without it, and of their squares",
            "how far the predictions vary in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"count_of_kept": "chromosome"}

    mean: np.ndarray
    scale: np.ndarray
    residual: Residual
    products: np.ndarray
    with_y: np.ndarray
    shift: float
    chromosomes: np.ndarray
    """uint8 (blocks,): the autosome of each block"""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        none = np.zeros(0)
        about = plan, none, none, cls.none(plan), none, none, 1.0
        return Foreseen([cls(*about, np.zeros(0, np.uint8))])

    @property
    def count_of_kept(self) -> int:
        """Number of the autosomes, and one for predictions from all of them."""
        return 1 + self.plan.autosomes

    @property
    def bound(self) -> int:
        return MOST_OF_ONE * self.people

    @property
    def derived_as(self) -> str:
        return PREDICTIONS

    def derives(self, cohort: Cohort) -> np.ndarray:
        w, y = self.values(cohort)
        inverse = np.linalg.inv(square(self.products, self.count) + self.shift * np.eye(self.count))
        weights = inverse @ self.with_y
        of_each = w @ inverse
        # Without a person the weights are these less so much of that person's.
        error = (y - w @ weights) / (1 - np.einsum("nw,nw->n", of_each, w))
        parts = w * (weights - of_each * error[:, None])
        of_blocks = parts.reshape(len(w), len(self.chromosomes), -1).sum(axis=2)
        whole = of_blocks.sum(axis=1)
        found = np.repeat(whole[:, None], self.count_of_kept, axis=1)
        for chromosome in np.unique(self.chromosomes).tolist():
            found[:, chromosome] -= of_blocks[:, self.chromosomes == chromosome].sum(axis=1)
        return found

    def local(self, cohort: Cohort) -> Arrays:
        return {"sums": sums_of(derived(cohort, PREDICTIONS))}


ASKS: tuple[type[Question], ...] = (SumPredictions, SumErrors, KeepPredictions)
"""Questions about the predictions of all blocks, in this order."""
