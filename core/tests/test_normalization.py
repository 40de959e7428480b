"""Normalization: the parameters that scikit-learn finds in the pooled table, whoever has which row."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asking import follow, followed, study_of, sums_over
from hypothesis import given, settings
from hypothesis import strategies as st
from normalizing import NOBODY, SPLITS, TABLES, column, evenly, fit, loaded, plan_of
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from unpooled import question as questions
from unpooled.algorithms import METHODS, check
from unpooled.algorithms.tables.order import TOP_BYTE, Narrow, find_elements, keys, values_of
from unpooled.cohort import ArrayTable
from unpooled.errors import BoundError, CodecError, DataProblem, Refuse
from unpooled.plan import Plan, PlanError
from unpooled.procedure import Procedure
from unpooled.question import Arrays, Question
from unpooled.scaler import CONSTANT, EMPTY, Scaler
from unpooled.schema import NUMBER, Column, read_schema

OF_NUMBERS = [name for name, method in METHODS.items() if method.column_type == NUMBER]

REFERENCES: dict[str, Callable[[], Any]] = {
    "z-score": StandardScaler,
    "min-max": MinMaxScaler,
    "robust": RobustScaler,
}


def assert_as_pooled(method: str, found: dict[str, Any], pooled: np.ndarray) -> None:
    reference = REFERENCES[method]().fit(pooled)
    assert column(found, "n").tolist() == (~np.isnan(pooled)).sum(axis=0).tolist()
    if method == "z-score":
        scale = np.maximum(np.abs(reference.mean_), reference.scale_)
        assert np.all(np.abs(column(found, "mean") - reference.mean_) <= 1e-12 * scale)
        np.testing.assert_allclose(column(found, "deviation"), np.sqrt(reference.var_), rtol=1e-12)
    elif method == "min-max":
        assert np.array_equal(column(found, "min"), reference.data_min_)
        assert np.array_equal(column(found, "max"), reference.data_max_)
    else:
        assert np.array_equal(column(found, "median"), reference.center_)
        quartiles = np.nanpercentile(pooled, [25, 75], axis=0)
        assert np.array_equal(column(found, "lower_quartile"), quartiles[0])
        assert np.array_equal(column(found, "upper_quartile"), quartiles[1])
    scaled, wanted = Scaler(found).transform(pooled), reference.transform(pooled)
    if method == "z-score":
        np.testing.assert_allclose(scaled, wanted, rtol=1e-11, atol=1e-12)
    else:
        assert np.array_equal(scaled, wanted, equal_nan=True)


@pytest.mark.parametrize(("table", "missing"), TABLES)
@pytest.mark.parametrize("method", REFERENCES)
def test_real_tables_give_what_the_pooled_table_gives(method: str, table: str, missing: float) -> None:
    pooled = loaded(table, missing)
    found = [fit(method, split(pooled, cohorts)) for split in SPLITS for cohorts in (3, 8)]
    for one in found:
        assert_as_pooled(method, one, pooled)
        if method != "z-score":  # these rest on counts
            assert one == found[0]


@pytest.mark.parametrize("method", REFERENCES)
def test_gaussian_masks_cost_digits_of_sums_and_none_of_counts(method: str) -> None:
    pooled = loaded("wine", 0.1)
    found = fit(method, evenly(pooled, 3), masking="gaussian", variance=1e6)
    if method == "z-score":
        scale = np.nanmax(np.abs(pooled), axis=0)
        exact = np.abs(column(found, "mean") - np.nanmean(pooled, axis=0)) < 1e-10 * scale
        assert exact.all() and not np.array_equal(
            column(found, "mean"), column(fit(method, [pooled] * 3), "mean")
        )
        np.testing.assert_allclose(column(found, "deviation"), np.nanstd(pooled, axis=0), rtol=1e-8)
    else:
        assert_as_pooled(method, found, pooled)


def odd_table() -> np.ndarray:
    """Ties, a constant, denormals, +-1e300, integers, both zeros, a large mean; 40 rows."""
    random = np.random.default_rng(3)
    return np.column_stack(
        [
            random.integers(0, 3, 40).astype(float),
            np.full(40, -1234.567),
            random.integers(0, 9, 40) * 5e-324,
            np.where(random.random(40) < 0.5, 1e300, -1e300),
            random.integers(-(2**40), 2**40, 40).astype(float),
            np.where(random.random(40) < 0.5, 0.0, -0.0),
            1e9 + random.normal(size=40),
        ]
    )


def test_odd_values() -> None:
    pooled = odd_table()
    found = fit("robust", evenly(pooled, 4))
    assert np.array_equal(column(found, "median"), np.median(pooled, axis=0))
    assert np.array_equal(column(found, "lower_quartile"), np.quantile(pooled, 0.25, axis=0))
    assert np.array_equal(column(found, "upper_quartile"), np.quantile(pooled, 0.75, axis=0))
    found = fit("min-max", evenly(pooled, 4))
    assert np.array_equal(column(found, "min"), pooled.min(axis=0))
    assert np.array_equal(column(found, "max"), pooled.max(axis=0))
    found = fit("z-score", evenly(pooled, 4))
    assert column(found, "deviation")[1] == column(found, "deviation")[5] == 0
    assert found["features"][1]["note"] == CONSTANT and found["features"][1]["mean"] == -1234.567
    usual = [0, 4, 6]
    np.testing.assert_allclose(column(found, "mean")[usual], pooled[:, usual].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(column(found, "deviation")[usual], pooled[:, usual].std(axis=0), rtol=1e-12)
    for method in REFERENCES:
        scaled = Scaler(fit(method, evenly(pooled, 4))).transform(pooled)
        assert np.isfinite(scaled).all() and np.ptp(scaled[:, 1]) == 0


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(FLOATS, st.sampled_from([0.0, -0.0, 1.0, 5e-324])), min_size=3, max_size=12))
def test_every_element_is_that_of_numpy(values: list[float]) -> None:
    own = np.array(values)
    n = len(own)
    find = Procedure("test/elements", find_elements)
    call = find(study_of(plan_of("quantiles", 1)), Narrow, np.array([n]), np.arange(1, n + 1)[None])
    (elements,) = follow(call, sums_over([ArrayTable(own[k::3, None]) for k in range(3)]), [Narrow]).value
    assert np.array_equal(elements, [np.partition(own, k)[k] for k in range(n)])


@settings(max_examples=200, deadline=None)
@given(FLOATS, FLOATS)
def test_keys_keep_the_order(a: float, b: float) -> None:
    low, high = keys(np.array([a, b]))
    assert (a < b, a == b) == (low < high, low == high)
    assert np.array_equal(values_of(keys(np.array([a, b]))), [a, b])


@pytest.mark.parametrize("method", REFERENCES)
def test_missing_values_of_a_whole_cohort_and_of_all(method: str) -> None:
    pooled = loaded("iris")
    parts = evenly(pooled, 4)
    parts[1][:, 2] = np.nan
    for part in parts:
        part[:, 3] = np.nan
    found = fit(method, parts)
    assert found["features"][2]["n"] == 150 - len(parts[1]) and found["features"][3]["n"] == 0
    assert found["features"][3]["note"] == EMPTY
    pooled = np.concatenate(parts)
    scaled = Scaler(found).transform(pooled)
    assert np.isnan(scaled[:, 3]).all()
    np.testing.assert_allclose(
        scaled[:, :3], REFERENCES[method]().fit_transform(pooled[:, :3]), rtol=1e-11, atol=1e-12
    )


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
        return sums_over([ArrayTable(table) for table in tables])(question)

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


def test_what_one_cohort_of_three_lacks_is_refused() -> None:
    parts = evenly(loaded("iris"), 3)
    parts[2][:, 1] = np.nan
    with pytest.raises(Refuse, match="values of feature 1"):
        fit("z-score", parts)


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
def test_questions_travel(method: str) -> None:
    test, parts = METHODS[method], evenly(loaded("iris"), 3)
    asked_for = {"elements": (1, -1)} if method == "quantiles" else {}
    plan = plan_of(method, 4, **asked_for)
    found = followed(plan, NOBODY, [ArrayTable(part) for part in parts])
    for asked in found.questions:
        again = questions.decode(questions.encode(asked), test.asks)
        assert questions.encode(again) == questions.encode(asked)
        assert again.agrees(plan)
        assert not again.agrees(plan_of(method, 5, **asked_for))
    assert {asked.name for asked in found.questions} == {
        kind.name for kind in test.asks if kind.sends_under(plan)
    }


def test_questions_of_another_form_are_no_questions() -> None:
    good = {"most": 9, "prefix": np.zeros((1, 1), np.uint64), "shift": TOP_BYTE}
    assert questions.decode(questions.encode(Narrow(**good)), (Narrow,))  # type: ignore[arg-type]
    for field, value in (("shift", 4), ("prefix", np.zeros(3, np.uint64)), ("prefix", np.zeros((1, 1)))):
        made = object.__new__(Narrow)
        for name, content in {**good, field: value}.items():
            object.__setattr__(made, name, content)
        with pytest.raises(CodecError):
            questions.decode(questions.encode(made), (Narrow,))
