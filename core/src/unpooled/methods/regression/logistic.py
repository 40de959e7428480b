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

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unpooled.asking.procedure import Asks, Call, Each, Finish, Go, Procedure, Study, procedure
from unpooled.kernels import least_squares as codes
from unpooled.kernels.newton import newton
from unpooled.methods.algorithm import Cost
from unpooled.methods.regression.ascent import MOST_EVALUATIONS, Advance, Ascent
from unpooled.methods.regression.beginning import count_and_standardise
from unpooled.methods.regression.counts import (
    CountCodedDosages,
    CountDosages,
    CountGenotypes,
    OrderBeforeFit,
    count,
    order_of,
    ordered,
    report_ties,
)
from unpooled.methods.regression.firth import EvaluatePenalised, Penalty, fit_penalised
from unpooled.methods.regression.fitting import (
    CovariatesModel,
    Fitting,
    Left,
    first_trial,
    refuse_without_a_model,
)
from unpooled.methods.regression.floors import CountCarriers, are_few, find_few_carriers
from unpooled.methods.regression.locus_questions import has_credible_sets
from unpooled.methods.regression.logistic_questions import (
    Approach,
    Evaluate,
    FitCovariates,
    OfModels,
    Start,
    StartApart,
    about_some,
    model_of,
    models_of,
)
from unpooled.methods.regression.method import HETEROGENEITY, evaluation, regression
from unpooled.methods.regression.null_model import Begun, NullModel
from unpooled.methods.regression.options import FIRTH, ROBUST, few_cohorts
from unpooled.methods.regression.pool import Pool
from unpooled.methods.regression.robust import SquareResiduals
from unpooled.methods.regression.saddlepoint import SADDLEPOINT
from unpooled.methods.regression.saddlepoint_questions import has_saddlepoint
from unpooled.methods.regression.within import EvaluateWithin, FitCovariatesWithin
from unpooled.methods.shared.chunks import DIPLOID, Chunk
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.options import COHORTS_APART, is_apart
from unpooled.methods.shared.standardise import PooledColumns
from unpooled.plan import common_options as options
from unpooled.plan.genotype_model import terms_of

NEIGHBOURS = 8
"""Chunks whose variants are put together for Firth's fit: kept until all are through."""

_TAME = 0.1
"""Half the Newton decrement up to which a step in single precision is taken without a look: half a standard
error, on which a likelihood hardly bends."""

_NOISE = 1e-10
"""Below this, single precision cannot tell the step."""

_MODEST = 5.0
"""Log odds of the genotype up to which Firth's fit begins at the usual estimate. Dosages just above 0 in all
cases but one have that estimate far out, where Firth's likelihood may have a second, lower maximum."""


@procedure("logistic")
def logistic(study: Study) -> Asks[Begun | None]:
    """Fit the covariates alone, for each class of chromosomes; from there fit chunk by chunk.

    Gives the model without genotypes of the autosomes if its plan has use for it.
    """
    pool, columns, few, chunks = yield from count_and_standardise(study)
    kind = FitCovariatesWithin if is_apart(study.plan) else FitCovariates
    starts = {coding: kind.first(study.plan, pool, columns, coding) for coding in models_of(chunks)}
    fits = {coding: start for coding, start in starts.items() if not are_few(coding, few)}
    found = yield Each(
        fit_covariates(study, start, columns, Ascent.begin(start.beta[None])) for start in fits.values()
    )
    models = {coding: CovariatesModel.none(start, columns) for coding, start in starts.items()}
    models |= dict(zip(fits, found, strict=True))
    if not study.plan.alone:
        refuse_without_a_model(study.plan, found)
    ties = yield Each(
        fit_neighbours(study, some, pool, models[model_of(some[0].chromosome)], few)
        for some in _neighbours(chunks)
    )
    yield Finish(report_ties(study, tuple(itertools.chain(*ties))))
    if DIPLOID not in models or not (has_credible_sets(study.plan) or has_saddlepoint(study.plan)):
        return None
    return Begun(pool, NullModel.of_cases(pool, columns, models[DIPLOID]))


def _neighbours(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, ...]]:
    """Chunks of one coding that lie side by side, at most `NEIGHBOURS` of them."""
    for _, some in itertools.groupby(chunks, key=lambda chunk: chunk.chromosome):
        alike = tuple(some)
        yield from (alike[k : k + NEIGHBOURS] for k in range(0, len(alike), NEIGHBOURS))


@procedure("logistic/covariates")
def fit_covariates(
    study: Study, asked: FitCovariates, columns: PooledColumns, ascent: Ascent
) -> Asks[CovariatesModel]:
    """Evaluate the model without genotype, take or refuse the trial, and go on until it has converged."""
    sums = yield asked
    each = sums["likelihood"][None], sums["gradient"][None], sums["hessian"][None]
    found = ascent.advance(asked.beta[None], *each, study.plan, asked.grid)
    code = int(found.code[0])
    if not found.ended[0] and code == codes.FITTED:
        if asked.evaluation < MOST_EVALUATIONS:
            following = asked.further(found.following[0], 1 + int(found.ascent.taken[0]))
            return (yield from Go(fit_covariates(study, following, columns, found.ascent)))
        code = codes.UNFINISHED
    return CovariatesModel(
        with_sex=asked.with_sex,
        people=asked.people,
        columns=columns,
        beta=asked.beta,
        gradient=sums["gradient"],
        hessian=sums["hessian"],
        likelihood=float(sums["likelihood"]),
        code=code,
    )


