"""The search for lambda asks no more often than a cohort's book allows, however small the values are."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from asking import followed
from normalizing import NOBODY, plan_of

from unpooled.algorithms import questions_of
from unpooled.cohort import ArrayTable
from unpooled.shared_options import BITS, SUMS


@pytest.mark.parametrize("opens", [BITS, SUMS])
@pytest.mark.parametrize("scale", [1e-290, 1e-300, 3e-308, 1e-310, 5e-324])
def test_tiny_values_take_no_more_rounds_than_were_agreed_to(scale: float, opens: str) -> None:
    random = np.random.default_rng(5)
    tables = []
    for rows in (50, 70, 90):
        values = -random.exponential(3, rows) * scale
        values[random.random(rows) < 0.03] = np.nan
        tables.append(ArrayTable(values[:, None]))
    plan = plan_of("yeo-johnson", 1, len(tables), opens=opens)
    asked = collections.Counter(map(type, followed(plan, NOBODY, tables).questions))
    for kind in questions_of(plan):
        assert asked[kind] <= kind.foreseen(plan, None).rounds, kind.title
