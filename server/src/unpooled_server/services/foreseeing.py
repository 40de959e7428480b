"""Forecast of a study from its plan alone: what it computes and sends, in how many bytes and seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from unpooled.asking import sizes
from unpooled.asking.question import words
from unpooled.described.what_leaves import usual_bytes, what_leaves
from unpooled.methods import algorithm, questions_of
from unpooled.methods.algorithm import VariantMethod
from unpooled.methods.shared.options import DOSAGES
from unpooled.plan.plan import NO_KEY, Plan
from unpooled_server.reads.selectors import facts_of
from unpooled_server.services.changing import as_plan, checked

VARIANTS, PEOPLE = 1_000_000, 1_000
"""A cohort as there are many, for which bytes and seconds are foreseen: nobody knows the real ones yet."""
_QUESTION, _NUMBER, _PERSON = 0.5, 0.2e-6, 1e-9
"""Seconds from one question about tables to the next; more for each number of an answer, and for each person
who is in it: docs/performance.md.
"""
_ID_BYTES = 30  # of a variant in a list, with alleles and place
_SIZES = {
    **dict.fromkeys((sizes.VARIANTS, sizes.AUTOSOMAL, sizes.LISTED), VARIANTS),
    sizes.LIST_BYTES: _ID_BYTES * VARIANTS,
}


def foreseen(fields: Mapping[str, Any], *, one_operator: bool) -> dict[str, Any]:
    """Say what a study by these fields of a plan would be; Refused as when one is created."""
    plan = as_plan(checked({**fields, "compensator_key": NO_KEY.hex()}))
    leaves = what_leaves(plan, _SIZES, one_operator=one_operator)
    return {
        "facts": facts_of(plan),
        "leaving": [asdict(line) for line in leaves],
        "bytes": usual_bytes(leaves),
        "seconds": _seconds(plan),
        "variants": 0 if plan.of_tables else VARIANTS,
        "people": PEOPLE,
    }


def _seconds(plan: Plan) -> float | None:
    method = algorithm(plan.test)
    if not isinstance(method, VariantMethod):
        # How many words there will be, and how large the images are, nobody knows yet.
        return None if plan.images or plan.searched else _seconds_of_tables(plan)
    costs = method.cost, *(cost for is_asked, cost in method.further if is_asked(plan))
    about = PEOPLE, VARIANTS, len(plan.covariate_columns)
    return len(plan.each) * sum(cost.seconds(*about, dosages=DOSAGES.of(plan)) for cost in costs)


def _seconds_of_tables(plan: Plan) -> float | None:
    seconds = 0.0
    for kind in questions_of(plan):
        if not kind.sends_under(plan):
            continue
        if (found := kind.foreseen(plan, None)) is None:
            return None
        scheme = plan.scheme(kind.ring_bits)
        each = (
            _QUESTION + words(question, scheme) * (_NUMBER + PEOPLE * _PERSON) for question in found.questions
        )
        seconds += (found.usual_rounds or found.rounds) * sum(each)
    return seconds
