"""Generated people as cohorts hold them, for tests of all rooms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from unpooled.asking.cohort import ArrayCohort, Samples


def people(phenotype: np.ndarray, covariates: np.ndarray | None = None, **others: Any) -> Samples:
    """People who all count: founders, men, and without covariates unless it is said otherwise."""
    n = len(phenotype)
    usual = {"sex": np.ones(n, np.uint8), "founder": np.ones(n, bool), "kept": np.ones(n, bool)}
    own = np.zeros((n, 0)) if covariates is None else covariates
    return Samples(np.asarray(phenotype, float), covariates=own, **usual | others)


def some(samples: Samples, who: Any) -> Samples:
    """The people that an index takes."""
    names = ("phenotype", "sex", "founder", "kept", "covariates")
    taken = {name: getattr(samples, name)[who] for name in names}
    return replace(samples, **taken, further=tuple(values[who] for values in samples.further))


def cohorts_of(
    samples: Samples, copies: np.ndarray, parts: Iterable[Any], swapped: np.ndarray | None = None
) -> list[ArrayCohort]:
    """A cohort for each index of people; `copies` (m, n) are of the panel's first alleles unless swapped."""
    turned = np.zeros(len(copies), bool) if swapped is None else swapped
    return [ArrayCohort(some(samples, who), copies[:, who].astype(np.int8), turned) for who in parts]
