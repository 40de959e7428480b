"""What a linear regression asks about genotypes, by its plan and where there is an X."""

from __future__ import annotations

from dataclasses import replace

import pytest
from asking import followed
from pooled import quantities

from unpooled.algorithms.regression.linear import SumColumns, SumWithGenotypes
from unpooled.panel import Panel


@pytest.mark.parametrize("autosomes", [22, 30])
def test_men_are_apart_where_there_is_an_x_and_values_are_asked_for_by_the_rule_exact_alone(
    autosomes: int,
) -> None:
    """With 30 autosomes none of these variants is on X or Y, and no sum is about men."""
    pooled = replace(quantities(1, n=200, each=4), autosomes=autosomes)
    plan = pooled.plan()
    asked = followed(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4))).questions
    columns = [question for question in asked if isinstance(question, SumColumns)]
    sums = [question for question in asked if isinstance(question, SumWithGenotypes)]
    assert columns and all(question.men_apart == (autosomes == 22) for question in columns)
    assert sums and not any(question.agrees(replace(plan, missing="mean")) for question in sums)
