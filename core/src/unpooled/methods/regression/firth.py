"""Firth's penalised fit, of the variants that need it: the log-likelihood and half the logarithm of its
information's determinant are maximised. That has a maximum where cases and controls are separated, too.

    question                    what follows from its sums
    `EvaluatePenalised`         the trial is taken if the penalised likelihood did not fall, else halved
    `Penalty`, at those taken   the next step

It begins at Firth's fit of the genotype counts beside the covariates' model, or at the usual estimate where
that is not far out. How it goes on, and when it ends, says `climb`. Standard errors are of the information
without the penalty's.
"""

from __future__ import annotations

import numpy as np

from unpooled.asking.procedure import Asks, Call, Go, Study, procedure
from unpooled.kernels import least_squares as codes
from unpooled.kernels.newton import inverses
from unpooled.methods.regression.ascent import MOST_EVALUATIONS
from unpooled.methods.regression.firth_questions import EvaluatePenalised, Penalty
from unpooled.methods.regression.fitting import Fitting
from unpooled.methods.regression.logistic_questions import OfModels, about_some
from unpooled.methods.regression.newton import SMALL_STEP, Climb
from unpooled.plan.common_options import MAX_ITERATIONS


def fit_penalised(
    study: Study, question: OfModels, which: np.ndarray, fitting: Fitting, beta: np.ndarray
) -> Call[None]:
    """Firth's fit of some of the variants that a question is about, bool (m,), from `beta` on."""
    asked = about_some(EvaluatePenalised, question, which, beta=beta, iteration=1, evaluation=1)
    return evaluate_penalised(study, asked, fitting, Climb.begin(asked.beta))


@procedure("firth/evaluate")
def evaluate_penalised(study: Study, asked: EvaluatePenalised, fitting: Fitting, climb: Climb) -> Asks[None]:
    """Look at the trials; then ask for the penalty at those that are taken."""
    sums = yield asked
    inverse, logarithm = inverses(sums["hessian"], asked.parameters)
    climb = climb.looked(asked.beta, sums["likelihood"], sums["gradient"], sums["hessian"], logarithm)
    new = climb.is_new
    if not new.any():
        return (yield from _go_on(study, asked, fitting, climb))
    following = about_some(Penalty, asked, new, beta=climb.at[new], inverse=inverse[new])
    return (yield from Go(weigh_penalty(study, following, asked, fitting, climb)))


@procedure("firth/penalty")
def weigh_penalty(
    study: Study, asked: Penalty, of: EvaluatePenalised, fitting: Fitting, climb: Climb
) -> Asks[None]:
    """Step from where the penalty is known. `of` was asked about all models of `climb`."""
    sums = yield asked
    return (yield from _go_on(study, of, fitting, climb.stepped(sums["score"], sums["information"])))


def _go_on(study: Study, asked: EvaluatePenalised, fitting: Fitting, climb: Climb) -> Asks[None]:
    """Report what has ended, and look at the next trials of the others."""
    plan = study.plan
    converged = climb.is_new & (climb.size <= SMALL_STEP)
    spent = (climb.taken >= MAX_ITERATIONS.of(plan)) | (climb.taken < 0) | ~np.isfinite(climb.size)
    spent |= asked.evaluation == MOST_EVALUATIONS
    done = converged | spent
    if done.any():
        code = np.where(converged, codes.PENALISED, codes.PENALISED_UNFINISHED)[done].astype(np.uint8)
        yield fitting.some(done).rows(plan, code, climb.trial[done], climb.hessian[done], penalised=True)
    going = ~done
    if not going.any():
        return None
    left = climb.some(going)
    following = about_some(
        EvaluatePenalised,
        asked,
        going,
        beta=left.trial,
        iteration=1 + int(left.taken.max()),
        evaluation=asked.evaluation + 1,
    )
    return (yield from Go(evaluate_penalised(study, following, fitting.some(going), left)))
