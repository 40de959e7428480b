"""Logistic regression of cases and controls on each variant (PLINK's --logistic), covariates included.

All variants start at the covariates' model. There all have the same weights, so the first evaluation of every
variant costs and sends as much as linear regression does. The first trial follows from its step and from the
genotype counts (`case_control`); there gradient and Hessian come in single precision. Then the same with the
log-likelihood in double precision, repeated until a variant has converged and leaves.

`ascent` decides when a trial is taken, and when a variant has converged; its standard errors come from the
Hessian there. Without a maximum within the plan's limit it is reported as unfinished, not as a number. It is
separated, with no estimate, if no case has fewer (or none has more) copies than any control.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from unpooled import shared_options as options
from unpooled.algorithms.algorithm import Algorithm, Cost
from unpooled.algorithms.regression.about_variants import FIRST, INCOMPLETE, SECOND, TIED, flags
from unpooled.algorithms.regression.ascent import MOST_EVALUATIONS, Advance, Ascent
from unpooled.algorithms.regression.fitting import CovariatesModel, Fitting
from unpooled.algorithms.regression.logistic_questions import (
    Approach,
    Evaluate,
    FitCovariates,
    OfModels,
    Start,
    model_of,
    models_of,
)
from unpooled.algorithms.regression.pool import (
    Census,
    CountGenotypes,
    OrderAlleles,
    Pool,
    chunks_of,
    columns_of,
    count_genotypes,
    count_people,
    report_filtered,
    settled,
)
from unpooled.algorithms.regression.symmetric import pairs
from unpooled.algorithms.shared.chunks import Chunk
from unpooled.algorithms.shared.coding import most_copies
from unpooled.algorithms.shared.genotype_counts import Counted, order_ties
from unpooled.algorithms.shared.groups import COMPLETE
from unpooled.algorithms.shared.standardise import Magnitude, Mean, Spread, standardise
from unpooled.formats import regression_report
from unpooled.kernels import least_squares as codes
from unpooled.kernels.newton import newton
from unpooled.plan import EXACT, Plan
from unpooled.procedure import Asks, Each, Go, Study, procedure
from unpooled.question import Arrays

Asked = TypeVar("Asked", bound=Evaluate)

_TAME = 0.1
"""Half the Newton decrement up to which a step in single precision is taken without a look: half a standard
error, on which a likelihood hardly bends."""

_NOISE = 1e-10
"""Below this, single precision cannot tell the step."""


@procedure("logistic")
def logistic(study: Study) -> Asks[None]:
    """Fit the covariates alone, for each class of chromosomes; from there fit chunk by chunk."""
    pool = yield from count_people(study)
    columns = yield from standardise(study, pool.of(COMPLETE))
    chunks = chunks_of(study, pool)
    codings = models_of(chunks)
    starts = [FitCovariates.first(study.plan, pool, columns, coding) for coding in codings]
    found = yield Each(fit_covariates(study, start, Ascent.begin(start.beta[None])) for start in starts)
    models = dict(zip(codings, found, strict=True))
    ties = yield Each(fit_chunk(study, chunk, pool, models[model_of(chunk.chromosome)]) for chunk in chunks)
    yield from order_ties(study, OrderAlleles, ties, report_filtered)


@procedure("logistic/covariates")
def fit_covariates(study: Study, asked: FitCovariates, ascent: Ascent) -> Asks[CovariatesModel]:
    """Evaluate the model without genotype, take or refuse the trial, and go on until it has converged."""
    sums = yield asked
    each = sums["likelihood"][None], sums["gradient"][None], sums["hessian"][None]
    found = ascent.advance(asked.beta[None], *each, study.plan)
    code = int(found.code[0])
    if not found.ended[0] and code == codes.FITTED:
        if asked.evaluation < MOST_EVALUATIONS:
            following = replace(
                asked,
                beta=found.following[0],
                iteration=1 + int(found.ascent.taken[0]),
                evaluation=asked.evaluation + 1,
            )
            return (yield from Go(fit_covariates(study, following, found.ascent)))
        code = codes.UNFINISHED
    return CovariatesModel(
        with_sex=asked.with_sex,
        people=asked.people,
        centre=asked.centre,
        exponent=asked.exponent,
        beta=asked.beta,
        gradient=sums["gradient"],
        hessian=sums["hessian"],
        likelihood=float(sums["likelihood"]),
        code=code,
    )


@procedure("logistic/chunk")
def fit_chunk(study: Study, chunk: Chunk, pool: Pool, model: CovariatesModel) -> Asks[Counted]:
    """Count the genotypes of a chunk, and start with the variants that can have an estimate."""
    counted, ties = yield from count_genotypes(study, chunk, pool)
    fitting, calls, tied = Fitting.of(study.plan, chunk.chromosome, pool, model, counted)
    going = tied | (fitting.code == codes.FITTED)
    if not going.all():
        done = fitting.some(~going)
        yield done.rows(study.plan, done.code)
    if not going.any():
        return ties
    fitting, lacking, tied = fitting.some(going), calls.incomplete[going], tied[going]
    means, exact = calls.means[going], study.plan.missing == EXACT
    wanted = np.where(fitting.counts_first, FIRST, SECOND) + INCOMPLETE * lacking + TIED * tied
    fill = np.where(fitting.counts_first[:, None], means, most_copies(chunk.chromosome) - means)
    start = Start(
        start=chunk.start,
        asked=flags(chunk, fitting.variants.variants, wanted),
        chromosome=chunk.chromosome,
        with_sex=model.with_sex,
        exact=exact,
        fill=fill[lacking & (not exact)],
        people=model.people,
        centre=model.centre,
        exponent=model.exponent,
        beta=model.beta,
        cohorts=study.plan.cohorts,
    )
    sums = yield start
    order = settled(fitting.first_is_a1, tied, sums["first"], study.plan.cohorts)
    fitting = replace(fitting, first_is_a1=order)
    found, hessian = _first_trial(study.plan, start, fitting, sums)
    going = yield from _report_ended(study, fitting, found, hessian)
    if not going.any():
        return ties
    following = _following(Approach, start, going, found, evaluation=1)
    return (yield from Go(approach(study, following, fitting.some(going), found.ascent.some(going), ties)))


@procedure("logistic/approach")
def approach(study: Study, asked: Approach, fitting: Fitting, ascent: Ascent, ties: Counted) -> Asks[Counted]:
    """Take another step without a look at the likelihood, where it is a small one."""
    sums = yield asked
    step, decrement, _, code = newton(sums["gradient"], sums["hessian"])
    tame = (code == codes.FITTED) & (decrement <= _TAME) & (decrement >= _NOISE)
    following = _asked_as(Evaluate, asked, beta=np.where(tame[:, None], asked.beta + step, asked.beta))
    return (yield from Go(fit(study, following, fitting, ascent, ties)))


@procedure("logistic/evaluate")
def fit(study: Study, asked: Evaluate, fitting: Fitting, ascent: Ascent, ties: Counted) -> Asks[Counted]:
    """Evaluate the models at their trials, report those that have ended, and go on with the others."""
    sums = yield asked
    found = ascent.advance(asked.beta, sums["likelihood"], sums["gradient"], sums["hessian"], study.plan)
    going = yield from _report_ended(
        study, fitting, found, sums["hessian"], last=asked.evaluation == MOST_EVALUATIONS
    )
    if not going.any():
        return ties
    following = _following(Evaluate, asked, going, found, asked.evaluation + 1)
    return (yield from Go(fit(study, following, fitting.some(going), found.ascent.some(going), ties)))


def _first_trial(plan: Plan, start: Start, fitting: Fitting, sums: Arrays) -> tuple[Advance, np.ndarray]:
    """Where to go from the covariates' model, and the Hessians there, from the sums that `Start` asks for."""
    likelihood, gradient, hessian = _at_covariates_model(start, fitting.model, sums)
    here = np.tile(np.insert(start.beta, 1, 0.0), (start.variants, 1))
    found = Ascent.begin(here).advance(here, likelihood, gradient, hessian, plan)
    trial = here + fitting.counted_calls(plan).estimated_from(found.following - here)
    ascent = replace(found.ascent, whole=np.zeros(start.variants, bool))
    return replace(found, ascent=ascent, following=trial), hessian


