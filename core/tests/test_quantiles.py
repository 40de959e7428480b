"""Quantiles and k-th elements of the pool: which there are, and which plans ask for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from normalizing import evenly, fit, loaded, plan_of

from unpooled.algorithms import check
from unpooled.plan import Plan, PlanError


def test_what_a_feature_has_too_few_values_for_is_null() -> None:
    parts = evenly(loaded("iris"), 3)
    for part in parts:
        part[10:, 1] = np.nan
    found = fit("quantiles", parts, elements=(30, 31, -30, -31), quantiles=(0.25,))
    first, second = found["features"][:2]
    assert found["method"] == "quantiles" and second["n"] == 30
    assert [second["elements"][k] is None for k in ("30", "31", "-30", "-31")] == [False, True, False, True]
    assert first["elements"]["31"] is not None and list(first["quantiles"]) == ["0.25"]
    only = fit("quantiles", parts, elements=(1,))
    assert "quantiles" not in only["features"][0]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "quantiles"),
        ({"quantiles": (1.5,)}, "quantiles"),
        ({"quantiles": (float("nan"),)}, "quantiles"),
        ({"quantiles": (0.5, 0.5)}, "quantiles"),
        ({"elements": (0,)}, "elements"),
        ({"elements": tuple(range(1, 102))}, "elements"),
        ({"elements": (1 << 40,)}, "elements"),
        ({"elements": (1,), "maf": 0.1}, "maf"),
        ({"elements": (1,), "files": ("parameters",)}, "files"),
        ({"quantiles": tuple((np.arange(100) / 99).tolist()), "features": 2000}, "quantiles"),
    ],
)
def test_plans_that_cannot_be(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError) as caught:
        check(plan_of("quantiles", changes.pop("features", 2), **changes))
    assert set(caught.value.problems) == {field}
    with pytest.raises(PlanError, match="does not have this"):
        check(plan_of("z-score", 2, quantiles=(0.5,)))


def test_numbers_of_a_plan_in_json() -> None:
    plan = plan_of("quantiles", 2, quantiles=(0.0, 0.5, 1.0), elements=(1, -1))
    values = plan.to_json() | {"quantiles": [0, 0.5, 1]}  # as JavaScript writes 0.0 and 1.0
    assert Plan.from_json(values) == plan and Plan.from_json(plan.to_json()).hash() == plan.hash()
    for bad in ([0.5, "1"], [True], 0.5):
        with pytest.raises(PlanError, match="quantiles"):
            Plan.from_json(values | {"quantiles": bad})
    with pytest.raises(PlanError, match="elements"):
        Plan.from_json(values | {"elements": [1.5]})
