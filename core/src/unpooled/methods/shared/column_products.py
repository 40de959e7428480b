"""Sums of products of one, the covariates and the phenotype, over everyone with complete data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.options import is_apart
from unpooled.methods.shared.standardise import standardised
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class OfColumnProducts(UnderPlan, title="Sum covariates and phenotype", ring_bits=128):
    """A question about the products of one, the standardised covariates and the phenotype."""

    each: ClassVar[dict[str, str]] = {"pairs": "pair of columns"}

    people: int
    centre: np.ndarray
    """float64 (columns,), the phenotype last"""
    exponent: np.ndarray
    """int64 (columns,)"""

    @classmethod
    def none(cls, plan: Plan) -> Self:
        """Build a question about no people, as wide as the plan's columns are."""
        columns = len(plan.covariate_columns) + 1
        return cls(plan, 1, np.zeros(columns), np.zeros(columns, np.int64))

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls.none(plan)])

    @property
    def width(self) -> int:
        """One, covariates and phenotype."""
        return len(self.centre) + 1

    @property
    def pairs(self) -> int:
        return self.width * (self.width + 1) // 2

    @property
    def bound(self) -> int:
        return 2 * self.people  # a deviation is rounded

    def values(self, cohort: Cohort) -> np.ndarray:
        """One, covariates and phenotype of everyone: float64 (n, width); 0 for whoever lacks a value."""
        found = standardised(cohort.samples, self.centre, self.exponent, apart=is_apart(self.plan))
        return np.column_stack([complete(cohort.samples), found])
