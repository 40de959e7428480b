"""Covariates that are informative in one cohort; the others belong to the pool's model only."""

from __future__ import annotations

import numpy as np

from unpooled.asking.cohort import Samples
from unpooled.methods.shared.groups import complete

_DEPENDENT = 1e-9
"""Share of its variance up to which a covariate follows from the others."""
_ROUNDING = 1e-14
"""A deviation that is no larger a part of the mean is that mean's rounding."""


def telling(samples: Samples) -> list[int]:
    """The columns of covariates that are neither constant here nor follow from those before them.

    With the intercept they span what all columns span here. So the model with these alone is the same, and
    its effect of the genotype is that of the model with all.
    """
    x = samples.covariates[samples.kept & complete(samples)]
    if not len(x):
        return []
    mean = x.mean(axis=0)
    x = x - mean
    size = np.sqrt((x * x).mean(axis=0))
    x = np.where(size > _ROUNDING * np.abs(mean), x / np.where(size > 0, size, 1), 0)
    chosen: list[int] = []
    for k in range(x.shape[1]):
        some = x[:, [*chosen, k]]
        least = np.linalg.eigvalsh(some.T @ some / len(x))[0]
        if least > _DEPENDENT:
            chosen.append(k)
    return chosen
