"""Firth's penalised fit: what is asked of a cohort, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unpooled.algorithms.regression.firth_questions import Penalty
from unpooled.errors import ProtocolError
from unpooled.plan import Plan


def penalty(**changes: Any) -> Penalty:
    """A question about two variants, without covariates."""
    fields = {
        "start": 0,
        "asked": np.array([1, 2], np.uint8),
        "chromosome": "diploid",
        "exact": True,
        "fill": np.zeros((0, 1)),
        "people": 400,
        "centre": np.zeros(0),
        "exponent": np.zeros(0, np.int64),
        "cohorts": 3,
        "model": "additive",
        "interacting": (),
        "with_sex": False,
        "beta": np.zeros((2, 2)),
        "iteration": 1,
        "evaluation": 1,
        "inverse": np.array([[0.02, 0.01, 0.05]] * 2),
    }
    return Penalty(**fields | changes)


@pytest.mark.parametrize(
    "inverse", [[0.009, 0.0, 0.05], [0.02, 0.04, 0.05], [-0.02, 0.0, 0.05], [np.inf, 0.0, 0.05]]
)
def test_what_can_be_no_inverse_information_is_refused(inverse: list[float]) -> None:
    """Less than everybody's weights at their largest, or not positive definite, or no number."""
    assert penalty().variants == 2
    with pytest.raises(ProtocolError, match="penalty"):
        penalty(inverse=np.array([[0.02, 0.01, 0.05], inverse]))


@pytest.mark.parametrize(
    ("plan", "chromosome", "agrees"),
    [
        ({}, "diploid", True),
        ({"firth": "no-firth"}, "diploid", False),
        ({"files": ("assoc",)}, "diploid", False),
        ({}, "Y by plink2", True),
        ({}, "Y", False),
        ({"version": 1}, "diploid", False),
    ],
)
def test_the_penalty_is_asked_for_where_the_plan_has_it(
    plan: dict[str, Any], chromosome: str, agrees: bool
) -> None:
    options = {"missing": "exact", "files": ("assoc", "glm")} | plan
    assert penalty(chromosome=chromosome).agrees(Plan("logistic", "y", 3, bytes(32), **options)) == agrees
