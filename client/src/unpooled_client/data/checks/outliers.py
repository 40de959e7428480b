"""Values so far from all others that a regression cannot be computed from sums that include them.

Such a value is a code for a missing value that no list foresees, or another mistake: -999999999
among blood pressures. The pool refuses the column, by counts that see less than a cohort sees here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import Samples
from unpooled.methods.shared.standardise import FAR, most
from unpooled.plan.floors import CASE_CONTROL
from unpooled_client.data.findings.report import EXAMPLES, Code, Report
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.samples.covariates import Covariates
from unpooled_client.data.samples.phenotype import Phenotype

STILL = 1e-12
"""Largest variation of a column, relative to its size, at which it still counts as constant: rounding."""


def check_outliers(
    fam: Fam,
    samples: Samples,
    covariates: Covariates,
    phenotypes: Sequence[Phenotype],
    options: DataOptions,
    report: Report,
) -> None:
    """Tell of covariates, and of phenotypes that are numbers, with values beyond all others."""
    told = [(f"the covariate {name}", options.covar) for name in covariates.names]
    values = samples.covariates
    for phenotype, column in zip(phenotypes, samples.phenotypes, strict=False):
        if phenotype.trait != CASE_CONTROL:
            told.append((f"the phenotype {phenotype.name}", options.pheno or fam.path))
            values = np.column_stack([values, column])
    for (what, path), column in zip(told, values.T, strict=True):
        known = np.flatnonzero(samples.kept & ~np.isnan(column))
        far = known[outlying(column[known])]
        if len(far):
            _tell(what, path, far, column, fam, options, report)


def outlying(values: np.ndarray) -> np.ndarray:
    """Mark the values that are 2^FAR or more deviations from nearly all others: bool (n,). NaN is never
    marked.

    The deviation is that of nearly all values, around which the others may lie anywhere.
    """
    if len(values) < 3:  # then there are no others
        return np.zeros(len(values), bool)
    distance = np.abs(values / 2 - np.median(values / 2))  # halves, of which no difference overflows
    near = values[np.argsort(distance, kind="stable")[: most(len(values))]]
    size = float(np.abs(near).max())
    if size == 0:
        return np.zeros(len(values), bool)
    # Scaled to one, so that no square overflows.
    near = near / size
    deviation = float(near.std())
    with np.errstate(over="ignore"):
        away = np.abs(values / size - near.mean())
    return np.asarray((away >= 2.0**FAR * deviation) & (deviation > STILL))


def _tell(
    what: str,
    path: Path | None,
    far: np.ndarray,
    column: np.ndarray,
    fam: Fam,
    options: DataOptions,
    report: Report,
) -> None:
    said = [f"{column[k]:.15g}" for k in far[:EXAMPLES].tolist()]
    report.error(
        Code.OUTLIER,
        f"{what} has a value that is more than a million deviations from nearly all others",
        file=path,
        read=said[0],
        expected=f"NA or {options.missing_phenotype} for a missing value",
        remedy=f"If it is a code for a missing value, give --missing-phenotype {said[0]}, which applies "
        f"to phenotype and covariates instead of {options.missing_phenotype}, or write NA; else correct it.",
        count=len(far),
        examples=tuple(f"{fam.name(k)}: {value}" for k, value in zip(far, said, strict=False)),
    )
