"""The state of a network's training between two rounds: every cohort has the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.methods.learning.network_options import (
    DESCENT,
    LBFGS,
    MOMENTUM,
    OPTIMIZER,
    PATIENCE,
    RATE,
    ROUNDS,
)
from unpooled.methods.learning.optimizers import Adam, Descent, Lbfgs, Optimizer
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class Training:
    """State of a training between two rounds."""

    name: ClassVar[str] = "network/training"

    weights: np.ndarray
    """float64 (size,): those that the next round is about"""
    optimizer: Optimizer
    best: np.ndarray
    """float64 (size,): the weights of the least loss in the fold left out"""
    best_round: int
    curve: np.ndarray
    """float64 (rounds, 3): mean loss, that of the fold left out, and the share of its classes predicted"""

    @classmethod
    def begin(cls, weights: np.ndarray, optimizer: Optimizer) -> Training:
        return cls(weights, optimizer, weights, 0, np.zeros((0, 3)))

    @property
    def round(self) -> int:
        """Number of rounds that there were."""
        return len(self.curve)

    def heard(self, sums: Arrays, held_out: int) -> Training:
        """The state once a round's sums are there; `held_out` rows are in the fold that is left out."""
        rows, right = max(1, int(sums["rows"][0])), sums["right"]
        share = float(right[0]) / held_out if len(right) else math.nan
        line = float(sums["loss"][0]) / rows, float(sums["held_out"][0]) / held_out, share
        after = replace(self, curve=np.vstack([self.curve, line]))
        if not self.round or line[1] < self.curve[self.best_round, 1]:
            after = replace(after, best=self.weights, best_round=self.round)
        weights, optimizer = self.optimizer.step(self.weights, sums["gradient"], line[0], rows)
        return replace(after, weights=weights, optimizer=optimizer)

    def has_ended(self, plan: Plan) -> bool:
        """Tell whether this was the last round."""
        waited = self.round - 1 - self.best_round
        is_idle = PATIENCE.of(plan) and waited >= PATIENCE.of(plan)
        return bool(self.round > ROUNDS.of(plan) or is_idle or self.optimizer.has_ended)


def optimizer_of(plan: Plan, size: int) -> Optimizer:
    """The plan's optimizer, before its first step."""
    rate, zero = RATE.of(plan), np.zeros(size)
    if OPTIMIZER.of(plan) == DESCENT:
        return Descent(rate, MOMENTUM.of(plan), zero)
    return Lbfgs.begin(size) if OPTIMIZER.of(plan) == LBFGS else Adam(rate, zero, zero, 1.0, 1.0)
