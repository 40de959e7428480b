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
from unpooled.methods.shared.privacy import Promise
from unpooled.methods.shared.privacy_options import DELTA, EPSILON
from unpooled.plan.options import Number, Place
from unpooled.plan.plan import Plan

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
