"""Plans that cannot be, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from unpooled.plan import Plan, PlanError


@pytest.mark.parametrize(
    "field",
    [
        {"phenotype": ""},
        {"phenotype": "x" * 201},
        {"phenotype": "BMI\x1b[2J"},
        {"phenotype": "BMI\nCompensator: somebody else"},
        {"phenotype": "\ud800"},
        {"build": "GRCh38\x00"},
        {"cohorts": 2},
        {"chunk_size": 0},
        {"panel_mode": "list"},
        {"panel_digest": bytes(32)},
        {"variance": float("nan")},
        {"ring_bits": 33},
    ],
)
def test_a_plan_that_cannot_be_names_its_field(field: dict[str, Any]) -> None:
    """A text that would paint on a cohort's terminal is none of a plan either."""
    sound: dict[str, Any] = {
        "test": "chi-square",
        "phenotype": "BMI",
        "cohorts": 3,
        "compensator_key": bytes(32),
    }
    with pytest.raises(PlanError) as caught:
        Plan(**(sound | field))
    assert set(caught.value.problems) & {*field, "panel_digest"}
