"""The way to the maximum of many likelihoods with Firth's penalty at once.

Newton's step with the information of the data and of those that the penalty adds would do, but for what it
leaves out: that the people's leverages change along the way. With few carriers that is as large as the rest,
and steps shrink by a third only. So the difference is learnt from the scores at either end of each step (the
symmetric update of rank one), and the next step is solved with it.

A trial is taken if the penalised likelihood did not fall; else the step is halved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import length, pairs, square, total
from unpooled.kernels.newton import newton

SMALL_STEP = 1e-6
"""The largest step left, in log odds, at which an iteration ends."""

_LARGEST_STEP = 5.0
"""Largest step allowed, in log odds, as in plink2 and logistf."""

_ROUNDING = 1e-9  # of the likelihood: less is no change
_NO_ANGLE = 1e-8  # between what a step leaves unexplained and the step: less says nothing


@dataclass(frozen=True, eq=False)
class Climb:
    """Progress of Firth's fit for m models with p coefficients. Matrices are upper triangles, (m, p (p + 1) /
    2).
    """

    name: ClassVar[str] = "firth/climb"

    at: np.ndarray
    """(m, p): the coefficients last taken."""
    likelihood: np.ndarray
    """(m,): the penalised log-likelihood there; -inf where nothing was evaluated yet."""
    gradient: np.ndarray
    """(m, p): of the log-likelihood there, without the penalty."""
    hessian: np.ndarray
    """The information there."""
    is_new: np.ndarray
    """bool (m,): the penalty's derivative there is not known yet."""
    moved: np.ndarray
    """(m, p): the step that led there."""
    taken: np.ndarray
    """int64 (m,): how many steps were. The first evaluation is none: before it -1."""
    score: np.ndarray
    """(m, p): gradient of the penalised likelihood, where that was known last."""
    curvature: np.ndarray
    """The information there, with what the penalty adds."""
    learnt: np.ndarray
    """Correction to the curvature, learnt from the steps so far."""
    step: np.ndarray
    """(m, p): what leads to the trial."""

    @classmethod
    def begin(cls, at: np.ndarray) -> Climb:
        """Return the state before the first evaluation, which will be taken."""
        m, p = at.shape
        none, triangle = np.zeros((m, p)), np.zeros((m, p * (p + 1) // 2))
        return cls(
            at,
            likelihood=np.full(m, -np.inf),
            gradient=none,
            hessian=triangle,
            is_new=np.zeros(m, bool),
            moved=none,
            taken=np.full(m, -1),
            score=none,
            curvature=triangle,
            learnt=triangle,
            step=none,
        )

    def some(self, which: np.ndarray) -> Climb:
        """Select some of the models: bool (m,)."""
        return Climb(**{name: part[which] for name, part in vars(self).items()})

    @property
    def trial(self) -> np.ndarray:
        return np.asarray(self.at + self.step)

    @property
    def size(self) -> np.ndarray:
        """Largest component of the step to the trial, (m,); NaN where there is no step."""
        return np.asarray(np.abs(self.step).max(axis=1))

    def looked(
        self,
        trial: np.ndarray,
        likelihood: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
        logarithm: np.ndarray,
    ) -> Climb:
        """Take or refuse the trials, (m, p), given what was evaluated there. `logarithm`, (m,), is that of
        the information's determinant.
        """
        penalised = likelihood + logarithm / 2
        with np.errstate(invalid="ignore"):
            taken = penalised >= self.likelihood - _ROUNDING * np.abs(penalised)
        taken &= np.isfinite(logarithm)
        each = taken[:, None]
        return replace(
            self,
            at=np.where(each, trial, self.at),
            likelihood=np.where(taken, penalised, self.likelihood),
            gradient=np.where(each, gradient, self.gradient),
            hessian=np.where(each, hessian, self.hessian),
            is_new=taken,
            moved=np.where(each, trial - self.at, self.moved),
            taken=self.taken + taken,
            step=np.where(each, 0.0, self.step / 2),
        )

    def stepped(self, derivative: np.ndarray, information: np.ndarray) -> Climb:
        """Set the next steps of the models that are new, given what their penalties add; NaN for no step."""
        new = self.is_new
        score, curvature = self.gradient[new] + derivative, self.hessian[new] + information
        learnt = self.some(new)._learnt_by(score, curvature)
        step, _, _, code = newton(score, curvature + learnt)
        plain = code != codes.FITTED
        learnt[plain] = 0.0
        step[plain] = newton(score[plain], curvature[plain])[0]
        size = np.abs(step).max(axis=1, keepdims=True, initial=0.0)
        step *= _LARGEST_STEP / np.maximum(size, _LARGEST_STEP)
        return replace(
            self,
            score=_put(self.score, new, score),
            curvature=_put(self.curvature, new, curvature),
            learnt=_put(self.learnt, new, learnt),
            step=_put(self.step, new, step),
        )

    def _learnt_by(self, score: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """`learnt` after the last step, given score and curvature at its end."""
        expected = square((self.curvature + curvature) / 2 + self.learnt, score.shape[1])
        apart = self.score - score - total(expected * self.moved[:, None], 2)
        along, sizes = total(apart * self.moved, 1), length(apart, 1) * length(self.moved, 1)
        tells = (self.taken > 0) & (np.abs(along) > _NO_ANGLE * sizes)
        i, j = pairs(score.shape[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            update = apart[:, i] * apart[:, j] / along[:, None]
        return np.asarray(self.learnt + np.where(tells[:, None], update, 0.0))


def _put(column: np.ndarray, which: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A column with other values in some rows."""
    found = column.copy()
    found[which] = values
    return found
