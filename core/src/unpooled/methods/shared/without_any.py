"""Floors of the pool without any one cohort: which sums may be told to the cohorts.

A cohort that is told a sum subtracts its own numbers, and sees those of all others together. So these must be
of enough people, too. Nobody reads what a single cohort has: beside a count each sends the count, but never
more than the floor (`capped`). Where these sum to twice the floor, the rest without any one cohort has the
floor at least: one cohort has brought no more than the floor, so the others' capped counts sum to as much,
and no count is below its capped one.

Where the count of all is known already, a cohort can tell exactly whether it leaves few (`leaves_few`).
"""

from __future__ import annotations

import numpy as np

from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan


def capped(counts: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
    """A cohort's counts as it sends them beside them: int64, `fewest` where there are more."""
    return np.asarray(np.minimum(counts, fewest), np.int64)


def fewest_without_any(capped_sums: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
    """Count who is in the pool without any one cohort, at the least: int64, of the shape of the sums.

    Of groups without anybody in common these numbers may be added.
    """
    return np.asarray(np.maximum(capped_sums - fewest, 0), np.int64)


def holds_without_any(plan: Plan, capped_sums: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
    """Tell where the pool without any one cohort has at least `fewest`: bool, of the shape of the sums.

    Nobody at all, a sum of 0, does not hold: a floor that allows it says so itself. Whoever computes alone
    needs no floor.
    """
    return np.asarray((fewest_without_any(capped_sums, fewest) >= fewest) | plan.alone)


def leaves_few(own: np.ndarray, counts: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
    """Tell where others than a cohort are some of so many people, but fewer than `fewest`: bool."""
    others = counts - own
    return np.asarray((others > 0) & (others < fewest))


def fewest_of_all(plan: Plan, fewest: int = FEWEST_AT_A_LEVEL) -> int:
    """Count the people that a pool needs at least to have `fewest` without any one cohort: of cohorts of
    the same size."""
    return -(-fewest * plan.cohorts // (plan.cohorts - 1))
