"""The first question to tables: how many values each feature has, and in how many cohorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Study
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.privacy_options import is_exact
from unpooled.methods.tables.table import table_values
from unpooled.plan.plan import FEWEST_COHORTS as FEWEST_COHORTS
from unpooled.plan.plan import Plan

FEWEST_VALUES = 10
"""A feature is refused that has values, but in fewer cohorts than `FEWEST_COHORTS` so many: sums over a few
values are records, and a sum over one cohort is its own."""


def count_values(study: Study) -> Asks[np.ndarray]:
    """Count the values of each feature: int64 (features,); refuse features that too few cohorts have."""
    sums = yield CountValues(study.plan)
    refuse_rare_features(study.plan, sums)
    return np.asarray(sums["values"])


@dataclass(frozen=True)
class CountValues(UnderPlan, name="normalization/values", title="Count values", ring_bits=64):
    """Question that counts the values of each feature that are not missing."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "values",
            ("features",),
            MOST_PEOPLE,
            "per feature: number of rows in which it is not missing",
            "how many values of each feature the pool has",
        ),
        Count(
            "enough",
            ("features",),
            1,
            f"per feature: 1 if these are {FEWEST_VALUES} or more, else 0",
            "how many cohorts have that many values of each feature",
        ),
    )
    each: ClassVar[dict[str, str]] = {"features": "feature"}
    asked_if: ClassVar[Condition] = is_exact

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(plan)] if cls.asked_if(plan) else [])

    @property
    def features(self) -> int:
        return len(self.plan.features)

    def local(self, table: Table) -> Arrays:
        values = np.sum(~np.isnan(table_values(table, self.features)), axis=0)
        return {"values": values, "enough": (values >= FEWEST_VALUES).astype(np.int64)}


def refuse_rare_features(plan: Plan, sums: Arrays) -> None:
    """Refuse if too few cohorts have enough values of a feature; none at all tell of nobody.

    `sums` are what `CountValues` asks for.
    """
    titles = [feature.title for feature in plan.features]
    refuse_rare_columns(plan, titles, sums["values"], sums["enough"])


def refuse_rare_columns(plan: Plan, titles: Sequence[str], values: np.ndarray, enough: np.ndarray) -> None:
    """Refuse if columns have `values`, int64 (columns,), but too few cohorts have `enough` of them each."""
    # Of a column without a value every sum is 0, and tells of nobody.
    few = (values > 0) & (enough < FEWEST_COHORTS)
    if few.any() and not plan.alone:
        names = ", ".join(title for title, is_few in zip(titles, few.tolist(), strict=True) if is_few)
        raise Refuse(
            "schema",
            f"fewer than {FEWEST_COHORTS} cohorts have at least {FEWEST_VALUES} values of {names} each, "
            "and sums over these would reveal single people, or one cohort to another",
            "Declare each such column as text in its schema, or invite more cohorts that have values of it.",
        )
