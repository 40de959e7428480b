"""Firth's penalised fit, of the variants that need it: the log-likelihood and half the logarithm of its
information's determinant are maximised. That has a maximum where cases and controls are separated, too.

    question                    what follows from its sums
    `EvaluatePenalised`         the trial is taken if the penalised likelihood did not fall, else halved
    `Penalty`, at those taken   the next step

It begins at Firth's fit of the genotype counts beside the covariates' model, or at the usual estimate where
that is not far out. How it goes on is in `Newton`, when it ends in `_go_on`. Standard errors are of the
information without the penalty's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Call, Go, Study, procedure
from unpooled.asking.question import Arrays, Condition, Real
from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import length, pairs, square, total
from unpooled.kernels.newton import inverses, newton
from unpooled.methods.regression.ascent import MOST_EVALUATIONS
from unpooled.methods.regression.fitting import Fitting
from unpooled.methods.regression.logistic_questions import Evaluate, OfModels, about_some
from unpooled.methods.regression.options import NEVER, choice
from unpooled.methods.shared.chunks import ByVariant, Chunk
from unpooled.plan.common_options import MAX_ITERATIONS
from unpooled.plan.plan import Plan

SMALL_STEP = 1e-6
"""The largest step left, in log odds, at which an iteration ends."""

_LARGEST_STEP = 5.0
"""Largest step allowed, in log odds, as in plink2 and logistf."""

_ROUNDING = 1e-9  # of the likelihood: less is no change

_NO_ANGLE = 1e-8  # between what a step leaves unexplained and the step: less says nothing


# Newton's step with the information of the data and of those that the penalty adds would do, but for what it
# leaves out: that the people's leverages change along the way. With few carriers that is as large as the
# rest, and steps shrink by a third only. So the difference is learnt from the scores at either end of each
# step (the symmetric update of rank one), and the next step is solved with it.
@dataclass(frozen=True, eq=False)
class Newton(ByVariant):
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
    def begin(cls, at: np.ndarray) -> Newton:
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
    ) -> Newton:
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

    def stepped(self, derivative: np.ndarray, information: np.ndarray) -> Newton:
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


@dataclass(frozen=True, eq=False)
class EvaluatePenalised(Evaluate, name="firth/evaluate", title="Penalised fit"):
    """The same sums as for the usual fit, at the coefficients of Firth's."""

    usual_rounds: ClassVar[int] = 1
    asked_if: ClassVar[Condition] = lambda plan: choice(plan) != NEVER


_PENALTY_TELLS = (
    "how much weight the people with unusual genotype and covariates have in each variant's model; for a "
    "variant that only one person carries, that person's covariates, without name or cohort"
)


@dataclass(frozen=True, eq=False)
class Penalty(EvaluatePenalised, name="firth/penalty", title="Penalty of the fit"):
    """Derivative of Firth's penalty of each variant, and the information that it adds."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "score",
            ("variants", "parameters"),
            "bound",
            "per variant: derivative of the penalty, a sum weighted by each person's leverage",
            _PENALTY_TELLS,
            of_one=True,
        ),
        Real(
            "information",
            ("variants", "triangle"),
            "bound",
            "per variant: the information that the penalty adds, weighted likewise",
            _PENALTY_TELLS,
            of_one=True,
        ),
    )

    inverse: np.ndarray
    """Upper triangles of the pool's inverse information at `beta`: float64 (m, triangle)."""

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        fields = super().foreseen_models(plan, chunk)
        p = fields["beta"].shape[1]
        return fields | {"inverse": np.zeros((chunk.variants, p * (p + 1) // 2))}

    def fields_of(self, part: slice) -> dict[str, Any]:
        return super().fields_of(part) | {"inverse": self.inverse[part]}

    def local(self, cohort: Cohort) -> Arrays:
        regressions = self.regressions_of(cohort, self.copies_of(cohort))
        score, information = regressions.penalty(self.beta, self.inverse)
        return {"score": score, "information": information}


def fit_penalised(
    study: Study, question: OfModels, which: np.ndarray, fitting: Fitting, beta: np.ndarray
) -> Call[None]:
    """Firth's fit of some of the variants that a question is about, bool (m,), from `beta` on."""
    asked = about_some(EvaluatePenalised, question, which, beta=beta, iteration=1, evaluation=1)
    return evaluate_penalised(study, asked, fitting, Newton.begin(asked.beta))


@procedure("firth/evaluate")
def evaluate_penalised(study: Study, asked: EvaluatePenalised, fitting: Fitting, state: Newton) -> Asks[None]:
    """Look at the trials; then ask for the penalty at those that are taken."""
    sums = yield asked
    inverse, logarithm = inverses(sums["hessian"], asked.parameters)
    state = state.looked(asked.beta, sums["likelihood"], sums["gradient"], sums["hessian"], logarithm)
    new = state.is_new
    if not new.any():
        return (yield from _go_on(study, asked, fitting, state))
    following = about_some(Penalty, asked, new, beta=state.at[new], inverse=inverse[new])
    return (yield from Go(weigh_penalty(study, following, asked, fitting, state)))


@procedure("firth/penalty")
def weigh_penalty(
    study: Study, asked: Penalty, of: EvaluatePenalised, fitting: Fitting, state: Newton
) -> Asks[None]:
    """Step from where the penalty is known. `of` was asked about all models of `state`."""
    sums = yield asked
    return (yield from _go_on(study, of, fitting, state.stepped(sums["score"], sums["information"])))


def _go_on(study: Study, asked: EvaluatePenalised, fitting: Fitting, state: Newton) -> Asks[None]:
    """Report what has ended, and look at the next trials of the others."""
    plan = study.plan
    converged = state.is_new & (state.size <= SMALL_STEP)
    spent = (state.taken >= MAX_ITERATIONS.of(plan)) | (state.taken < 0) | ~np.isfinite(state.size)
    spent |= asked.evaluation == MOST_EVALUATIONS
    done = converged | spent
    if done.any():
        code = np.where(converged, codes.PENALISED, codes.PENALISED_UNFINISHED)[done].astype(np.uint8)
        yield fitting.some(done).rows(plan, code, state.trial[done], state.hessian[done], penalised=True)
    going = ~done
    if not going.any():
        return None
    left = state.some(going)
    following = about_some(
        EvaluatePenalised,
        asked,
        going,
        beta=left.trial,
        iteration=1 + int(left.taken.max()),
        evaluation=asked.evaluation + 1,
    )
    return (yield from Go(evaluate_penalised(study, following, fitting.some(going), left)))
