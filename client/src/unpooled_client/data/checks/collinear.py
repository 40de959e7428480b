"""Covariates that say the same: a column that others determine, alone or together.

With such columns a regression has no unique answer. PLINK 1.9 refuses the whole study, and here the result
is NA everywhere if it is so in the pool; a cohort sees only its own part of that, so it is a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import UNKNOWN_SEX, Samples
from unpooled.kernels.least_squares import MOST_INFLATED
from unpooled.methods.shared.groups import complete
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.samples.covariates import Covariates

TOLERANCE = 1e-3
"""Largest residual of a column, relative to its length, at which the other columns still count as determining
it; loose enough that rounding to a few digits hides nothing.
"""
LINKED = 0.003
"""Least share of the null space that links two columns into one group. Among k levels each two share 1/k."""
STILL = 1e-9
"""Largest variation of a column, relative to its length, at which it still counts as constant."""


def check_collinear(
    samples: Samples, covariates: Covariates, phenotypes: Sequence[str], path: Path, report: Report
) -> None:
    """Tell which covariates determine one another, or nearly, among the people whom a regression counts.

    Constant columns are told of elsewhere.
    """
    for place, phenotype in enumerate(phenotypes):
        of_one = samples.of_phenotype(place)
        counted = complete(of_one)
        values = of_one.covariates[counted]
        _check_covariates(values, covariates.names, path, report)
        _check_phenotype(values, of_one.phenotype[counted], phenotype, covariates.names, path, report)


def check_sex(samples: Samples, covariates: Covariates, path: Path, report: Report) -> None:
    """Tell which covariates say what the sex in the .fam says: on X, sex is a covariate anyway."""
    counted = complete(samples) & (samples.sex != UNKNOWN_SEX)
    sex, values = samples.sex[counted].astype(float), samples.covariates[counted]
    for k in [k for k, column in enumerate(values.T) if relations(np.column_stack([sex, column]))]:
        name = covariates.names[k]
        report.warning(
            Code.COVARIATE_COLLINEAR,
            f"the covariate {name} says the same as the sex of the samples",
            file=path,
            remedy="On X, sex is a covariate of every regression anyway: if it is so in the pool, every "
            f"result there is NA. Leave {name} out, or X.",
        )


def _check_covariates(values: np.ndarray, names: Sequence[str], path: Path, report: Report) -> None:
    groups = relations(values)
    for group in groups:
        report.warning(
            Code.COVARIATE_COLLINEAR,
            f"the covariates {_listed([names[k] for k in group])} determine one another here",
            file=path,
            remedy="If it is so in the pool of all cohorts, every result is NA. If other cohorts have the "
            "same relation with another constant, these covariates tell cohorts apart, and by the sums "
            "with them the server can read this cohort's allele frequencies and means. Leave one of them "
            f"out, e.g. {names[group[-1]]}.",
        )
    for k in np.flatnonzero(inflation(values) > MOST_INFLATED).tolist() if not groups else []:
        report.warning(
            Code.COVARIATE_COLLINEAR,
            f"the other covariates nearly determine {names[k]} here",
            file=path,
            read=f"a variance inflation factor of {inflation(values)[k]:.0f}",
            expected=f"at most {MOST_INFLATED:g}",
            remedy="That is fine if it is not so in the pool of all cohorts; else every result is NA.",
        )


def _check_phenotype(
    values: np.ndarray, trait: np.ndarray, phenotype: str, names: Sequence[str], path: Path, report: Report
) -> None:
    for k in [k for k, column in enumerate(values.T) if relations(np.column_stack([trait, column]))]:
        report.warning(
            Code.COVARIATE_COLLINEAR,
            f"the covariate {names[k]} says the same as the phenotype {phenotype}",
            file=path,
            remedy="A covariate that is the phenotype explains all of it. Leave it out.",
        )


def relations(values: np.ndarray) -> list[tuple[int, ...]]:
    """Groups of columns of a matrix (n, c) that determine one another, beside a constant.

    The columns are centred and scaled to length one, so that units do not matter, and the null space comes
    from singular values, which no order of the columns disturbs. A column takes part in a relation if it has
    a share of the null space; two are in one group if a null vector has both.
    """
    varies, columns = _standardised(values)
    if not len(varies):
        return []
    # The singular values of a tall matrix are those of its triangular factor, which is small.
    _, spread, axes = np.linalg.svd(np.linalg.qr(columns, mode="r"))
    null = axes[np.count_nonzero(spread > TOLERANCE) :]
    linked = np.abs(null.T @ null) > LINKED
    return [tuple(varies[list(group)].tolist()) for group in _groups(linked)]


def inflation(values: np.ndarray) -> np.ndarray:
    """Variance inflation factor of each column of a matrix (n, c) of full rank; 1 for a constant one."""
    varies, columns = _standardised(values)
    found = np.ones(values.shape[1])
    if len(varies):
        inverse = np.linalg.pinv(np.linalg.qr(columns, mode="r"))
        found[varies] = np.square(inverse).sum(axis=1)
    return found


def _standardised(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the columns that vary, and these columns centred and scaled to length one; none
    if there are too few people.
    """
    # With so few people any columns determine one another.
    if len(values) <= values.shape[1] + 1:
        return np.zeros(0, np.intp), np.empty((len(values), 0))
    largest = np.abs(values).max(axis=0, initial=0)
    values = values / np.where(largest > 0, largest, 1)  # so that no square overflows
    centred = values - values.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    varies = np.flatnonzero(length > STILL * np.linalg.norm(values, axis=0))
    return varies, centred[:, varies] / length[varies]


def _groups(linked: np.ndarray) -> list[tuple[int, ...]]:
    """The sets of at least two that hang together: `linked`, bool (c, c), says which two do."""
    left, found = set(range(len(linked))), []
    while left:
        group, fresh = set[int](), {min(left)}
        while fresh:
            group |= fresh
            fresh = {int(k) for j in fresh for k in np.flatnonzero(linked[j])} - group
        left -= group
        if len(group) > 1:
            found.append(tuple(sorted(group)))
    return found


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
