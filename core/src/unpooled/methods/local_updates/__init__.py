"""Networks that are trained by local updates: their weights are not those of training on the pool."""

from __future__ import annotations

from typing import Any

from unpooled.methods.algorithm import TableMethod
from unpooled.methods.learning import of_network
from unpooled.methods.learning.models import IMAGE_LOCAL_UPDATES, LOCAL_UPDATES, MODELS, Model
from unpooled.methods.local_updates.options import LOCAL_IMAGE_OPTIONS, LOCAL_OPTIONS
from unpooled.methods.local_updates.procedure import fit_by_local_updates
from unpooled.methods.local_updates.questions import SumUpdates
from unpooled.plan.options import Option


def _method(model: Model, options: tuple[Option[Any], ...], rows: str, pool: str) -> TableMethod:
    return of_network(
        model,
        SumUpdates,
        fit_by_local_updates,
        options,
        unlike_pool=f"between two sums each cohort takes steps on its own {rows} alone, so the weights are "
        f"not those of training on the {pool}, and depend on how people are spread over the cohorts",
    )


METHOD = _method(MODELS[LOCAL_UPDATES], LOCAL_OPTIONS, "rows", "pooled table")
OF_IMAGES = _method(MODELS[IMAGE_LOCAL_UPDATES], LOCAL_IMAGE_OPTIONS, "images", "pooled images")
