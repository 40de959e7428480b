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

import numpy as np

from unpooled.asking.procedure import Asks, Call, Each, Finish, Go, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.formats import regression_report
from unpooled.kernels import least_squares as codes
from unpooled.kernels.newton import newton
from unpooled.methods.algorithm import Cost, VariantMethod
from unpooled.methods.ld.lead_questions import LEADS_ASKS
from unpooled.methods.ld.leads import clumped_or, with_leads
from unpooled.methods.ld.options import PRUNE_COMPONENTS
from unpooled.methods.regression.about_variants import FIRST, INCOMPLETE, SECOND, TIED
from unpooled.methods.regression.ascent import MOST_EVALUATIONS, Advance, Ascent
from unpooled.methods.regression.conditions import (
    CountConditions,
    OrderConditions,
    find_conditions,
    pooled_columns,
)
from unpooled.methods.regression.dependent import about_means, refuse_dependent
from unpooled.methods.regression.dosages import CountDosages, count
from unpooled.methods.regression.firth import fit_penalised
from unpooled.methods.regression.firth_questions import EvaluatePenalised, Penalty, has_penalised_fit
from unpooled.methods.regression.fitting import CovariatesModel, Fitting, Left
from unpooled.methods.regression.floors import CountCarriers, CountInside, find_few, find_few_carriers
from unpooled.methods.regression.heterogeneity import ESTIMATES_ASKS, compare_cohorts, with_meta
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
from unpooled.methods.regression.ordering import OrderBeforeFit, order_of
from unpooled.methods.regression.own_columns import CodedCalls
from unpooled.methods.regression.pool import (
    Calls,
    Census,
    CountGenotypes,
    OrderAlleles,
    Pool,
    chunks_of,
    columns_of,
    count_people,
    ordered,
    report_ties,
)
from unpooled.methods.regression.symmetric import pairs
from unpooled.methods.shared.allele_coding import sexes
from unpooled.methods.shared.chunks import Chunk
from unpooled.methods.shared.frequencies import CountFar
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.some_variants import flags
from unpooled.methods.shared.standardise import Magnitude, Mean, PooledColumns, Spread
from unpooled.plan import common_options as options
from unpooled.plan import genotype_model, heterogeneity_option
from unpooled.plan.apart_option import not_apart
from unpooled.plan.clump_option import CLUMPING
from unpooled.plan.common_options import MISSING
from unpooled.plan.dosage_option import DOSAGES, OF_DOSAGES
from unpooled.plan.firth_option import ALWAYS, FIRTH, choice
from unpooled.plan.frequency_option import FREQUENCY_FLAGS
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.heterogeneity_option import FEW_STUDIES
from unpooled.plan.plan import EXACT, Plan
from unpooled.plan.templates import with_components

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

_DETERMINED = 1e6
"""Variance inflation factor of a covariate that others determine but for rounding."""


@procedure("logistic")
def logistic(study: Study) -> Asks[None]:
    """Fit the covariates alone, for each class of chromosomes; from there fit chunk by chunk."""
    conditions = find_conditions(study)
    pool = yield from count_people(study)
    columns = yield from pooled_columns(study, pool, conditions)
    chunks = chunks_of(study, pool)
    few = yield from find_few(study, columns)
    starts = {coding: FitCovariates.first(study.plan, pool, columns, coding) for coding in models_of(chunks)}
    fits = {coding: start for coding, start in starts.items() if {*few}.isdisjoint(sexes(coding))}
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


def refuse_without_a_model(plan: Plan, models: Sequence[CovariatesModel]) -> None:
    """Refuse if covariates determine one another wherever there are variants.

    Unlike in linear regression there is a result if they do so nearly, in PLINK 1.9 too.
    """
    if any(model.code != codes.COLLINEAR for model in models):
        return
    for model in models:
        weight, sums, products = np.split(
            model.hessian, [1, len(model.beta)]
        )  # the first are the intercept's
        refuse_dependent(plan, about_means(sums, products, weight.item()), _DETERMINED)


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
    counted, ties = yield from count(study, chunk, pool)
    yield from compare_cohorts(study, chunk, counted, exponent=0)
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
    left = Left(ties, fitting.some(~going & _falls_back(study.plan, fitting, fitting.code)))
    if not going.any():
        return left
    some = fitting.some(going)
    asked = _start(study.plan, chunk, some, calls.some(going), tied[going])
    if terms_of(study.plan).is_plain:
        return (yield from Go(begin(study, asked, some, left)))
    every, start = np.ones(len(some.n), bool), some.begin(study.plan)
    asked_apart = about_some(StartApart, asked, every, start, iteration=1, evaluation=1)
    return (yield from Go(begin_apart(study, asked_apart, some, left)))


