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

from unpooled.asking.question import Arrays, Count
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan


def capped(counts: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
    """A cohort's counts as it sends them beside them: int64, `fewest` where there are more."""
    return np.asarray(np.minimum(counts, fewest), np.int64)


def capped_count(dims: tuple[str | int, ...], learns: str, name: str = "capped") -> Count:
    """Declare what is sent beside a count of people: each number as `capped` has it."""
    said = f"the same, {FEWEST_AT_A_LEVEL} where there are more"
    return Count(name, dims, FEWEST_AT_A_LEVEL, said, learns)


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


def leaves_few(own: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Tell where others than a cohort are some of so many people, but fewer than the floor: bool."""
    others = counts - own
    return np.asarray((others > 0) & (others < FEWEST_AT_A_LEVEL))


def fewest_of_all(plan: Plan) -> int:
    """Count the people that a pool needs to hold the floor without any one cohort: of cohorts of the same
    size."""
    return -(-FEWEST_AT_A_LEVEL * plan.cohorts // (plan.cohorts - 1))


RUNGS = FEWEST_AT_A_LEVEL << np.arange(10)
"""Numbers of people at which counts are capped: no method uses more than the last."""

ON_RUNGS = Count(
    "on_rungs",
    (len(RUNGS),),
    int(RUNGS[-1]),
    f"number of people in all; but {RUNGS[0]} where there are more, {RUNGS[1]}, and so on to {RUNGS[-1]:,}",
    "about how many people the pool has without its largest cohort: not which that is",
)
"""Declares what a question asks for so that `people_without_any` can tell."""


def on_rungs(people: int) -> np.ndarray:
    """A cohort's people as it sends them: int64 (rungs,)."""
    return np.asarray(np.minimum(people, RUNGS))


# A cohort that is told products of the genotypes in one direction after the other subtracts its own, and
# sees those of all other people. So the directions are few compared with these. Where the numbers that are
# capped at a rung r sum to s, the others of any one cohort are s - r at least, for it has brought no more
# than r.
def people_without_any(plan: Plan, sums: Arrays, people: int) -> int:
    """Count the people of the pool without any one cohort, at least; all `people` where there is but one."""
    return people if plan.alone else int((sums[ON_RUNGS.name] - RUNGS).max(initial=0))


def is_few_without_any(plan: Plan, people: np.ndarray, capped_sums: np.ndarray) -> np.ndarray:
    """Tell of which kinds of people there may be some, but fewer than the floor, without one of the cohorts.

    Of a kind that one cohort alone has, more than the floor, nobody is left without it.
    """
    is_of_one = (capped_sums == FEWEST_AT_A_LEVEL) & (people > FEWEST_AT_A_LEVEL)
    return np.asarray((people > 0) & ~is_of_one & ~holds_without_any(plan, capped_sums))
