"""Options of a study in which cohorts take several steps by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unpooled.methods.learning.network_options import (
    ACTIVATION,
    ARCHITECTURE,
    DROPOUT,
    HIDDEN,
    IMAGE_DROPOUT,
    IN_A_ROUND,
    MOMENTUM,
    PATIENCE,
    RATE,
    ROUNDS,
    WEIGHTS_SEED,
)
from unpooled.plan.options import Answer, Choice, Number, Place, Whole

if TYPE_CHECKING:
    from unpooled.plan.plan import Plan

FEDAVG, FEDCMB, WEIGHTED = "fedavg", "fedcmb", "weighted"

ALGORITHM = Choice(
    name="local_algorithm",
    label="Local algorithm",
    default=FEDCMB,
    place=Place.MODEL,
    answers=(
        Answer(
            FEDCMB,
            "FedCMB",
            "Every cohort takes the same number of steps in a round, each on a batch of its own rows.",
            methods="In each round every cohort took the same number of steps (FedCMB).",
        ),
        Answer(
            FEDAVG,
            "FedAvg",
            "Every cohort goes through its rows in a round, batch by batch: large ones take more steps.",
            methods="In each round every cohort went through its rows in batches (FedAvg).",
        ),
        Answer(
            WEIGHTED,
            "FedCMB, weighted",
            "Early steps count more than late ones, when a cohort's weights have drifted from the others'.",
            methods="In each round every cohort took the same number of steps (FedCMB), of which early ones "
            "counted more (weighted gradient accumulation).",
        ),
    ),
)


def _is_fedavg(plan: Plan) -> bool:
    return ALGORITHM.of(plan) == FEDAVG


STEPS = Whole(
    name="local_steps",
    label="Local steps",
    hint="For FedCMB: the steps that a cohort takes in a round. More of them save rounds, and lead farther "
    "from the pooled result.",
    default=5,
    least=1,
    most=1_000,
    place=Place.MODEL,
    is_always_said=True,
    meant_if=lambda plan: not _is_fedavg(plan),
    methods="Steps of a cohort in each round: {}.",
)
PASSES = Whole(
    name="local_passes",
    label="Local passes",
    hint="For FedAvg: how often a cohort goes through its rows in a round.",
    default=1,
    least=1,
    most=100,
    place=Place.MODEL,
    is_always_said=True,
    meant_if=_is_fedavg,
    methods="Passes of a cohort through its rows in each round: {}.",
)
BATCH = Whole(
    name="batch_rows",
    label="Rows in a batch",
    hint="Each step is taken on so many rows, drawn anew by a secret of the cohort's own; on all, if it has "
    "fewer.",
    default=32,
    least=1,
    most=1_000_000,
    place=Place.MODEL,
    is_always_said=True,
    methods="Rows in a batch: {}.",
)
DECAY = Number(
    name="weight_decay",
    label="Weight decay",
    hint="After each round the weights are drawn towards 0 by this, times the learning rate.",
    default=0.0,
    least=0,
    most=1,
    place=Place.MODEL,
    methods="The weight decay was {}.",
)
LOCAL_OPTIONS = (
    *(ALGORITHM, STEPS, PASSES, BATCH, HIDDEN, ACTIVATION, DROPOUT, RATE, MOMENTUM, DECAY, ROUNDS, PATIENCE),
    *(WEIGHTS_SEED, IN_A_ROUND),
)
LOCAL_IMAGE_OPTIONS = (
    ARCHITECTURE,
    *(option for option in LOCAL_OPTIONS if option not in (HIDDEN, ACTIVATION, DROPOUT)),
    IMAGE_DROPOUT,
)


def work_of(plan: Plan) -> int:
    """The steps of each cohort in a round; of FedAvg the passes through its rows."""
    return (PASSES if _is_fedavg(plan) else STEPS).of(plan)


def most_rows(plan: Plan, fitted: float, cohorts: int) -> float:
    """Bound the rows of `fitted` ones that the steps of so many cohorts are taken on in a round."""
    if _is_fedavg(plan):
        return fitted
    return min(fitted, cohorts * STEPS.of(plan) * BATCH.of(plan))
