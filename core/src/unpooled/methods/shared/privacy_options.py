"""Options of a study with differential privacy, and what people read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unpooled.plan.options import Number, Place

if TYPE_CHECKING:
    from unpooled.plan.plan import Plan

EPSILON = Number(
    name="epsilon",
    label="Epsilon",
    hint="With one person more or less, no result is more than e^epsilon times as likely. Below 1 is strong, "
    "3 usual, and above 10 says little. With 0 there is no noise, where a method goes without.",
    default=0.0,
    least=0,
    most=100,
    place=Place.MODEL,
    fact="{}: with one person more or less, no result is more than e to this power times as likely",
    came_later=True,
    methods="Epsilon was {}.",
)
DELTA = Number(
    name="delta",
    label="Delta",
    hint="The chance that epsilon does not hold. Choose it below one divided by the number of people.",
    default=1e-5,
    least=0,
    most=0.01,
    needs="epsilon",
    came_later=True,
    place=Place.MODEL,
    fact="{}: the chance that epsilon does not hold",
    is_always_said=True,
    methods="Delta was {}.",
)


def is_exact(plan: Plan) -> bool:
    """Tell whether a plan's sums have no noise: a cohort alone adds none to what stays with it."""
    return not EPSILON.of(plan) or plan.alone


def noise_in_words(plan: Plan) -> str:
    """Say what the noise of a plan promises; empty if there is none."""
    if is_exact(plan):
        return ""
    return (
        "its sums have noise, so that with one person more or less no result is more than "
        f"e^{EPSILON.of(plan):g} times as likely, but for a chance of {DELTA.of(plan):g}"
    )
