"""Conjugate gradients for (A + shift) x = b and several shifts at once, from one product A p a turn.

A is symmetric and positive. The residuals of all shifts lie along one another (van den Eshof and Sleijpen,
Accurate conjugate gradient methods for families of shifted systems, Appl Numer Math 2004; the recurrence
follows from the one of three terms between residuals), so that whichever shift is solved, the product is that
of the first. Its system, with the smallest shift, is the last to be solved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.kernels.fixed_order import grid_of, product, settled

DIRECTION_BITS, RESIDUAL_BITS = 40, 44
"""Bits, relative to the largest number, to which a direction and a residual are rounded."""


@dataclass(frozen=True, eq=False)
class Gradients:
    """The systems of s shifts in m unknowns."""

    name: ClassVar[str] = "gradients"

    tolerance: float
    """Largest length of a residual, relative to that of b, at which a system counts as solved."""
    shifts: np.ndarray
    """float64 (s,), rising"""
    start: float
    """The squared length of b."""
    residual: np.ndarray
    """float64 (m,), of the first system"""
    along: np.ndarray
    """float64 (s,): by what to multiply it for each system"""
    along_before: np.ndarray
    step: float
    """Step length of the last turn, for the first system."""
    turned: float
    """Coefficient of the previous direction in the current one, for the first system."""
    solutions: np.ndarray
    """float64 (s, m)"""
    directions: np.ndarray
    """float64 (s, m)"""

    @classmethod
    def begin(cls, shifts: np.ndarray, b: np.ndarray, tolerance: float) -> Gradients:
        """Start all systems at the solution 0. `shifts` rise, and are above 0."""
        one, several = np.ones(len(shifts)), (len(shifts), len(b))
        directions = np.broadcast_to(b, several).copy()
        return cls(tolerance, shifts, dot(b, b), b, one, one, 1.0, 0.0, np.zeros(several), directions)

    @property
    def solved(self) -> np.ndarray:
        """Solved systems: bool (s,)."""
        lengths = self.along * self.along * dot(self.residual, self.residual)
        return np.asarray(lengths <= self.tolerance * self.tolerance * self.start)

    @property
    def has_ended(self) -> bool:
        return bool(self.solved.all())

    @property
    def direction(self) -> np.ndarray:
        """Vector to multiply by A next: float64 (m,)."""
        return np.asarray(self.directions[0])

    def advance(self, product: np.ndarray) -> Gradients:
        """Take one turn, given A times the direction: float64 (m,)."""
        before = dot(self.residual, self.residual)
        whole = product + self.shifts[0] * self.direction
        step = before / dot(self.direction, whole)
        residual = self.residual - step * whole
        turned = dot(residual, residual) / before
        echo = step * self.turned / self.step
        beyond = self.shifts - self.shifts[0]
        along = self.along / (1 + step * beyond + echo * (1 - self.along / self.along_before))
        solutions, directions = self.solutions.copy(), self.directions.copy()
        for k in np.flatnonzero(~self.solved).tolist():  # the others stay: their numbers would only underflow
            ratio = along[k] / self.along[k]
            solutions[k] += (step * ratio) * directions[k]
            directions[k] = along[k] * residual + (turned * ratio * ratio) * directions[k]
        return replace(
            self,
            residual=residual,
            along=along,
            along_before=self.along,
            step=step,
            turned=turned,
            solutions=solutions,
            directions=directions,
        )

    def settled(self) -> Gradients:
        """Round the residual and the direction to a grid that drops the last bits, in which machines differ.

        Up to the grid this is still the residual of the first system's solution, and the others follow.
        """
        directions = self.directions.copy()
        directions[0] = settled(directions[0], grid_of(directions[0], DIRECTION_BITS))
        return replace(
            self,
            residual=settled(self.residual, grid_of(self.residual, RESIDUAL_BITS)),
            directions=directions,
        )


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """The product of two vectors."""
    return float(product(a, b))
