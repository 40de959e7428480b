"""Training a network by local updates (FedAvg, FedCMB): cohorts take steps by themselves between two sums.

Each begins a round with the same weights w, takes its steps w - rate g on batches of its own rows, and sends
the sum of these g times the number of its rows. The mean of all cohorts is the round's gradient, for which
momentum and weight decay are the procedure's, as in R. Nasirigerdeh's thesis (section 4 of its second paper).
"""

from __future__ import annotations

import numpy as np

from unpooled.asking.procedure import Asks, Go, Study, procedure
from unpooled.methods.learning.network import (
    described_and_start,
    fitted_people,
    go_on,
    network_about,
    refuse_few,
)
from unpooled.methods.learning.network_options import MOMENTUM, RATE
from unpooled.methods.learning.optimizers import Descent
from unpooled.methods.learning.procedure import Described
from unpooled.methods.learning.training import Training
from unpooled.methods.local_updates.options import BATCH, DECAY, most_rows
from unpooled.methods.local_updates.questions import SumUpdates


@procedure("local-updates/fit")
def fit_by_local_updates(study: Study) -> Asks[None]:
    """Describe the columns, and begin with the start values."""
    plan = study.plan
    described, weights = yield from described_and_start(study)
    if not plan.alone:
        fitted, others = fitted_people(described)
        in_steps = most_rows(plan, fitted, plan.cohorts), most_rows(plan, others, plan.cohorts - 1)
        refuse_few(plan, *in_steps, field=BATCH.name)
    optimizer = Descent(RATE.of(plan), MOMENTUM.of(plan), np.zeros(len(weights)), DECAY.of(plan))
    yield from Go(train_locally(study, described, Training.begin(weights, optimizer)))


@procedure("local-updates/train")
def train_locally(study: Study, described: Described, at: Training) -> Asks[None]:
    """Take one round; then go on, or test the network."""
    about = network_about(study.plan, described, at.weights)
    sums = yield SumUpdates(*about, at.round + 1)
    yield from go_on(study, described, at, sums, train_locally)
