"""Capped counts prove what they should of the pool without any one cohort: tried on all small pools."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from unpooled.methods.shared.without_any import (
    capped,
    fewest_of_all,
    fewest_without_any,
    holds_without_any,
    leaves_few,
)
from unpooled.plan.plan import NO_KEY, OwnPlan, Plan

PLAN = Plan("linear", "y", 3, NO_KEY, trait="quantitative")


def test_pools_that_hold_have_enough_people_without_any_one_cohort() -> None:
    fewest = 3
    for counts in itertools.product(range(2 * fewest + 2), repeat=3):
        holds = holds_without_any(PLAN, capped(np.array(counts), fewest).sum(), fewest)
        assert sum(counts) - max(counts) >= fewest_without_any(capped(np.array(counts), fewest).sum(), fewest)
        assert not holds or sum(counts) - max(counts) >= fewest
        # Three cohorts of the floor hold, and so does every pool of two that have it.
        assert holds or sorted(counts)[1] < fewest


def test_what_one_cohort_has_too_much_of_does_not_stand_in_for_others() -> None:
    rest = np.array([[1000, 9, 0], [1000, 5, 5], [10, 10, 0], [0, 0, 0]])
    assert holds_without_any(PLAN, capped(rest).sum(axis=1)).tolist() == [False, True, True, False]


def test_who_computes_alone_needs_no_floor() -> None:
    own = OwnPlan(**{**vars(PLAN), "cohorts": 1})
    assert holds_without_any(own, capped(np.array([1, 0]))).all()


def test_a_cohort_tells_exactly_whether_it_leaves_few() -> None:
    own, counts = np.array([20, 20, 20, 0, 5]), np.array([20, 29, 30, 0, 15])
    assert leaves_few(own, counts).tolist() == [False, True, False, False, False]


def test_cohorts_of_the_same_size_have_just_enough_without_one() -> None:
    for cohorts in range(3, 30):
        total = fewest_of_all(replace(PLAN, cohorts=cohorts))
        even = [total * (cohorts - 1) / cohorts, (total - 1) * (cohorts - 1) / cohorts]
        assert even[0] >= 10 > even[1]
