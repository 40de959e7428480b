"""Floors of people beside the means: a column in which only few differ from all others would tell of these.

A covariate that is 0 for all but one person would tell that person's genotypes, variant by variant, in the
sums of genotype times covariate, and the phenotype in that of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Count, UnderPlan
from unpooled.errors import Refuse
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.standardise import real_columns
from unpooled.methods.shared.without_any import capped, capped_count, is_few_without_any
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan


@dataclass(frozen=True, eq=False)
class CountBeside(UnderPlan, title="Count people beside the means", ring_bits=64):
    """Counts the people of some groups above, and below, the mean of each column, and the same capped."""

    each: ClassVar[dict[str, str]] = {"groups": "group of people", "sides": "side of a mean"}

    centre: np.ndarray
    """float64 (columns,): means of covariates, and perhaps what divides phenotypes"""

    @staticmethod
    def sends_of(whom: str) -> tuple[Count, Count]:
        """Declare what is sent of people, in words."""
        dims = ("groups", "sides")
        return (
            Count(
                "people", dims, MOST_PEOPLE, whom, "how many people of the pool are above and below each mean"
            ),
            capped_count(
                dims, f"whether these are {FEWEST_AT_A_LEVEL} without any one cohort; fewer end the study"
            ),
        )

    @property
    def groups(self) -> int:
        raise NotImplementedError

    @property
    def sides(self) -> int:
        """First all columns above, then all below."""
        return 2 * len(self.centre)

    def members(self, cohort: Cohort) -> list[np.ndarray]:
        """Mark the people of each group: bool (people,) each."""
        raise NotImplementedError

    def values(self, cohort: Cohort) -> np.ndarray:
        """Everyone's columns: float64 (people, columns)."""
        return real_columns(cohort.samples, phenotype=True)[:, : len(self.centre)]

    def local(self, cohort: Cohort) -> Arrays:
        values = self.values(cohort)
        sides = np.column_stack([values > self.centre, values < self.centre])
        people = np.array([np.count_nonzero(sides[group], axis=0) for group in self.members(cohort)])
        return {"people": people, "capped": capped(people)}


def few_beside(plan: Plan, counted: Arrays) -> np.ndarray:
    """Tell where there are too few people of a group: bool (groups, above and below, columns)."""
    few = is_few_without_any(plan, counted["people"], counted["capped"])
    return few.reshape(len(few), 2, -1)


def refuse_few_beside(plan: Plan, few: np.ndarray, titles: tuple[str, ...], whom: str, remedy: str) -> None:
    """Refuse a column, of these titles, beside whose mean few of a group are: `few` as of `few_beside`."""
    for side, column in np.argwhere(np.any(few, axis=0)).tolist():
        is_status = plan.trait != "quantitative" and column >= len(plan.covariate_columns)
        sides = ("cases", "controls") if is_status else ("above the mean", "below the mean")
        raise Refuse(
            plan.field_of(titles[column]),
            f"{titles[column]}: fewer than {FEWEST_AT_A_LEVEL} {whom}, perhaps without one of the "
            f"cohorts, are {sides[side]}, and sums over this column would reveal them",
            f"{remedy}, leave the covariate out, or have the cohorts look for values that are far off, such "
            "as a code for a missing one.",
        )