@procedure("logistic/start")
def begin(study: Study, asked: Start, fitting: Fitting, left: Left) -> Asks[Left]:
    """Step from the covariates' model, and settle which allele of a tie is A1."""
    sums = yield asked
    tied = asked.flagged(TIED)
    order = ordered(fitting.first_is_a1, tied, sums["first"], study.plan.cohorts)
    fitting = replace(fitting, first_is_a1=order)
    found, hessian = _first_trial(study.plan, asked, fitting, sums)
    going, fallen = yield from _report_ended(study, asked, fitting, found, hessian)
    rest = None
    if going.any():
        following = about_some(
            Approach,
            asked,
            going,
            beta=found.following[going],
            iteration=_iteration(found, going),
            evaluation=1,
        )
        rest = approach(study, following, fitting.some(going), found.ascent.some(going), left)
    return (yield from _go_on(rest, fallen, left))


@procedure("logistic/begin")
def begin_apart(study: Study, asked: StartApart, fitting: Fitting, left: Left) -> Asks[Left]:
    """Step from a model without effects where the genotype is more, or something else, than copies."""
    sums = yield asked
    each = sums["likelihood"], sums["gradient"], sums["hessian"]
    found = Ascent.begin(asked.beta).advance(asked.beta, *each, study.plan, asked.grid)
    fitting = fitting.looked_at(study.plan, sums["hessian"])
    code = np.where((found.code != codes.FITTED) & (fitting.refused > 0), fitting.refused, found.code)
    found = replace(found, ascent=replace(found.ascent, whole=np.zeros(asked.variants, bool)), code=code)
    going, fallen = yield from _report_ended(study, asked, fitting, found, sums["hessian"])
    rest = None
    if going.any():
        at = {"beta": found.following[going], "iteration": _iteration(found, going), "evaluation": 1}
        following = about_some(Approach, asked, going, **at)
        rest = approach(study, following, fitting.some(going), found.ascent.some(going), left)
    return (yield from _go_on(rest, fallen, left))


@procedure("logistic/approach")
def approach(study: Study, asked: Approach, fitting: Fitting, ascent: Ascent, left: Left) -> Asks[Left]:
    """Take another step without a look at the likelihood, where it is a small one."""
    sums = yield asked
    step, decrement, _, code = newton(sums["gradient"], sums["hessian"])
    tame = (code == codes.FITTED) & (decrement <= _TAME) & (decrement >= _NOISE)
    beta = np.where(tame[:, None], asked.beta + step, asked.beta)
    following = about_some(Evaluate, asked, np.ones(len(tame), bool), beta=beta)
    return (yield from Go(fit(study, following, fitting, ascent, left)))


@procedure("logistic/evaluate")
def fit(study: Study, asked: Evaluate, fitting: Fitting, ascent: Ascent, left: Left) -> Asks[Left]:
    """Evaluate the models at their trials, report those that have ended, and go on with the others."""
    sums = yield asked
    found = ascent.advance(
        asked.beta, sums["likelihood"], sums["gradient"], sums["hessian"], study.plan, asked.grid
    )
    going, fallen = yield from _report_ended(
        study, asked, fitting, found, sums["hessian"], last=asked.evaluation == MOST_EVALUATIONS
    )
    rest = None
    if going.any():
        following = about_some(
            Evaluate,
            asked,
            going,
            beta=found.following[going],
            iteration=_iteration(found, going),
            evaluation=asked.evaluation + 1,
        )
        rest = fit(study, following, fitting.some(going), found.ascent.some(going), left)
    return (yield from _go_on(rest, fallen, left))


def _start(plan: Plan, chunk: Chunk, fitting: Fitting, calls: Calls, tied: np.ndarray) -> Start:
    """The question about variants at the covariates' model."""
    model, lacking, exact = fitting.model, calls.incomplete, MISSING.of(plan) == EXACT
    wanted = np.where(fitting.counts_first, FIRST, SECOND) + INCOMPLETE * lacking + TIED * tied
    terms = terms_of(plan)
    fill = CodedCalls.of(calls, terms, chunk.chromosome, fitting.counts_first).fill
    return Start(
        start=chunk.start,
        asked=flags(chunk, fitting.variants.variants, wanted),
        chromosome=chunk.chromosome,
        with_sex=model.with_sex,
        exact=exact,
        fill=fill[lacking & (not exact)],
        people=model.people,
        centre=model.columns.centre,
        exponent=model.columns.exponent,
        beta=model.beta,
        cohorts=plan.cohorts,
        model=terms.model,
        interacting=terms.interacting,
        dosages=DOSAGES.of(plan),
    )


def _penalised(study: Study, chunk: Chunk, fitting: Fitting) -> Call[None]:
    """Firth's fit of variants of which counts alone tell that they need it."""
    none = np.zeros(len(fitting.n), bool)
    about = _start(study.plan, chunk, fitting, fitting.calls(study.plan), none)
    return fit_penalised(study, about, ~none, fitting, fitting.penalised_start(study.plan))


