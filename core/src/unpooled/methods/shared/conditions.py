"""Variants that a study conditions on: each person's copies of their alleles are covariates.

Everybody counts copies of the panel's first allele. Reports are about copies of A1, as PLINK's are: which
allele that is only the pool's counts tell, and turning an estimate needs no data.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from unpooled.asking.cohort import Cohort, Samples, WithSamples
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods.shared.groups import phenotype
from unpooled.methods.shared.options import DOSAGES
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import CONDITION
from unpooled.plan.plan import Plan

_COPIES = np.array([2, np.nan, 1, 0])
"""Copies of the file's A1, by PLINK's code."""


@dataclass(frozen=True, eq=False)
class Conditioned(WithSamples):
    """A cohort whose covariates begin with the copies of what its study conditions on."""


def conditioned(cohort: Cohort, panel: Panel, plan: Plan) -> Cohort:
    """The cohort as the questions of a study find it; as it is, if it has these covariates already."""
    if not CONDITION.of(plan) or isinstance(cohort, Conditioned):
        return cohort
    return Conditioned(cohort, with_copies(cohort, panel, plan))


def with_copies(cohort: Cohort, panel: Panel, plan: Plan) -> Samples:
    """The people of a cohort with further covariates: copies of each variant that the plan conditions on.

    A missing call is a missing covariate: that person is in no regression, but, as in PLINK, is a case or a
    control still. So is a variant that is not in the panel: then nothing is asked.
    """
    samples = cohort.samples
    if not CONDITION.of(plan):
        return samples
    copies = _dosages if DOSAGES.of(plan) else _copies
    columns = [copies(cohort, places_of(name, panel)) for name in CONDITION.of(plan)]
    first, *further = (phenotype(samples.of_phenotype(place)) for place in range(len(samples.phenotypes)))
    return dataclasses.replace(
        samples,
        phenotype=first,
        further=tuple(further),
        covariates=np.column_stack([*columns, samples.covariates]),
        unlisted=np.ones(len(samples), bool),
    )


def places_of(name: str, panel: Panel) -> np.ndarray:
    """Panel indices of the variants with an ID: one, if all is well."""
    return np.flatnonzero(panel.name == name.encode())


def _dosages(cohort: Cohort, places: np.ndarray) -> np.ndarray:
    """The same of dosages, as far as imputation can tell these copies."""
    if len(places) != 1:
        return np.full(len(cohort.samples), np.nan)
    found = cohort.dosages(places)
    copies = np.where(found.values[0] == NO_DOSAGE, np.nan, found.values[0] / COPY)
    return np.asarray(2 - copies if found.swapped[0] else copies)


def _copies(cohort: Cohort, places: np.ndarray) -> np.ndarray:
    """Copies of the panel's first allele of the one variant at these places: float64 (n,), NaN is missing."""
    n = len(cohort.samples)
    if len(places) != 1:
        return np.full(n, np.nan)
    packed = cohort.packed(places)
    codes = packed.words[0][:, None] >> (2 * np.arange(32, dtype=np.uint64))
    copies = _COPIES[(codes & np.uint64(3)).reshape(-1)[:n].astype(np.intp)]
    return np.asarray(2 - copies if packed.swapped[0] else copies)