@procedure("logistic/neighbours")
def fit_neighbours(
    study: Study, chunks: tuple[Chunk, ...], pool: Pool, model: CovariatesModel, few: tuple[str, ...]
) -> Asks[tuple[Counted, ...]]:
    """Fit chunks side by side; then those of their variants together that by their counts need Firth's fit.

    They are few and take many rounds: asked about chunk by chunk they would cost more than all others.
    """
    left = yield Each(fit_chunk(study, chunk, pool, model, few) for chunk in chunks)
    fallen = Fitting.joined([each.fallen for each in left])
    if count := len(fallen.n):
        whole = Chunk(chunks[0].start, chunks[-1].stop, chunks[0].chromosome)
        parts = np.array_split(np.arange(count), -(-count // study.plan.chunk_size))
        yield Each(_penalised(study, whole, fallen.some(part)) for part in parts)
    return tuple(each.ties for each in left)


@procedure("logistic/chunk")
def fit_chunk(
    study: Study, chunk: Chunk, pool: Pool, model: CovariatesModel, few: tuple[str, ...]
) -> Asks[Left]:
    """Count the genotypes of a chunk, and start with the variants that can have an estimate.

    `few` are those of the `SEXES` of whom there are too few for any.
    """
    counted, ties = yield from count(study, chunk, pool, exponent=0)
    too_few = yield from find_few_carriers(study, chunk, pool, counted, few)
    order = yield from order_of(study, chunk, counted, too_few)
    fitting, calls = Fitting.of(study.plan, chunk.chromosome, pool, model, counted, order, too_few)
    tied = order[1]
    # Before plink2 falls back for a separated variant, it looks at the columns.
    looked_at = () if terms_of(study.plan).is_plain else (codes.SEPARATED,)
    going = tied | np.isin(fitting.code, (codes.FITTED, *looked_at))
    if not going.all():
        done = fitting.some(~going)
        yield done.rows(study.plan, done.code)
    left = Left(ties, fitting.some(~going & fitting.falls_back(study.plan, fitting.code)))
    if not going.any():
        return left
    some = fitting.some(going)
    asked = some.start(study.plan, chunk, calls.some(going), tied[going])
    if terms_of(study.plan).is_plain and not is_apart(study.plan):
        return (yield from Go(begin(study, asked, some, left)))
    every, start = np.ones(len(some.n), bool), some.begin(study.plan)
    kind = EvaluateWithin if is_apart(study.plan) else StartApart
    asked_apart = about_some(kind, asked, every, start, iteration=1, evaluation=1)
    return (yield from Go(begin_apart(study, asked_apart, some, left)))


@procedure("logistic/start")
def begin(study: Study, asked: Start, fitting: Fitting, left: Left) -> Asks[Left]:
    """Step from the covariates' model, and settle which allele of a tie is A1."""
    sums = yield asked
    tied = asked.is_tied
    order = ordered(fitting.first_is_a1, tied, sums["first"], study.plan.cohorts)
    fitting = replace(fitting, first_is_a1=order)
    found, hessian = first_trial(study.plan, asked, fitting, sums)
    return (yield from _go_on(study, asked, fitting, found, hessian, left, Approach))


@procedure("logistic/begin")
def begin_apart(study: Study, asked: Evaluate, fitting: Fitting, left: Left) -> Asks[Left]:
    """Step from a model without effects where the genotype is more, or something else, than copies, or where
    cohorts are apart.
    """
    sums = yield asked
    each = sums["likelihood"], sums["gradient"], sums["hessian"]
    found = Ascent.begin(asked.beta).advance(asked.beta, *each, study.plan, asked.grid)
    fitting = fitting.looked_at(study.plan, sums["hessian"])
    code = np.where((found.code != codes.FITTED) & (fitting.refused > 0), fitting.refused, found.code)
    found = replace(found, ascent=replace(found.ascent, whole=np.zeros(asked.variants, bool)), code=code)
    about = asked, fitting, found, sums["hessian"], left
    if is_apart(study.plan):
        return (yield from _go_on(study, *about, EvaluateWithin, asked.evaluation))
    return (yield from _go_on(study, *about, Approach))


@procedure("logistic/approach")
def approach(study: Study, asked: Approach, fitting: Fitting, ascent: Ascent, left: Left) -> Asks[Left]:
    """Take another step without a look at the likelihood, where it is a small one."""
    sums = yield asked
    step, decrement, _, code = newton(asked.gradient(sums), sums["hessian"])
    tame = (code == codes.FITTED) & (decrement <= _TAME) & (decrement >= _NOISE)
    beta = np.where(tame[:, None], asked.beta + step, asked.beta)
    following = about_some(Evaluate, asked, np.ones(len(tame), bool), beta=beta)
    return (yield from Go(fit(study, following, fitting, ascent, left)))


@procedure("logistic/evaluate")
def fit(study: Study, asked: Evaluate, fitting: Fitting, ascent: Ascent, left: Left) -> Asks[Left]:
    """Evaluate the models at their trials, report those that have ended, and go on with the others."""
    sums = yield asked
    each = sums["likelihood"], sums["gradient"], sums["hessian"]
    found = ascent.advance(asked.beta, *each, study.plan, asked.grid)
    about = asked, fitting, found, sums["hessian"], left
    kind = EvaluateWithin if is_apart(study.plan) else Evaluate
    return (yield from _go_on(study, *about, kind, asked.evaluation))


@procedure("logistic/squares")
def square_residuals(
    study: Study, asked: SquareResiduals, fitting: Fitting, beta: np.ndarray, hessian: np.ndarray
) -> Asks[None]:
    """Sum the squared residuals of variants that have an estimate, and report them with robust errors."""
    squares = (yield asked)["squares"]
    yield fitting.rows(study.plan, fitting.code, beta, hessian, squares=squares)


def _penalised(study: Study, chunk: Chunk, fitting: Fitting) -> Call[None]:
    """Firth's fit of variants of which counts alone tell that they need it."""
    none = np.zeros(len(fitting.n), bool)
    about = fitting.start(study.plan, chunk, fitting.calls(study.plan), none)
    return fit_penalised(study, about, ~none, fitting, fitting.penalised_start(study.plan))


def _go_on(
    study: Study,
    asked: OfModels,
    fitting: Fitting,
    found: Advance,
    hessian: np.ndarray,
    left: Left,
    kind: type[Evaluate],
    taken: int = 0,
) -> Asks[Left]:
    """Report the variants that have an estimate, or cannot have one, and go on with the others.

    Of these a question of the `kind` is next, unless as many evaluations as are allowed were `taken`; side by
    side with it runs Firth's fit of those that fall back, if there are any.
    """
    code = np.where(fitting.code == codes.FITTED, found.code, fitting.code).astype(np.uint8)
    going = ~found.ended & (code == codes.FITTED)
    if taken == MOST_EVALUATIONS:  # no more were foreseen, and people were told so
        code[going], going = codes.UNFINISHED, np.zeros_like(going)
    done = ~going
    fitted = done & (code == codes.FITTED) & ROBUST.of(study.plan)
    if fitted.any():
        last = about_some(
            SquareResiduals, asked, fitted, beta=found.following[fitted], iteration=1, evaluation=1
        )
        about = last, fitting.some(fitted), found.following[fitted], hessian[fitted]
        yield Finish(square_residuals(study, *about), may_lead=True)
    if (rest := done & ~fitted).any():
        yield fitting.some(rest).rows(study.plan, code[rest], found.following[rest], hessian[rest])
    calls: list[Call[Left]] = []
    if going.any():
        # A branch's questions go by the order in which it lists calls: the usual fit first, then Firth's.
        ascent, at = found.ascent.some(going), found.following[going]
        step = {"iteration": 1 + int(ascent.taken.max()), "evaluation": taken + 1}
        following = about_some(kind, asked, going, beta=at, **step)
        proceed: Procedure[Any, Left] = approach if kind is Approach else fit
        calls.append(proceed(study, following, fitting.some(going), ascent, left))
    fallen = done & fitting.falls_back(study.plan, code)
    if fallen.any():
        some, usual = fitting.some(fallen), found.following[fallen]
        near = (code[fallen] == codes.FITTED) & (np.abs(usual[:, 1]) <= _MODEST)
        beta = np.where(near[:, None], usual, some.penalised_start(study.plan))
        yield Each([*calls, fit_penalised(study, asked, fallen, some, beta)])
        return left
    return (yield from Go(calls[0])) if calls else left


def _seconds(columns: int) -> float:
    """Per person and variant: the sums at the covariates' model, and as a rule two evaluations.

    There is one in single precision and one in double, and the rest are of few variants.
    """
    return 0.33e-9 * -(-columns // 8) + evaluation(columns, 2.2e-9) + evaluation(columns)


LOGISTIC = regression(
    "logistic",
    "Logistic regression",
    "case/control",
    "Case status was regressed on the copies of A1 by maximum likelihood",
    logistic,
    asks=(
        FitCovariates,
        FitCovariatesWithin,
        CountDosages,
        CountCodedDosages,
        CountGenotypes,
        CountCarriers,
        OrderBeforeFit,
        Start,
        StartApart,
        Approach,
        Evaluate,
        EvaluateWithin,
        SquareResiduals,
        EvaluatePenalised,
        Penalty,
    ),
    options=(COHORTS_APART, HETEROGENEITY, FIRTH, *options.ITERATION, options.BETA),
    before_clumps=(SADDLEPOINT,),
    rule=few_cohorts,
    # Dosages are read four times, counted, summed, and evaluated in single and in double precision.
    cost=Cost(17e-6, _seconds, (4 * 0.5 + 0.14 + 0.3 + 0.3 + 0.7) * 1e-9),
)
