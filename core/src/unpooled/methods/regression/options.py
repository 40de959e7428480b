"""Options of regressions: cohorts apart, heterogeneity across cohorts, Firth's penalised fit."""

from __future__ import annotations

from unpooled.plan.common_options import COVAR_VARIANCE_STANDARDIZE, EXACT, MISSING
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.options import Answer, Choice, Place, Switch, of_test
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import META
from unpooled.protocol.messages import MIN_COHORTS

FEWEST_APART = 4
"""Cohorts, at the least. From the results follows the sum of n p^2 over the cohorts, for n people and
frequency p of an allele: with it one of three cohorts could work out the frequencies of both others."""


def _apart_problem(is_on: bool, plan: Plan) -> str:
    if not is_on:
        return ""
    if plan.masking != "modular":
        return "goes with modular masks only: normal noise would hide whether a variant varies in a cohort"
    if not terms_of(plan).is_plain:
        return "goes with the additive model without interactions"
    if COVAR_VARIANCE_STANDARDIZE.of(plan):
        return (
            "the pool's variance of a covariate is not known where cohorts are apart: leave out "
            f"{COVAR_VARIANCE_STANDARDIZE.flag}"
        )
    return ""


# Frisch and Waugh: about the cohorts' own means, the estimates are those with an indicator of each cohort.
COHORTS_APART = Switch(
    name="cohorts_apart",
    came_later=True,
    label="Cohorts apart",
    hint="As with an indicator of each cohort among the covariates: cohorts are not compared with one "
    f"another. Each subtracts its own means, so that no sum is one cohort's. From {FEWEST_APART} cohorts on.",
    place=Place.MODEL,
    fact="as with an indicator of each cohort among the covariates. No sum is one cohort's; but how far "
    "allele frequencies differ between cohorts follows from the results, and with few cohorts of known size "
    "that leaves few possibilities for the allele counts of each. With variants on X or Y the server and the "
    "cohorts learn sums by sex: by the exact rule for missing calls, of a person who alone is of another sex "
    "than the rest, that person's values about a cohort's means",
    methods="Cohorts were kept apart, as by an indicator of each among the covariates: genotypes, phenotypes "
    "and covariates were taken about each cohort's own means.",
    rule=_apart_problem,
)


def is_apart(plan: Plan) -> bool:
    """Tell whether each cohort is centred on its own means."""
    return bool(COHORTS_APART.of(plan))


def few_cohorts(plan: Plan) -> dict[str, str]:
    """Say what is wrong with a linear regression whose cohorts are apart, by the plan's field."""
    if not is_apart(plan) or plan.alone or plan.cohorts >= FEWEST_APART:
        return {}
    return {
        COHORTS_APART.name: f"needs at least {FEWEST_APART} cohorts, not {plan.cohorts}: one of fewer could "
        "work out the allele frequencies of the others. Invite more, or have covariates say what differs "
        "between cohorts"
    }


def not_apart(plan: Plan) -> dict[str, str]:
    """Say what is wrong with a logistic regression whose plan keeps cohorts apart, by the plan's field."""
    if not is_apart(plan):
        return {}
    return {
        COHORTS_APART.name: "a logistic regression cannot keep cohorts apart without showing them: it would "
        "take the sum of each variant's copies in each cohort, its allele count. Leave this out, choose a "
        "linear regression, or have the cohorts' own estimates compared: the result file meta"
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


FALLBACK, ALWAYS, NEVER = "firth-fallback", "firth", "no-firth"

# PLINK 1.9 has no such fit: `.assoc.logistic` stays as it is, whatever the answer.
FIRTH = Choice(
    name="firth",
    label="Firth's penalised fit",
    hint="For the PLINK 2 report: its estimates are finite where only cases or only controls have an allele.",
    default=FALLBACK,
    place=Place.MODEL,
    file="glm",
    answers=(
        Answer(
            FALLBACK,
            "Where the usual fit has no estimate",
            "As PLINK 2 does unless told otherwise.",
            "where the usual fit has no estimate, as PLINK 2; in its report only",
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
    """Return the answer that a study follows; NEVER if its test offers none, as in the first protocol."""
    offered = FIRTH in (of_test(plan.test) or ()) and plan.version > 1
    return str(FIRTH.of(plan)) if offered and "glm" in plan.files else NEVER


def is_exact(plan: Plan) -> bool:
    """Tell whether whoever lacks a call is left out of that variant, as in PLINK; else it is the mean."""
    return MISSING.of(plan) == EXACT
