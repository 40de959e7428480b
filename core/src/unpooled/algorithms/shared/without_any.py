"""Floors of the pool without any one cohort: which sums may be told to the cohorts.

A cohort that is told a sum subtracts its own numbers, and sees those of all others together. So these must be
of enough people, too. Nobody reads what a single cohort has: beside a count each sends the count, but never
more than the floor (`capped`). Where these sum to twice the floor, the rest without any one cohort has the
floor at least: one cohort has brought no more than the floor, so the others' capped counts sum to as much,
and no count is below its capped one.
"""

from __future__ import annotations

import numpy as np

from unpooled.plan import FEWEST_AT_A_LEVEL, Plan


def capped(counts: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
    """A cohort's counts as it sends them beside them: int64, `fewest` where there are more."""
    return np.minimum(counts, fewest).astype(np.int64)


def holds_without_any(plan: Plan, capped_sums: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
    """Tell where the pool without any one cohort has at least `fewest`: bool, of the shape of the sums.

    Nobody at all, a sum of 0, does not hold: a floor that allows it says so itself. Whoever computes alone
    needs no floor.
    """
    return np.asarray((capped_sums >= 2 * fewest) | plan.alone)
