"""The first question to tables: how many values each feature has."""

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
from unpooled.plan import Plan
from unpooled.scaler import YEO_JOHNSON, Z_SCORE
from unpooled.step import Arrays, Count, Rows, Step, server_only

FEWEST_VALUES = 10
"""A feature of which the pool has fewer values, but some, is refused: sums over them are records."""


@dataclass(frozen=True)
class CountValues(Step):
    """How many values of each feature there are that are not missing."""

    name: ClassVar[str] = "normalization/values"
    title: ClassVar[str] = "Count values"
    sends: ClassVar[tuple[Count, ...]] = (
        Count("values", ("features",), MOST_PEOPLE, "per feature: number of rows in which it is not missing"),
    )
    ring_bits: ClassVar[int] = 64

    features: int
    titles: tuple[str, ...] = server_only(())
    cohorts: int = server_only(0)
    method: str = server_only("")
    quantiles: tuple[float, ...] = server_only(())
    elements: tuple[int, ...] = server_only(())
    """What a method by order statistics is to find; elements as in the plan."""

    def agrees(self, plan: Plan) -> bool:
        return self.features == len(plan.features)

    def local(self, cohort: Cohort) -> Arrays:
        return {"values": np.sum(~np.isnan(table_values(cohort, self.features)), axis=0)}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        n = total["values"]
        refuse_rare_features(self.titles, n.tolist())
        if self.method == Z_SCORE:
            yield moments.first(n, self.cohorts)
        elif self.method == YEO_JOHNSON:
            yield yeo_johnson.first(n, self.cohorts)
        else:
            wanted = [order.between(self.quantiles, n), order.ranks(self.elements, n)]
            yield order.first(n, np.concatenate(wanted, axis=1))


def refuse_rare_features(titles: tuple[str, ...], values: list[int]) -> None:
    """DisclosureError if the pool has a few values of a feature; none at all tell of nobody."""
    for title, n in zip(titles, values, strict=True):
        if 0 < n < FEWEST_VALUES:
            raise DisclosureError(
                f"the pool has fewer than {FEWEST_VALUES} values of {title}, and sums over so few would tell "
                "of single people. Duplicate the study, and call the column text in its schema"
            )
