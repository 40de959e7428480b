"""Newton's method on many log-likelihoods at once, which finds every maximum that exists.

Each evaluation is of a trial, a point that lies ahead of the last one taken:

    at ──────────▶ trial        taken if the likelihood rose by a fair share of what the gradient promised,
                                or still rises here: then the next trial is Newton's step from here
    at ──▶ trial                refused otherwise: the next trial lies nearer, where the gradient along the
                                way would vanish if it fell evenly

A logistic log-likelihood is concave. So a trial that is refused lies beyond the maximum along the way, and
some point before it will be taken; where the Hessian is singular there, that is overshoot too, and says
nothing about the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import total
from unpooled.kernels.newton import newton
from unpooled.methods.shared.chunks import ByVariant
from unpooled.plan.common_options import MAX_ITERATIONS, TOLERANCE
from unpooled.plan.plan import Plan

CONVERGED = 1e-12
"""Half the Newton decrement at which an iteration ends."""

SMALL_STEP = 3e-7
"""Largest step, in log odds, that may be left when an iteration ends; it ensures that the Hessian is the
estimate's even under near-separation.
"""

SMALL_ENOUGH = 0.1
"""The largest step left where the plan's tolerance ends an iteration. Without a maximum steps stay near 1."""

_MOST_VARIANCE = 1e8
"""Largest variance of an estimate, in squared log odds. If there is no maximum, the likelihood flattens until
its rounded sums show no slope; the variance is then beyond this.
"""

MOST_EVALUATIONS = 100
"""Largest number of evaluations of one model; refused trials count, too."""

_ROUNDING = 1e-9  # of the log-likelihood: less is no change
_FAIR_SHARE = 0.1  # of the gain that the gradient promises; near a maximum half of it comes true
_NEAREST, _FARTHEST = 0.1, 0.5  # of the way to a trial that was refused


@dataclass(frozen=True, eq=False)
class Ascent(ByVariant):
    """Progress of the iteration for m models with p coefficients."""

    name: ClassVar[str] = "logistic/ascent"

    at: np.ndarray
    """(m, p): the coefficients last taken."""
    likelihood: np.ndarray
    """(m,): there; -inf where nothing was evaluated yet."""
    gradient: np.ndarray
    """(m, p): there."""
    whole: np.ndarray
    """bool (m,): the trial is Newton's whole step, of which the plan's tolerance speaks."""
    taken: np.ndarray
    """int64 (m,): how many steps were. The first evaluation, where an iteration begins, is none."""

    @classmethod
    def begin(cls, at: np.ndarray) -> Ascent:
        """Return the state before the first evaluation, which will be taken."""
        m = len(at)
        nowhere = np.full(m, -np.inf), np.zeros_like(at)
        return cls(at, *nowhere, np.zeros(m, bool), np.zeros(m, np.int64))

    def advance(
        self,
        trial: np.ndarray,
        likelihood: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
        plan: Plan,
        grid: float,
    ) -> Advance:
        """Take or refuse the trials, given what was evaluated there; `hessian` (m, p (p + 1) / 2).

        The next trials will be rounded to multiples of `grid`.
        """
        step, decrement, variance, code = newton(gradient, hessian)
        taken = self._may_take(trial, likelihood, gradient) & (code == codes.FITTED)
        first = np.isneginf(self.likelihood)  # there is no way back, and what is singular here is so for good
        settled = taken & self._is_settled(likelihood, step, decrement, TOLERANCE.of(plan), grid)
        flat = settled & ~(variance <= _MOST_VARIANCE).all(axis=1)
        reached = Ascent(
            np.where(taken[:, None], trial, self.at),
            np.where(taken, likelihood, self.likelihood),
            np.where(taken[:, None], gradient, self.gradient),
            taken,
            self.taken + (taken & ~first),
        )
        following = np.where(taken[:, None], trial + step, self._nearer(trial, gradient))
        spent = (reached.taken >= MAX_ITERATIONS.of(plan)) | ~np.isfinite(following).all(axis=1)
        reason = np.where(flat | (spent & ~settled), codes.UNFINISHED, codes.FITTED)
        reason = np.where(first & (code != codes.FITTED), code, reason)
        return Advance(reached, following, settled & ~flat, reason.astype(np.uint8))

    def _is_settled(
        self, likelihood: np.ndarray, step: np.ndarray, decrement: np.ndarray, tolerance: float, grid: float
    ) -> np.ndarray:
        """Mark the taken trials that are the maximum, or within the plan's tolerance of it: bool (m,)."""
        largest = np.abs(step).max(axis=1)  # NaN where it is not known
        settled = (decrement <= CONVERGED) & (largest <= SMALL_STEP)
        settled |= largest < grid / 2  # the next trial would be this one
        if tolerance:
            with np.errstate(invalid="ignore"):
                even = np.abs(likelihood - self.likelihood) <= tolerance
            settled |= self.whole & even & (decrement <= tolerance) & (largest <= SMALL_ENOUGH)
        return np.asarray(settled)

    def _may_take(self, trial: np.ndarray, likelihood: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Mark trials where the likelihood rose enough (Armijo's rule), or still rises: bool (m,)."""
        way = trial - self.at
        promised = total(self.gradient * way, 1)
        with np.errstate(invalid="ignore"):
            rose = likelihood - self.likelihood >= _FAIR_SHARE * promised - _ROUNDING * np.abs(likelihood)
        return np.asarray(rose | (total(gradient * way, 1) > 0))

    def _nearer(self, trial: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Between the point taken last and the trial, by the secant of the gradient along the way."""
        way = trial - self.at
        here, there = (total(g * way, 1) for g in (self.gradient, gradient))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(there < 0, here / (here - there), _FARTHEST)
        return np.asarray(self.at + np.clip(share, _NEAREST, _FARTHEST)[:, None] * way)


@dataclass(frozen=True, eq=False)
class Advance:
    """Outcome of an evaluation for m models."""

    ascent: Ascent
    following: np.ndarray
    """(m, p): the next trial; of those that have ended, the estimate."""
    ended: np.ndarray
    """bool (m,)"""
    code: np.ndarray
    """FITTED, or why there is no estimate: `unpooled.kernels.least_squares`."""
