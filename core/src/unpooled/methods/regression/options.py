"""Options of regressions: heterogeneity across cohorts, robust errors, Firth's penalised fit."""

from __future__ import annotations

from unpooled.methods.shared.options import COHORTS_APART, FEWEST_APART, is_apart
from unpooled.plan.common_options import EXACT, MISSING
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.options import Answer, Choice, Place, Switch, of_test
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import META
from unpooled.protocol.messages import MIN_COHORTS


def few_cohorts(plan: Plan) -> dict[str, str]:
    """Say what is wrong with a regression whose cohorts are apart, by the plan's field."""
    if not is_apart(plan) or plan.alone or plan.cohorts >= FEWEST_APART:
        return {}
    return {
        COHORTS_APART.name: f"needs at least {FEWEST_APART} cohorts, not {plan.cohorts}: one of fewer could "
        "work out the allele frequencies of the others. Invite more, or have covariates say what differs "
        "between cohorts"
    }


FEWEST, FEWEST_OF_RANDOM = 4, 5
"""Minimum number of cohorts with an estimate of a variant, for fixed effect, Q and I^2; and for a random
effect that differs from the fixed one, unless a study allows fewer. A cohort that subtracts its own
contribution knows four numbers about the others, or six with the random effect. Two others have only four
numbers, an estimate and a standard error each; three others have six.
"""

FEW_STUDIES = Switch(
    name="few_studies",
    came_later=True,
    label="Heterogeneity across fewer cohorts",
    hint=f"Effects are combined from {MIN_COHORTS} cohorts on, instead of {FEWEST}, random ones of "
    f"{FEWEST_OF_RANDOM}. One of so few that subtracts its own estimate can work out those of the others, "
    "though not whose each is.",
    place=Place.MODEL,
    file=META,
    fact=f"from {MIN_COHORTS} cohorts with an estimate on: one of them can work out the others' estimates, "
    "though not whose each is",
    off=f"only where at least {FEWEST} cohorts have an estimate, the random effect where {FEWEST_OF_RANDOM}",
    is_always_said=True,
)


def fewest_studies(plan: Plan) -> int:
    """Return the minimum number of cohorts with an estimate of a variant for a line with numbers."""
    return MIN_COHORTS if FEW_STUDIES.of(plan) else FEWEST


def fewest_of_random(plan: Plan) -> int:
    """Return that minimum for a random effect that differs from the fixed one."""
    return MIN_COHORTS if FEW_STUDIES.of(plan) else FEWEST_OF_RANDOM


def meta_problem(plan: Plan) -> dict[str, str]:
    """Say what is wrong with a plan that asks for the file, by the plan's field."""
    if META not in plan.files or plan.alone:
        return {}
    if not terms_of(plan).is_plain:
        return {
            "files": "heterogeneity is of the effect of a copy of A1: leave out this file, or choose the "
            "additive model without interactions"
        }
    if plan.cohorts >= (fewest := fewest_studies(plan)):
        return {}
    return {
        "files": f"heterogeneity needs at least {fewest} cohorts, not {plan.cohorts}: one of fewer could "
        "work out the others' estimates. Invite more, leave out this file, or allow fewer cohorts for it"
    }


def _robust_problem(is_on: bool, plan: Plan) -> str:
    if not is_on:
        return ""
    if plan.masking != "modular":
        return "goes with modular masks only: normal noise would be larger than the sums of few people"
    if is_apart(plan):
        return f"does not go with {COHORTS_APART.name_and_flag}: choose one of them"
    if META in plan.files:
        return "heterogeneity is by the usual errors of the cohorts' estimates: leave out the file meta"
    return ""


ROBUST = Switch(
    name="robust",
    came_later=True,
    label="Robust standard errors",
    hint="Valid also where the phenotype varies more in some people than in others, or a covariate's effect "
    "is not a line (sandwich estimator, HC1): above all for interactions. Of rare variants they come out too "
    "small.",
    place=Place.MODEL,
    fact="by a sandwich estimator, whatever the phenotype's variance. For it cohorts are told the sums that "
    "a variant's estimates follow from. Where missing calls are the mean, variants of few carriers have no "
    "result; else these sums may be of a single carrier, or of one person without a call, without name",
    methods="Standard errors were robust, by the sandwich estimator (HC1 in linear regression).",
    rule=_robust_problem,
)

FALLBACK, ALWAYS, NEVER = "firth-fallback", "firth", "no-firth"


def _firth_problem(answer: str, plan: Plan) -> str:
    others = COHORTS_APART.flag_here * is_apart(plan), ROBUST.flag_here * ROBUST.of(plan)
    if answer != ALWAYS or not any(others):
        return ""
    return f"does not go with {next(filter(None, others))}: choose one of them"


# PLINK 1.9 has no such fit: `.assoc.logistic` stays as it is, whatever the answer.
FIRTH = Choice(
    name="firth",
    label="Firth's penalised fit",
    hint="For the PLINK 2 report: its estimates are finite where only cases or only controls have an allele.",
    default=FALLBACK,
    place=Place.MODEL,
    file="glm",
    meant_if=lambda plan: not (is_apart(plan) or ROBUST.of(plan)),
    rule=_firth_problem,
    answers=(
        Answer(
            FALLBACK,
            "Where the usual fit has no estimate",
            "As PLINK 2 does unless told otherwise.",
            "where the usual fit has no estimate, as in PLINK 2; in its report only",
            "Where the likelihood has no maximum, the PLINK 2 report has Firth's penalised estimates.",
        ),
        Answer(
            ALWAYS,
            "For every variant",
            "Takes about twice as long.",
            "for every variant, in the PLINK 2 report only",
            "The PLINK 2 report has Firth's penalised estimates.",
        ),
        Answer(NEVER, "Never", "Such variants have no result.", "never"),
    ),
)


def choice(plan: Plan) -> str:
    """Return the answer that a study follows; NEVER if its test offers none, as in the first protocol, and
    where cohorts are apart: the penalty would be of all their intercepts, too; or with robust errors, which a
    penalised estimate does not have.
    """
    offered = FIRTH in (of_test(plan.test) or ()) and plan.version > 1 and FIRTH.meant_if(plan)
    return str(FIRTH.of(plan)) if offered and "glm" in plan.files else NEVER


def is_exact(plan: Plan) -> bool:
    """Tell whether whoever lacks a call is left out of that variant, as in PLINK; else it is the mean."""
    return MISSING.of(plan) == EXACT
