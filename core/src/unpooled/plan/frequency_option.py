"""Option that counts how often a cohort's allele frequency is far from the pool's."""

from __future__ import annotations

from unpooled.plan.options import Place, Switch
from unpooled.plan.plan import Plan

FAR = 5
"""Deviations that no variant is away by chance, of a million or so."""


def _problem(is_on: bool, plan: Plan) -> str:
    if is_on and plan.masking != "modular":
        return "goes with modular masks only: normal noise would be larger than the number"
    return ""


FREQUENCY_FLAGS = Switch(
    name="frequency_flags",
    came_later=True,
    label="Count frequencies far from the pool's",
    hint="Each cohort compares its allele frequencies with the pool's. How often they differ by more than "
    f"{FAR} standard deviations is summed over cohorts and variants: one number, near 0 where all have "
    "people of one population, on the same strand.",
    place=Place.FILTERS,
    fact="each cohort compares its allele frequencies on the autosomes with the pool's, and how often they "
    f"differ by more than {FAR} standard deviations is summed; no cohort's own number is shown, but one of "
    "three that subtracts its own knows that of the two others together",
    methods="Allele frequencies of each cohort were compared with the pool's, and differences beyond "
    f"{FAR} standard deviations were counted over all cohorts together.",
    rule=_problem,
)
