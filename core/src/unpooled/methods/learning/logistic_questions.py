"""Questions of a logistic or multinomial fit: the likelihood and its derivatives.

Of rows (1, z), z the standardised columns, with scores s = B (1, z), the log likelihood of a row of class c
is s_c - log(sum of e^s); two classes have the scores 0 and s. With p the probabilities and y 1 for the row's
class

    gradient   sum of (y - p) (1, z)'
    hessian    sum of (diag p - p p') x (1, z) (1, z)', of two classes p (1 - p) (1, z) (1, z)'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.question import Arrays, Foreseen, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.fitted.model import LOGISTIC, SOFTMAX, probabilities
from unpooled.kernels.fixed_order import geometric
from unpooled.methods.learning.design import OfDesign, SumProducts
from unpooled.methods.learning.options import LOGISTIC_PENALTIES, MODEL_PENALTIES, MOST_TURNS
from unpooled.methods.learning.reading import examples
from unpooled.plan.plan import Plan

MOST_NUMBERS = 1 << 24
"""Largest size of a share: 128 MB."""
_LEAST_LOGARITHM = 1 << 10
"""Upper limit at which the negative log likelihood of a row is cut off: a trial step may go too far."""
_COHORTS = 10
"""Bits for a thousand cohorts."""


@dataclass(frozen=True, eq=False)
class Differentiate(OfDesign, name="model/differentiate", title="Fit the model", ring_bits=64):
    """Likelihood, gradient and Hessian of models that each leave out a fold, or none."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "likelihood",
            ("models",),
            "lowest",
            "per model: the log likelihood of the rows that it is fitted to",
            "how well each model fits",
            fraction_bits="digits_of_likelihood",
        ),
        Real(
            "held_out",
            ("models",),
            "lowest",
            "per model: that of the rows in the fold that it leaves out",
            "how well each model does there",
            fraction_bits="digits_of_likelihood",
        ),
        Real(
            "gradient",
            ("models", "width"),
            "most",
            "per model and coefficient: the derivative of the log likelihood",
            "in which direction each model fits better",
            fraction_bits="digits",
        ),
        Real(
            "hessian",
            ("models", "pairs"),
            "most",
            "per model and two coefficients: the second derivative of the log likelihood, negative",
            "the covariances of all columns in the pool, weighted by how uncertain a model is of each row",
            fraction_bits="digits",
        ),
    )
    each: ClassVar[dict[str, str]] = {"models": "model", "width": "coefficient", "pairs": "pair"}

    design: SumProducts
    """Design that turns a row into columns, as for the sums that means and deviations come from."""
    beta: np.ndarray
    """float64 (models, scores, columns + 1), the intercept first"""
    without: np.ndarray
    """int64 (models,): the fold that each leaves out; -1 for none"""
    iteration: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        design = SumProducts.widest(plan)
        shape = (design.targets, design.columns - design.targets + 1)
        without = np.tile(np.arange(design.folds), len(penalties_of(plan)))
        few = max(1, min(len(without), MOST_NUMBERS // triangle(shape[0] * shape[1])))
        asked = cls(design, np.zeros((few, *shape)), without[:few], 1)
        return Foreseen([asked], 2 * MOST_TURNS, exact=False)

    @property
    def models(self) -> int:
        return len(self.without)

    @property
    def width(self) -> int:
        return math.prod(self.beta.shape[1:])

    @property
    def pairs(self) -> int:
        return triangle(self.width)

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return MOST_TURNS

    @property
    def most(self) -> int:
        return 2 * self.design.rows  # of |z| the mean is at most 1, as that of z^2 is

    @property
    def lowest(self) -> int:
        return _LEAST_LOGARITHM * self.design.rows

    @property
    def digits(self) -> int:
        """Bits after the point: what 64 leave, at least 2^-18 for 2^33 rows, and 2^-31 for a million."""
        return 62 - self.most.bit_length() - _COHORTS

    @property
    def digits_of_likelihood(self) -> int:
        return 62 - self.lowest.bit_length() - _COHORTS

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        sums = _Sums.of(self.models, self.width)
        targets = self.design.targets
        for fold, rows, z in self.design.blocks(found):
            x = np.column_stack([np.ones(len(z)), z[:, : z.shape[1] - targets]])
            for k in range(self.models):
                sums.add(k, x, found.classes[rows], self.beta[k], is_held_out=self.without[k] == fold)
        # A trial may be far from any row: the sum is cut off, so that the bound holds whatever is tried.
        upper = np.triu_indices(self.width)
        floor = -float(_LEAST_LOGARITHM) * len(found.values)
        return {
            "likelihood": np.maximum(sums.likelihood, floor),
            "held_out": np.maximum(sums.held_out, floor),
            "gradient": sums.gradient,
            "hessian": sums.hessian[:, upper[0], upper[1]],
        }


@dataclass(frozen=True, eq=False)
class _Sums:
    likelihood: np.ndarray
    held_out: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray

    @classmethod
    def of(cls, models: int, width: int) -> _Sums:
        none = np.zeros(models), np.zeros(models)
        return cls(*none, np.zeros((models, width)), np.zeros((models, width, width)))

    def add(self, k: int, x: np.ndarray, classes: np.ndarray, beta: np.ndarray, *, is_held_out: bool) -> None:
        """Add some rows, x with a column of ones, to the sums of a model."""
        scores = x @ beta.T
        if is_held_out:
            self.held_out[k] += logarithms(scores, classes).sum()
            return
        self.likelihood[k] += logarithms(scores, classes).sum()
        # Of two classes the scores are those of the second.
        p = probabilities(scores, SOFTMAX if scores.shape[1] > 1 else LOGISTIC)[:, -scores.shape[1] :]
        y = classes[:, None] == (np.arange(p.shape[1]) if p.shape[1] > 1 else 1)
        self.gradient[k] += ((y - p).T @ x).ravel()
        size = x.shape[1]
        for a in range(len(beta)):
            for b in range(a, len(beta)):
                if a == b:  # the product of a matrix with itself costs half as much
                    half = x * np.sqrt(p[:, a] * (1 - p[:, a]))[:, None]
                    part = half.T @ half
                else:
                    part = (x * (-p[:, a] * p[:, b])[:, None]).T @ x
                self.hessian[k, a * size : (a + 1) * size, b * size : (b + 1) * size] += part


def logarithms(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The log likelihood of each row: float64 (n,)."""
    if scores.shape[1] == 1:
        return np.asarray(-np.logaddexp(0, np.where(classes == 1, -scores[:, 0], scores[:, 0])))
    most = scores.max(axis=1)
    total = most + np.log(np.exp(scores - most[:, None]).sum(axis=1))
    return np.asarray(scores[np.arange(len(scores)), classes] - total)


def penalties_of(plan: Plan) -> np.ndarray:
    """The penalties to try, falling: float64."""
    if MODEL_PENALTIES.of(plan):
        return np.array(sorted(set(MODEL_PENALTIES.of(plan)), reverse=True))
    return geometric(1.0, 1e-5, LOGISTIC_PENALTIES)


def triangle(width: int) -> int:
    return width * (width + 1) // 2
