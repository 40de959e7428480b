"""Normalization: floors, plans and questions. What it finds is compared in tests/oracles."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from asking import followed, sums_over
from hypothesis import given, settings
from hypothesis import strategies as st
from normalizing import NOBODY, evenly, fit, loaded, plan_of

from unpooled import question as questions
from unpooled.algorithms import METHODS, check
from unpooled.algorithms.tables.order import TOP_BYTE, Narrow, keys, values_of
from unpooled.cohort import ArrayTable
from unpooled.errors import BoundError, CodecError, DataProblem, Refuse
from unpooled.plan import Plan, PlanError
from unpooled.question import Arrays, Question
from unpooled.schema import NUMBER, Column, read_schema

OF_NUMBERS = [name for name, method in METHODS.items() if method.column_type == NUMBER]


def tables_of(parts: list[np.ndarray]) -> list[ArrayTable]:
    return [ArrayTable(part) for part in parts]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=200)
@given(FLOATS, FLOATS)
def test_keys_keep_the_order(a: float, b: float) -> None:
    low, high = keys(np.array([a, b]))
    assert (a < b, a == b) == (low < high, low == high)
    assert np.array_equal(values_of(keys(np.array([a, b]))), [a, b])


@pytest.mark.parametrize("method", OF_NUMBERS)
@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ((3, 3, 3, 0), True),
        ((50, 0, 0, 0), True),
        ((50, 50, 0, 0), True),
        ((50, 50, 9, 9), True),
        ((9, 9, 9, 9), True),
        ((10, 10, 10, 0), False),
        ((10, 10, 10, 1), False),
        ((0, 0, 0, 0), False),
    ],
)
def test_a_feature_that_fewer_than_three_cohorts_have_is_refused(
    method: str, values: tuple[int, ...], refused: bool
) -> None:
    """Two that have values would see each other's sums: all less their own. One alone, those of nobody."""
    plan = plan_of(method, 2, 4, **({"elements": (1,)} if method == "quantiles" else {}))
    tables = [np.random.default_rng(k).normal(size=(50, 2)) for k in range(4)]
    for table, n in zip(tables, values, strict=True):
        table[n:, 1] = np.nan
    asked: list[Question] = []

    def sums(question: Question) -> Arrays:
        asked.append(question)
        return sums_over(tables_of(tables))(question)

    if refused:
        with pytest.raises(Refuse, match=r"fewer than 3 cohorts .* feature 1 .* text in its schema"):
            followed(plan, NOBODY, [], sums)
        assert len(asked) == 1  # and nothing else was asked
    else:
        followed(plan, NOBODY, [], sums)
        assert len(asked) > 1


@pytest.mark.parametrize("method", ["z-score", "yeo-johnson"])
def test_a_feature_that_no_sum_can_hold_is_named(method: str) -> None:
    """To the person at the cohort: what its files have not, for their readers refuse it."""
    parts = [np.random.default_rng(k).normal(size=(20, 4)) for k in range(3)]
    parts[1][7, 2] = np.inf
    with pytest.raises(BoundError, match=r"of feature 2 is beyond.*missing codes of feature 2 in") as caught:
        fit(method, parts)
    assert caught.value.quantity and "feature" not in caught.value.quantity


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"schema": ()}, "schema"),
        ({"schema": (Column("a"), Column("a"))}, "schema"),
        ({"schema": (Column("a", "word"),)}, "schema"),
        ({"schema": (Column("a", "text"),)}, "schema"),
        ({"schema": (Column("a\x1b[2J"),)}, "schema"),
        ({"phenotype": "BMI"}, "phenotype"),
        ({"panel_mode": "names"}, "panel_mode"),
        ({"trait": "quantitative", "phenotype": "BMI", "panel_mode": "names"}, "schema"),
        ({"cohorts": 2}, "cohorts"),
    ],
)
def test_plans_of_tables_that_cannot_be(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of("z-score", 2, **changes)
    assert set(caught.value.problems) == {field}


def test_a_plan_of_tables_in_json() -> None:
    plan = plan_of("robust", 2, schema=(Column("age", "integer", "years"), Column("site", "text")))
    assert Plan.from_text(json.dumps(plan.to_json())) == plan
    assert [column.title for column in plan.features] == ["age"]
    with pytest.raises(PlanError, match="does not have this"):
        check(plan_of("robust", 2, maf=0.1))
    with pytest.raises(PlanError, match="schema: got 3"):
        Plan.from_json({**plan.to_json(), "schema": [3]})


def test_a_schema_is_read_from_csv() -> None:
    text = "name,type,unit\nage,integer,years\nglucose,,mmol/l\nsite,text\n"
    assert read_schema(text, "f") == (
        Column("age", "integer", "years"),
        Column("glucose", "number", "mmol/l"),
        Column("site", "text"),
    )
    for bad, line in (("age\n1\n", 1), ("name,type\nage,float\n", 2), ("name\na\nb,number\n", 3), ("", 1)):
        with pytest.raises(DataProblem) as caught:
            read_schema(bad, "schema.csv")
        assert caught.value.line == line and caught.value.remedy


@pytest.mark.parametrize("method", OF_NUMBERS)
def test_a_question_about_other_features_is_refused(method: str) -> None:
    asked_for = {"elements": (1, -1)} if method == "quantiles" else {}
    asked = followed(plan_of(method, 4, **asked_for), NOBODY, tables_of(evenly(loaded("iris"), 3))).questions
    assert not any(question.agrees(plan_of(method, 5, **asked_for)) for question in asked)


def test_questions_of_another_form_are_no_questions() -> None:
    good = {"most": 9, "prefix": np.zeros((1, 1), np.uint64), "shift": TOP_BYTE}
    assert questions.decode(questions.encode(Narrow(**good)), (Narrow,))  # type: ignore[arg-type]
    for field, value in (("shift", 4), ("prefix", np.zeros(3, np.uint64)), ("prefix", np.zeros((1, 1)))):
        made = object.__new__(Narrow)
        for name, content in {**good, field: value}.items():
            object.__setattr__(made, name, content)
        with pytest.raises(CodecError):
            questions.decode(questions.encode(made), (Narrow,))
