"""The first question to tables: how many values each feature has, and in how many cohorts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.algorithms.chi_square import MOST_PEOPLE
from unpooled.algorithms.normalization import moments, order, yeo_johnson
from unpooled.algorithms.normalization.table import table_values
from unpooled.cohort import Cohort
from unpooled.errors import DisclosureError
from unpooled.plan import FEWEST_COHORTS as FEWEST_COHORTS
from unpooled.plan import Plan
from unpooled.scaler import YEO_JOHNSON, Z_SCORE
from unpooled.sizes import Sizes
from unpooled.step import Arrays, Count, Foreseen, Rows, Step, server_only

FEWEST_VALUES = 10
"""A feature is refused that has values, but in fewer cohorts than `FEWEST_COHORTS` so many: sums over a few
values are records, and a sum over one cohort is its own."""


@dataclass(frozen=True)
class CountValues(Step):
    """How many values of each feature there are that are not missing."""

    name: ClassVar[str] = "normalization/values"
    title: ClassVar[str] = "Count values"
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
            "how many cohorts have so many values of each feature",
        ),
    )
    each: ClassVar[dict[str, str]] = {"features": "feature"}
    ring_bits: ClassVar[int] = 64

    features: int
    titles: tuple[str, ...] = server_only(())
    cohorts: int = server_only(0)
    method: str = server_only("")
    quantiles: tuple[float, ...] = server_only(())
    elements: tuple[int, ...] = server_only(())
    """What a method by order statistics is to find; elements as in the plan."""
    noise: float = server_only(0.0)
    """By how much the masks may change a sum."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(len(plan.features))])

    def agrees(self, plan: Plan) -> bool:
        return self.features == len(plan.features)

    def local(self, cohort: Cohort) -> Arrays:
        values = np.sum(~np.isnan(table_values(cohort, self.features)), axis=0)
        return {"values": values, "enough": (values >= FEWEST_VALUES).astype(np.int64)}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        n = total["values"]
        refuse_rare_features(self.titles, total)
        if self.method == Z_SCORE:
            yield moments.first(n, self.cohorts, self.titles, self.noise)
        elif self.method == YEO_JOHNSON:
            yield yeo_johnson.first(n, self.cohorts, self.titles)
        else:
            wanted = [order.between(self.quantiles, n), order.ranks(self.elements, n)]
            yield order.first(n, np.concatenate(wanted, axis=1))


def refuse_rare_features(titles: tuple[str, ...], total: Arrays) -> None:
    """DisclosureError if too few cohorts have enough values of a feature; none at all tell of nobody.

    `total` is what `CountValues` asks for, summed.
    """
    for title, n, cohorts in zip(titles, total["values"].tolist(), total["enough"].tolist(), strict=True):
        if n and cohorts < FEWEST_COHORTS:
            raise DisclosureError(
                f"fewer than {FEWEST_COHORTS} cohorts have at least {FEWEST_VALUES} values of {title} each, "
                "and sums over these would tell of single people, or of one cohort to another. Duplicate the "
                "study, and call the column text in its schema, or have more cohorts that have values of it"
            )
