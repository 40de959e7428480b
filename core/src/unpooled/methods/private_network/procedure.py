"""Training a network with differential privacy (DP-SGD, Abadi et al., CCS 2016); the noise is in the masks.

Every cohort adds noise to its sum of clipped gradients before it is masked, so that nobody ever sees a sum
without it. All rounds of the plan take place: when to stop early would tell of the people's losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Go, Rows, Study, procedure
from unpooled.errors import Refuse
from unpooled.fitted.network import start
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.network import refuse_few, refuse_many_weights
from unpooled.methods.learning.network_options import ROUNDS, TAKING_PART, WEIGHTS_SEED
from unpooled.methods.learning.network_questions import network_of
from unpooled.methods.learning.optimizers import Optimizer
from unpooled.methods.learning.training import optimizer_of
from unpooled.methods.private_network.options import CLIP, promise_of
from unpooled.methods.private_network.questions import CountTrained, SumClipped
from unpooled.methods.private_network.result import report
from unpooled.methods.shared.privacy import UNITS
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class PrivateTraining:
    """State of a training between two rounds."""

    name: ClassVar[str] = "private-network/training"

    people: int
    weights: np.ndarray
    """float64 (size,)"""
    optimizer: Optimizer
    rounds: int


@procedure("private-network/fit")
def fit_private_network(study: Study) -> Asks[None]:
    """Count people, and begin with the start values."""
    plan = study.plan
    network = network_of(plan, SumProducts.widest(plan))
    refuse_many_weights(plan, network.size)
    refuse_little_privacy(plan, network.size)
    people = int((yield CountTrained())["people"][0])
    if not plan.alone:
        refuse_few(plan, people, people)
    begun = start(network, WEIGHTS_SEED.of(plan))
    yield from Go(train_privately(study, PrivateTraining(people, begun, optimizer_of(plan, network.size), 0)))


@procedure("private-network/train")
def train_privately(study: Study, at: PrivateTraining) -> Asks[None]:
    """Take one round; then go on, or report the weights."""
    plan = study.plan
    sums = yield SumClipped(plan, at.weights, at.rounds + 1)
    size = len(at.weights)
    # Of so many people as are expected: how many it were would tell of each.
    unit = CLIP.of(plan) / (UNITS * math.sqrt(size)) / max(1.0, TAKING_PART.of(plan) * at.people)
    weights, optimizer = at.optimizer.step(at.weights, sums["gradient"] * unit, math.nan)
    after = replace(at, weights=weights, optimizer=optimizer, rounds=at.rounds + 1)
    if after.rounds < ROUNDS.of(plan):
        yield from Go(train_privately(study, after))
    yield Rows.later(lambda: report(plan, after.weights, after.people))


def refuse_little_privacy(plan: Plan, size: int) -> None:
    """Refuse what no noise can promise."""
    if not promise_of(plan).is_kept(size):
        raise Refuse(
            "epsilon",
            "for so small an epsilon so many rounds need more noise than sums can bear",
            "Choose a larger epsilon, fewer rounds, or a smaller share of people in a round.",
        )
