"""Option of a linear regression that centres each cohort on its own means: cohorts apart.

The estimates are those of a regression that has an indicator of each cohort among its covariates.
"""

from __future__ import annotations

from unpooled.plan.common_options import COVAR_VARIANCE_STANDARDIZE
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.options import Place, Switch
from unpooled.plan.plan import Plan

FEWEST = 4
"""Cohorts, at the least. From the results follows the sum of n p^2 over the cohorts, for n people and
frequency p of an allele: with it one of three cohorts could work out the frequencies of both others."""


def _problem(is_on: bool, plan: Plan) -> str:
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


COHORTS_APART = Switch(
    name="cohorts_apart",
    came_later=True,
    label="Cohorts apart",
    hint="As with an indicator of each cohort among the covariates: cohorts are not compared with one "
    f"another. Each subtracts its own means, so that no sum is one cohort's. From {FEWEST} cohorts on.",
    place=Place.MODEL,
    fact="as with an indicator of each cohort among the covariates. No sum is one cohort's; but how far "
    "allele frequencies differ between cohorts follows from the results, and with few cohorts of known size "
    "that leaves few possibilities for the allele counts of each. With variants on X or Y the server and the "
    "cohorts learn sums by sex: by the exact rule for missing calls, of a person who alone is of another sex "
    "than the rest, that person's values about a cohort's means",
    methods="Cohorts were kept apart, as by an indicator of each among the covariates: genotypes, phenotypes "
    "and covariates were taken about each cohort's own means.",
    rule=_problem,
)


def is_apart(plan: Plan) -> bool:
    """Tell whether each cohort is centred on its own means."""
    return bool(COHORTS_APART.of(plan))


def few_cohorts(plan: Plan) -> dict[str, str]:
    """Say what is wrong with a linear regression whose cohorts are apart, by the plan's field."""
    if not is_apart(plan) or plan.alone or plan.cohorts >= FEWEST:
        return {}
    return {
        COHORTS_APART.name: f"needs at least {FEWEST} cohorts, not {plan.cohorts}: one of fewer could work "
        "out the allele frequencies of the others. Invite more, or have covariates say what differs between "
        "cohorts"
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
