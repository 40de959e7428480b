"""Networks that are trained by local updates: their weights are not those of training on the pool."""

from __future__ import annotations

from unpooled.methods.learning import of_network
from unpooled.methods.learning.models import LOCAL_UPDATES, MODELS
from unpooled.methods.local_updates.options import LOCAL_OPTIONS
from unpooled.methods.local_updates.procedure import fit_by_local_updates
from unpooled.methods.local_updates.questions import SumUpdates

METHOD = of_network(
    MODELS[LOCAL_UPDATES],
    SumUpdates,
    fit_by_local_updates,
    LOCAL_OPTIONS,
    unlike_pool="between two sums each cohort takes steps on its own rows alone, so the weights are not "
    "those of training on the pooled table, and depend on how people are spread over the cohorts",
)
