"""Options of a study that trains a network with differential privacy."""

from __future__ import annotations

from unpooled.methods.learning.network_options import (
    ACTIVATION,
    ARCHITECTURE,
    HIDDEN,
    IN_A_ROUND,
    MOMENTUM,
    OPTIMIZER,
    RATE,
    ROUNDS,
    TAKING_PART,
    WEIGHTS_SEED,
)
from unpooled.methods.private_network.privacy import Promise
from unpooled.plan.options import Number, Place
from unpooled.plan.plan import Plan

EPSILON = Number(
    name="epsilon",
    label="Epsilon",
    hint="With one person more or less, no result is more than e^epsilon times as likely. Below 1 is strong, "
    "3 usual, and above 10 says little.",
    default=0.0,
    least=0,
    most=100,
    place=Place.MODEL,
    fact="{}: with one person more or less, no result is more than e to this power times as likely",
    is_always_said=True,
    methods="Epsilon was {}.",
)
DELTA = Number(
    name="delta",
    label="Delta",
    hint="The chance that epsilon does not hold. Choose it below one divided by the number of people.",
    default=0.0,
    usual=1e-5,
    least=0,
    most=0.01,
    place=Place.MODEL,
    fact="{}: the chance that epsilon does not hold",
    is_always_said=True,
    methods="Delta was {}.",
)
CLIP = Number(
    name="clip",
    label="Longest gradient of a person",
    hint="A person's gradient is shortened to this length. Much shorter ones bend the fit; with longer ones "
    "there is more noise.",
    default=0.0,
    usual=1.0,
    least=0,
    most=1e4,
    place=Place.MODEL,
    is_always_said=True,
    methods="Each person's gradient was clipped to the length {}.",
)
PRIVATE_OPTIONS = (
    *(EPSILON, DELTA, CLIP, HIDDEN, ACTIVATION, OPTIMIZER, RATE, MOMENTUM, ROUNDS, TAKING_PART),
    *(WEIGHTS_SEED, IN_A_ROUND),
)

PRIVATE_IMAGE_OPTIONS = (
    ARCHITECTURE,
    *(option for option in PRIVATE_OPTIONS if option not in (HIDDEN, ACTIVATION)),
)


def promise_of(plan: Plan) -> Promise:
    """The privacy that a plan promises."""
    return Promise(EPSILON.of(plan), DELTA.of(plan), TAKING_PART.of(plan), ROUNDS.of(plan), plan.cohorts)
