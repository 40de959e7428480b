"""Components before a regression of which they are covariates, in one study."""

from __future__ import annotations

import numpy as np

from unpooled.asking.procedure import PROCEDURES, Asks, Go, Study, procedure
from unpooled.methods.components.precision import known, refuse_unsettled
from unpooled.methods.components.procedure import components
from unpooled.methods.components.questions import KeepScores


@procedure("components/first")
def components_first(study: Study, name: str, arguments: bytes) -> Asks[None]:
    """Find components, and have each cohort keep its people's scores; then the procedure of this name.

    A score is x v / √(m λ), as plink2 has it: of all people together its squares are 1.
    """
    found = yield from components(study)
    refuse_unsettled(found.error, found.rounds)
    yield from known(found)
    scaled = found.scaled
    unit = np.sqrt(found.values * len(scaled.variants))
    weights = found.loadings * scaled.scale / unit[:, None]
    yield KeepScores(scaled.kept, scaled.mean, weights, study.plan.cohorts, found.without_any)
    yield from Go(PROCEDURES[name].call(study, arguments))
