"""Groups of people within which genotypes are counted: by phenotype, founder or not, male or not.

A group is a few words, such as ``("case", "founder", "not male")``: a phenotype always, the others where they
make a difference.  People of unknown sex are "not male": PLINK 1.9 counts them with the women.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from unpooled.asking.cohort import FEMALE, MALE, UNKNOWN_SEX, Samples
from unpooled.errors import Refuse

Group: TypeAlias = tuple[str, ...]

CASE, CONTROL, NO_PHENOTYPE = "case", "control", "no phenotype"
FOUNDER, NONFOUNDER = "founder", "nonfounder"
MEN, NOT_MEN, WOMEN, UNKNOWN = "male", "not male", "female", "unknown sex"
COMPLETE, INCOMPLETE = "complete", "incomplete"
"""People with a phenotype and every covariate, who are in a regression, and people without."""


def phenotype(samples: Samples) -> np.ndarray:
    """The phenotypes that count, float64 (n,); NaN is missing.

    As in PLINK 1.9 somebody whom the file of covariates names without one of them has no phenotype; whom it
    does not name keeps it, though no regression is about either.
    """
    lost = np.isnan(samples.covariates).any(axis=1)
    if samples.unlisted is not None:
        lost &= ~samples.unlisted
    return np.where(lost, np.nan, samples.phenotype)


def complete(samples: Samples) -> np.ndarray:
    """Mark the kept people with a phenotype and every covariate: bool (n,)."""
    known = samples.kept & ~np.isnan(samples.phenotype)
    return np.asarray(known & ~np.isnan(samples.covariates).any(axis=1))


_MEMBERS: dict[str, Callable[[Samples], np.ndarray]] = {
    CASE: lambda samples: phenotype(samples) == 1,
    CONTROL: lambda samples: phenotype(samples) == 0,
    NO_PHENOTYPE: lambda samples: np.isnan(phenotype(samples)),
    FOUNDER: lambda samples: samples.founder,
    NONFOUNDER: lambda samples: ~samples.founder,
    MEN: lambda samples: samples.sex == MALE,
    NOT_MEN: lambda samples: samples.sex != MALE,
    WOMEN: lambda samples: samples.sex == FEMALE,
    UNKNOWN: lambda samples: samples.sex == UNKNOWN_SEX,
    COMPLETE: lambda samples: complete(samples),
    INCOMPLETE: lambda samples: ~complete(samples),
}

PHENOTYPES = (CASE, CONTROL, NO_PHENOTYPE)

FINEST: tuple[Group, ...] = tuple(
    (phenotype, founder, sex)
    for phenotype in PHENOTYPES
    for founder in (FOUNDER, NONFOUNDER)
    for sex in (MEN, NOT_MEN)
)
"""The groups that all others are unions of; together they are everyone."""


def refuse_one_class(cases: int, controls: int) -> None:
    """Refuse a pool in which a test has nobody to compare with."""
    if cases and controls:
        return
    missing = "cases" if controls else "controls" if cases else "cases and no controls"
    raise Refuse(
        "phenotype",
        f"there are no {missing} in the pool of all cohorts",
        "Invite a cohort that has them, or have the cohorts check which values mean case and control.",
    )


def sizes(groups: Iterable[Group], samples: Samples) -> np.ndarray:
    """Count a cohort's people in each group: int64 (groups,)."""
    return np.array([np.count_nonzero(members(group, samples)) for group in groups], np.int64)


def members(group: Group, samples: Samples) -> np.ndarray:
    """Mark a cohort's people who are in a group: bool (n,). Removed samples are in none."""
    inside = samples.kept.copy()
    for word in group:
        inside &= _MEMBERS[word](samples)
    return inside
