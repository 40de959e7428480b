"""Firth's penalised fit as an option of a study, with the three answers of plink2's --glm.

It is about plink2's report alone: PLINK 1.9 has no such fit, so `.assoc.logistic` stays as it is.
"""

from __future__ import annotations

from unpooled.plan.options import Answer, Choice, Place, of_test
from unpooled.plan.plan import Plan

FALLBACK, ALWAYS, NEVER = "firth-fallback", "firth", "no-firth"

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
