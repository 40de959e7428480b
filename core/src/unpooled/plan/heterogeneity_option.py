"""Minimum number of cohorts for comparing their own estimates, and the option that allows fewer."""

from __future__ import annotations

from unpooled.plan.genotype_model import terms_of
from unpooled.plan.options import Place, Switch
from unpooled.plan.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS

META = "meta"
"""The result file, which is asked for like any other."""

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


def problem(plan: Plan) -> dict[str, str]:
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
