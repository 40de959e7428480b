"""Quantiles and k-th elements of the pool: those of NumPy on the pooled table, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from normalizing import SPLITS, TABLES, evenly, fit, loaded, plan_of

from unpooled.algorithms import check
from unpooled.plan import Plan, PlanError

QUANTILES = (0.0, 0.05, 0.25, 1 / 3, 0.5, 0.75, 0.95, 1.0)


def of(found: dict[str, Any], kind: str) -> np.ndarray:
    """(features, asked)"""
    return np.array([list(feature[kind].values()) for feature in found["features"]], float)


@pytest.mark.parametrize(("table", "missing"), TABLES)
def test_real_tables_give_what_the_pooled_table_gives(table: str, missing: float) -> None:
    pooled = loaded(table, missing)
    elements = (1, 10, 37, -37, -1)
    found = [
        fit("quantiles", split(pooled, k), quantiles=QUANTILES, elements=elements)
        for split in SPLITS
        for k in (3, 8)
    ]
    assert all(one == found[0] for one in found)
    wanted = np.nanquantile(pooled, QUANTILES, axis=0).T
    wanted[:, QUANTILES.index(0.5)] = np.nanmedian(pooled, axis=0)
    assert np.array_equal(of(found[0], "quantiles"), wanted)
    for k, x in enumerate(pooled.T):
        own = np.sort(x[~np.isnan(x)])
        assert of(found[0], "elements")[k].tolist() == [own[e - 1 if e > 0 else e] for e in elements]


ODD = [0.0, -0.0, 1.0, 5e-324, -5e-324, 1e300, -1e300, 2.0**53, 1.7976931348623157e308]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-9, 9).map(float),
            st.sampled_from(ODD),
        ),
        min_size=30,
        max_size=36,
    )
)
def test_every_element_is_that_of_numpy(values: list[float]) -> None:
    own = np.array(values)
    n = len(own)
    both = tuple(range(1, n + 1)) + tuple(range(-n, 0))
    found = fit("quantiles", [own[k::3, None] for k in range(3)], elements=both, quantiles=(0.5,))
    partitions = [np.partition(own, k)[k] for k in range(n)]
    assert of(found, "elements")[0].tolist() == partitions * 2
    with np.errstate(over="ignore"):
        middle = np.median(own)
    told = found["features"][0]["quantiles"]["0.5"]
    assert told is None if np.isinf(middle) else told == middle  # beyond float64 there is none


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