def _at_covariates_model(
    start: Start, model: CovariatesModel, sums: Arrays
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-likelihood, gradient and Hessian of each variant where its genotype has no effect."""
    q, m = len(start.beta), start.variants
    likelihood = np.full(m, model.likelihood)
    shared_gradient, shared_hessian = (np.tile(part, (m, 1)) for part in (model.gradient, model.hessian))
    if start.exact:
        lacking, over = start.flagged(INCOMPLETE), sums["missing"]
        likelihood[lacking] -= over[:, 0]
        shared_gradient[lacking] -= over[:, 1 : 1 + q]
        shared_hessian[lacking] -= over[:, 1 + q :]
    own = sums["genotype"]
    gradient = np.concatenate([shared_gradient[:, :1], own[:, :1], shared_gradient[:, 1:]], axis=1)
    whole = np.zeros((m, q + 1, q + 1))
    others = np.array([0, *range(2, q + 1)])
    i, j = pairs(q)
    whole[:, others[i], others[j]] = shared_hessian
    whole[:, np.minimum(others, 1), np.maximum(others, 1)] = own[:, 1 : 1 + q]
    whole[:, 1, 1] = own[:, 1 + q]
    return likelihood, gradient, whole[:, *pairs(q + 1)]


def _report_ended(
    study: Study, fitting: Fitting, found: Advance, hessian: np.ndarray, *, last: bool = False
) -> Asks[np.ndarray]:
    """Report the variants that have an estimate, or cannot have one; the others go on: bool (m,).

    After the `last` evaluation none does.
    """
    code = np.where(fitting.code == codes.FITTED, found.code, fitting.code).astype(np.uint8)
    going = ~found.ended & (code == codes.FITTED)
    if last:
        code[going], going = codes.UNFINISHED, np.zeros_like(going)
    done = ~going
    if done.any():
        yield fitting.some(done).rows(study.plan, code[done], found.following[done], hessian[done])
    return np.asarray(going)


def _following(
    kind: type[Asked], asked: OfModels, going: np.ndarray, found: Advance, evaluation: int
) -> Asked:
    """The question about the trials of the variants that go on."""
    places = np.flatnonzero(asked.asked)
    left = np.zeros_like(asked.asked)
    left[places[going]] = asked.asked[places[going]]
    return _asked_as(
        kind,
        asked,
        asked=left,
        fill=asked.fill if asked.exact else asked.fill[going[asked.flagged(INCOMPLETE)]],
        beta=found.following[going],
        iteration=1 + int(found.ascent.taken[going].max()),
        evaluation=evaluation,
    )


def _asked_as(kind: type[Asked], question: OfModels, **changes: Any) -> Asked:
    """A question of another kind about the same, but for some fields."""
    same = {field.name: getattr(question, field.name) for field in fields(question)}
    return kind(**same | changes)


def _seconds(columns: int) -> float:
    """Per person and variant: the sums at the covariates' model, and as a rule two evaluations.

    An evaluation grows with its second derivatives; there is one in single precision and one in double, and
    the rest are of few variants.
    """
    operations = 40 + columns * (columns + 3) / 2
    return 0.33e-9 * -(-columns // 8) + (2.2e-9 + 3.1e-9) * operations / (40 + 6 * 9 / 2)


LOGISTIC = Algorithm(
    name="logistic",
    title="Logistic regression",
    method="Case status was regressed on the copies of A1 by maximum likelihood, as plink1.9 --logistic and "
    "plink2 --glm compute it.",
    traits=("case/control",),
    asks=(
        Census,
        Magnitude,
        Mean,
        Spread,
        FitCovariates,
        CountGenotypes,
        Start,
        Approach,
        Evaluate,
        OrderAlleles,
    ),
    procedure=logistic,
    files=regression_report.LOGISTIC_WRITERS,
    usual_files=("assoc",),
    options=(*options.REGRESSION, *options.ITERATION, options.BETA),
    cost=Cost(17e-6, _seconds),
    file_name=regression_report.file_name,
    columns=columns_of,
)
