"""Models of more columns than products are asked for: what is asked. tests/oracles has how they fit."""

from __future__ import annotations

import models
import pytest

from unpooled.algorithms.learning.questions import MOST_COLUMNS, SumProducts
from unpooled.algorithms.learning.wide_questions import ProjectColumns, SumWithOutcome
from unpooled.plan import PlanError
from unpooled.schema import Column


def schema(features: int, outcome: str, levels: int) -> list[Column]:
    """Features, and a category of so many levels, of which the first three occur."""
    words = tuple(f"w{k:04}" for k in range(levels))
    return models.schema_of(features, outcome, Column("ward", "category", "", "one-hot", words))


def test_what_is_asked_of_a_plan_follows_from_its_schema() -> None:
    wide, narrow = (models.plan_of("ridge", schema(2, "number", n), 3) for n in (MOST_COLUMNS, 3))
    design = {plan: SumProducts.widest(plan) for plan in (wide, narrow)}
    assert SumWithOutcome(design[wide]).agrees(wide) and not SumWithOutcome(design[narrow]).agrees(narrow)
    assert not design[wide].agrees(wide) and design[narrow].agrees(narrow)
    assert not ProjectColumns.foreseen(narrow, None).questions


def test_sums_cannot_be_had_of_so_many_columns() -> None:
    with pytest.raises(PlanError, match="products are not asked for"):
        models.plan_of("ridge", schema(2, "number", MOST_COLUMNS), 4, files=("model", "sums"))