def _falls_back(plan: Plan, fitting: Fitting, code: np.ndarray) -> np.ndarray:
    """Mark the variants that Firth's fit takes over, given the code with which the usual fit ended: bool
    (m,).
    """
    depends = fitting.model.code not in (codes.FITTED, codes.UNFINISHED)  # columns, on one another
    if depends or not has_penalised_fit(plan, fitting.coding):
        return np.zeros(len(code), bool)
    others = (codes.FITTED,) if choice(plan) == ALWAYS else ()
    without = np.isin(code, (codes.SEPARATED, codes.UNFINISHED, *others)) & (fitting.refused == codes.FITTED)
    return np.asarray(without & fitting.counted_calls(plan).has_both)


def _go_on(rest: Call[Left] | None, fallen: Call[None] | None, left: Left) -> Asks[Left]:
    """Go on with the variants that are left, side by side with those that fell back, if there are any."""
    if fallen is not None:
        yield Each([fallen] if rest is None else [rest, fallen])
        return left
    return left if rest is None else (yield from Go(rest))


def _first_trial(plan: Plan, start: Start, fitting: Fitting, sums: Arrays) -> tuple[Advance, np.ndarray]:
    """Choose the first trial after the covariates' model; return it with the Hessians there, from the sums
    that `Start` asks for.
    """
    likelihood, gradient, hessian = _at_covariates_model(start, fitting.model, sums)
    here = np.tile(np.insert(start.beta, 1, 0.0), (start.variants, 1))
    found = Ascent.begin(here).advance(here, likelihood, gradient, hessian, plan, start.grid)
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
    study: Study,
    asked: OfModels,
    fitting: Fitting,
    found: Advance,
    hessian: np.ndarray,
    *,
    last: bool = False,
) -> Asks[tuple[np.ndarray, Call[None] | None]]:
    """Report the variants that have an estimate, or cannot have one.

    The others go on: bool (m,); after the `last` evaluation none does. Beside them, Firth's fit of those that
    fall back, if there are any.
    """
    code = np.where(fitting.code == codes.FITTED, found.code, fitting.code).astype(np.uint8)
    going = ~found.ended & (code == codes.FITTED)
    if last:
        code[going], going = codes.UNFINISHED, np.zeros_like(going)
    done = ~going
    if done.any():
        yield fitting.some(done).rows(study.plan, code[done], found.following[done], hessian[done])
    fallen = done & _falls_back(study.plan, fitting, code)
    if not fallen.any():
        return going, None
    some, usual = fitting.some(fallen), found.following[fallen]
    near = (code[fallen] == codes.FITTED) & (np.abs(usual[:, 1]) <= _MODEST)
    beta = np.where(near[:, None], usual, some.penalised_start(study.plan))
    return going, fit_penalised(study, asked, fallen, some, beta)


def _iteration(found: Advance, going: np.ndarray) -> int:
    """The largest number of the steps that lead to the trials of some models: bool (m,)."""
    return 1 + int(found.ascent.taken[going].max())


def _seconds(columns: int) -> float:
    """Per person and variant: the sums at the covariates' model, and as a rule two evaluations.

    An evaluation grows with its second derivatives; there is one in single precision and one in double, and
    the rest are of few variants.
    """
    operations = 40 + columns * (columns + 3) / 2
    return 0.33e-9 * -(-columns // 8) + (2.2e-9 + 3.1e-9) * operations / (40 + 6 * 9 / 2)


LOGISTIC = VariantMethod(
    name="logistic",
    title="Logistic regression",
    method="Case status was regressed on the copies of A1 by maximum likelihood, as plink1.9 --logistic and "
    "plink2 --glm compute it.",
    traits=("case/control",),
    asks=(
        Census,
        CountConditions,
        OrderConditions,
        Magnitude,
        Mean,
        Spread,
        CountInside,
        FitCovariates,
        CountDosages,
        CountGenotypes,
        CountFar,
        CountCarriers,
        OrderBeforeFit,
        *ESTIMATES_ASKS,
        Start,
        StartApart,
        Approach,
        Evaluate,
        EvaluatePenalised,
        Penalty,
        OrderAlleles,
        *LEADS_ASKS,
    ),
    procedure=with_leads(logistic),
    files=regression_report.LOGISTIC_WRITERS,
    usual_files=("assoc",),
    options=(
        *options.REGRESSION,
        PRUNE_COMPONENTS,
        *genotype_model.OPTIONS,
        FEW_STUDIES,
        FIRTH,
        *options.ITERATION,
        options.BETA,
        *OF_DOSAGES,
        FREQUENCY_FLAGS,
        *CLUMPING,
    ),
    templates=(with_components("logistic"),),
    rules=lambda plan: (
        genotype_model.names_problem(plan) | heterogeneity_option.problem(plan) | not_apart(plan)
    ),
    # Dosages are read four times, counted, summed, and evaluated in single and in double precision.
    cost=Cost(17e-6, _seconds, (4 * 0.5 + 0.14 + 0.3 + 0.3 + 0.7) * 1e-9),
    file_name=regression_report.file_name,
    columns=clumped_or(columns_of),
    looked_at=with_meta,
)
