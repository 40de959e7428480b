"""The people of the pool without any one cohort: how many there are, and where too few to tell sums of.

A cohort that is told products of the genotypes in one direction after the other subtracts its own, and sees
those of all other people. So the directions are few compared with these. What a single cohort has nobody
reads: each sends the number of its people capped at every rung of a ladder. Where the capped numbers sum to s
and the rung is r, the others of any one cohort are s - r at least, for it has brought no more than r.
"""

from __future__ import annotations

import numpy as np

from unpooled.asking.question import Arrays, Count
from unpooled.methods.shared.without_any import holds_without_any
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

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


def people_without_any(plan: Plan, sums: Arrays, people: int) -> int:
    """Count the people of the pool without any one cohort, at least; all `people` where there is but one."""
    return people if plan.alone else int((sums[ON_RUNGS.name] - RUNGS).max(initial=0))


def is_few_without_any(plan: Plan, people: np.ndarray, capped_sums: np.ndarray) -> np.ndarray:
    """Tell of which kinds of people there may be some, but fewer than the floor, without one of the cohorts.

    Of a kind that one cohort alone has, more than the floor, nobody is left without it.
    """
    is_of_one = (capped_sums == FEWEST_AT_A_LEVEL) & (people > FEWEST_AT_A_LEVEL)
    return np.asarray((people > 0) & ~is_of_one & ~holds_without_any(plan, capped_sums))
