"""Yeo and Johnson's transform: how its lambda is looked for; tests/oracles compares what is found."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from asking import followed
from normalizing import NOBODY, evenly, fit, plan_of

from unpooled.algorithms import check, questions_of
from unpooled.algorithms.tables.bracket import ASKED, START, Brackets
from unpooled.cohort import ArrayTable
from unpooled.errors import Refuse
from unpooled.plan import PlanError
from unpooled.shared_options import BITS, SUMS


def test_a_unit_or_an_offset_that_makes_lambda_large_costs_no_rounds() -> None:
    random = np.random.default_rng(8)
    lognormal, one = random.lognormal(size=90), np.append(np.zeros(89), 1.0)
    tiny = [scale * x for scale in (1e-3, 1e-12, 1e-160, 1e-250) for x in (lognormal, one)]
    offsets = ((1e2, 1), (1e9, 1e-3), (1e12, 10), (1e15, 1e4), (1e300, 1e289))
    far = [sign * (offset + scale * lognormal) for offset, scale in offsets for sign in (1, -1)]
    tables = [ArrayTable(part) for part in evenly(np.column_stack([*tiny, *far]), 3)]
    plan = plan_of("yeo-johnson", len(tiny) + len(far))
    assert len(followed(plan, NOBODY, tables).answers) <= 17


@pytest.mark.parametrize("opens", [SUMS, BITS])
def test_values_too_large_are_named_as_such(opens: str) -> None:
    values = np.linspace(-1, 1, 20)
    with pytest.raises(Refuse, match="values of feature 1 are too large for this transform"):
        fit("yeo-johnson", [np.column_stack([values, 1.7e308 * values, 1e300 * values])] * 3, opens=opens)


def test_under_gaussian_masks_there_is_no_sign() -> None:
    with pytest.raises(PlanError, match="masking: modular only"):
        check(plan_of("yeo-johnson", 2, masking="gaussian"))


@pytest.mark.parametrize("root", [-2592.52, -64.0, -0.2, 0.0, 1.0, 1.7, 93.3])
def test_the_search_trusts_the_nearest_change_of_sign(root: float) -> None:
    """Far from the start all signs are wrong, and farther ones unknown, as without digits they are."""
    brackets, rounds = Brackets.first(np.array([True, False]), np.ones(2)), 0
    reliable = 2 * abs(root - START) + 10
    while len(brackets.open):
        asked = brackets.questions()
        signs = np.where(root >= asked, 1, -1)
        signs = np.where(np.abs(asked - START) > reliable, -signs, signs)
        signs = np.where(np.abs(asked - START) > 4 * reliable, 0, signs)
        brackets, rounds = brackets.narrowed(signs.astype(np.int8)), rounds + 1
        assert asked.shape == (1, ASKED) and rounds < 13
    assert abs(brackets.found[0] - root) < 5e-7 and brackets.found[1] == START and not brackets.edge.any()


def test_the_search_stops_where_signs_are_unknown() -> None:
    brackets = Brackets.first(np.array([True]), np.ones(1))
    while len(brackets.open):
        asked = brackets.questions()
        brackets = brackets.narrowed((asked < 20).astype(np.int8))
    assert brackets.edge[0] and 20 - 1e-6 < brackets.found[0] < 20


@pytest.mark.parametrize("opens", [BITS, SUMS])
@pytest.mark.parametrize("scale", [1e-290, 1e-300, 3e-308, 1e-310, 5e-324])
def test_tiny_values_take_no_more_rounds_than_were_agreed_to(scale: float, opens: str) -> None:
    """The search asks no more often than a cohort's book allows, however small the values are."""
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
