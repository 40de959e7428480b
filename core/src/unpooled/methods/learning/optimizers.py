"""Optimizers of a network, which every cohort runs: from pooled gradients to the next weights.

They hold the formulas of torch.optim, by elementwise arithmetic and sums in a fixed order, so that all
parties find the same bits. Each is a record: what it remembers is stored between two rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.memory.spool import slices
from unpooled.methods.shared.gradients import dot
from unpooled.protocol import codec


@dataclass(frozen=True, eq=False)
class Optimizer:
    """Base of the optimizers."""

    @property
    def has_ended(self) -> bool:
        """True if no further step can be found."""
        return False

    def step(
        self, weights: np.ndarray, gradient: np.ndarray, loss: float, rows: int = 1
    ) -> tuple[np.ndarray, Optimizer]:
        """Return the weights to try next, and the optimizer after this step.

        `gradient` is the sum over the rows of a round, at `weights`, and `loss` the mean.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Descent(Optimizer):
    """Gradient descent, with momentum: v = momentum v + g + decay w, w = w - rate v."""

    name: ClassVar[str] = "network/descent"

    rate: float
    momentum: float
    velocity: np.ndarray
    """float64 (size,)"""
    decay: float = codec.came_later(0.0)

    def step(
        self, weights: np.ndarray, gradient: np.ndarray, loss: float, rows: int = 1
    ) -> tuple[np.ndarray, Optimizer]:
        velocity = self.momentum * self.velocity + gradient / rows
        if self.decay:
            velocity = velocity + self.decay * weights
        return weights - self.rate * velocity, replace(self, velocity=velocity)


@dataclass(frozen=True, eq=False)
class Adam(Optimizer):
    """Adam (Kingma and Ba, ICLR 2015), as in torch."""

    name: ClassVar[str] = "network/adam"
    first: ClassVar[float] = 0.9
    second: ClassVar[float] = 0.999
    least: ClassVar[float] = 1e-8

    rate: float
    mean: np.ndarray
    """float64 (size,)"""
    square: np.ndarray
    """float64 (size,)"""
    first_power: float
    """`first` to the power of the number of steps."""
    second_power: float

    def step(
        self, weights: np.ndarray, gradient: np.ndarray, loss: float, rows: int = 1
    ) -> tuple[np.ndarray, Optimizer]:
        powers = self.first_power * self.first, self.second_power * self.second
        mean, square, changed = (np.empty(len(weights)) for _ in range(3))
        # Part by part: of millions of weights each array on the way would take as much memory as these.
        for part in slices(len(weights), _AT_ONCE):
            some = gradient[part] / rows
            mean[part] = self.first * self.mean[part] + (1 - self.first) * some
            square[part] = self.second * self.square[part] + (1 - self.second) * (some * some)
            root = np.sqrt(square[part] / (1 - powers[1])) + self.least
            changed[part] = weights[part] - (self.rate / (1 - powers[0])) * (mean[part] / root)
        after = replace(self, mean=mean, square=square, first_power=powers[0], second_power=powers[1])
        return changed, after


_AT_ONCE = 1 << 16
"""Weights at once."""
_MEMORY = 10
"""Pairs of steps and changes of the gradient that L-BFGS remembers."""
_SUFFICIENT = 1e-4
"""Share of the fall that the slope promises, with which a step is taken (Armijo)."""
_MOST_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Lbfgs(Optimizer):
    """L-BFGS (Nocedal and Wright, Numerical Optimization, 7.2), whose every trial step is a round."""

    name: ClassVar[str] = "network/lbfgs"

    taken: np.ndarray
    """float64 (size,): the weights after the last step that was taken; of none before the first"""
    gradient: np.ndarray
    """float64 (size,), there"""
    loss: float
    direction: np.ndarray
    """float64 (size,): from there"""
    length: float
    """Length of the trial step, in directions."""
    halvings: int
    steps: np.ndarray
    """float64 (pairs, size), the oldest first"""
    changes: np.ndarray
    """float64 (pairs, size): of the gradient over these steps"""

    @classmethod
    def begin(cls, size: int) -> Lbfgs:
        none, pairs = np.zeros(0), np.zeros((0, size))
        return cls(none, none, np.inf, none, 1.0, 0, pairs, pairs)

    @property
    def has_ended(self) -> bool:
        return self.halvings > _MOST_HALVINGS

    def step(
        self, weights: np.ndarray, gradient: np.ndarray, loss: float, rows: int = 1
    ) -> tuple[np.ndarray, Optimizer]:
        gradient = gradient / rows
        if not len(self.taken):
            return self._from(weights, gradient, loss, self.steps, self.changes)
        slope = self.length * dot(self.gradient, self.direction)
        if loss > self.loss + _SUFFICIENT * slope:
            after = replace(self, length=self.length / 2, halvings=self.halvings + 1)
            return after.taken + after.length * after.direction, after
        steps, changes = self.steps, self.changes
        moved, changed = weights - self.taken, gradient - self.gradient
        if dot(moved, changed) > 1e-10 * dot(
            changed, changed
        ):  # else the curvature there is none of a valley
            steps = np.vstack([steps[-_MEMORY + 1 :], moved])
            changes = np.vstack([changes[-_MEMORY + 1 :], changed])
        return self._from(weights, gradient, loss, steps, changes)

    def _from(
        self, weights: np.ndarray, gradient: np.ndarray, loss: float, steps: np.ndarray, changes: np.ndarray
    ) -> tuple[np.ndarray, Optimizer]:
        """Take a step, and choose the next direction."""
        direction = -_with_inverse_hessian(gradient, steps, changes)
        if dot(direction, gradient) >= 0:  # by rounding: begin anew
            steps, changes, direction = steps[:0], changes[:0], -gradient
        size = float(np.sqrt(dot(gradient, gradient)))
        length = 1.0 if len(steps) else min(1.0, 1 / size) if size else 1.0
        after = Lbfgs(weights, gradient, loss, direction, length, 0, steps, changes)
        return weights + length * direction, after


def _with_inverse_hessian(gradient: np.ndarray, steps: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """The approximate inverse Hessian times the gradient, by two loops."""
    found, shares = gradient.copy(), []
    for moved, changed in zip(steps[::-1], changes[::-1], strict=True):
        shares.append(dot(moved, found) / dot(moved, changed))
        found -= shares[-1] * changed
    if len(steps):
        found *= dot(steps[-1], changes[-1]) / dot(changes[-1], changes[-1])
    for moved, changed, share in zip(steps, changes, reversed(shares), strict=True):
        found += (share - dot(changed, found) / dot(moved, changed)) * moved
    return found
