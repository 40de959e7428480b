"""Studies of tables: floors, plans, questions, searches, bits; tests/oracles compares what they find."""

from __future__ import annotations

import collections
import io
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from asking import Followed, followed, sums_over
from hypothesis import given, settings
from hypothesis import strategies as st
from normalizing import NOBODY, column, evenly, fit, loaded, plan_of, written
from sklearn import datasets

from tests.fuzz.tables.truth import moments
from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.asking.question import Arrays, Question, words
from unpooled.described.facts import plan_facts
from unpooled.described.parties import what_parties_get
from unpooled.described.what_leaves import BY_NOBODY, DEALING, EVERYONE_BY_SUM, what_leaves
from unpooled.errors import BoundError, DataProblem, Refuse
from unpooled.fitted.scaler import BLURRED, CONSTANT
from unpooled.kernels.ordered_keys import keys, values_of
from unpooled.methods import METHODS, check, questions_of
from unpooled.methods.learning.models import MODELS
from unpooled.methods.tables.bracket import ASKED, START, Brackets
from unpooled.methods.tables.order import NarrowByBits
from unpooled.methods.tables.ranges import FindRangeByBits
from unpooled.methods.tables.signs import SIGNS, FindDirection, MeasureUnderway, Outwards, SearchBySigns
from unpooled.methods.tables.summary import QUANTILES, wanted
from unpooled.plan.common_options import BITS, SUMS
from unpooled.plan.plan import Plan, PlanError
from unpooled.plan.schema import NUMBER, Column, read_schema
from unpooled.protocol import two_party

OF_NUMBERS = [name for name, method in METHODS.items() if method.column_type == NUMBER and name not in MODELS]


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
    """The person at the cohort reads its name: its files cannot have such a cell, for their readers refuse
    it.
    """
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
def test_plans_of_quantiles_that_cannot_be(changes: dict[str, Any], field: str) -> None:
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


N = 600


NORMAL = np.random.default_rng(6).normal(size=N)
HIDDEN = {
    "a million off": 1e6 + NORMAL,
    "seconds since 1970": 1.7e9 + 300 * NORMAL,
    "1e15 off": 1e15 + 3000 * NORMAL,
    "1e15 off, close": 1e15 + 30 * NORMAL,
    "steps of an ulp": 4e14 + 0.0625 * np.random.default_rng(6).poisson(3, N),
    "constant": np.full(N, 0.35),
}


@pytest.mark.parametrize("method", ["z-score", "summary"])
@pytest.mark.parametrize("name", HIDDEN)
def test_gaussian_masks_refuse_what_they_hide(method: str, name: str) -> None:
    plain, hard = NORMAL, HIDDEN[name]
    parts = [ArrayTable(part) for part in evenly(np.column_stack([plain, hard]), 3)]
    with pytest.raises(Refuse, match=r"the values of feature 1 are so close .* modular masks"):
        run.run(plan_of(method, 2, masking="gaussian"), NOBODY, parts)


@pytest.mark.parametrize("variance", [1e2, 1e12, 1e20])
@pytest.mark.parametrize("cohorts", [3, 12])
def test_gaussian_masks_leave_the_digits_that_are_told(variance: float, cohorts: int) -> None:
    random = np.random.default_rng(2)
    pooled = np.column_stack(
        [
            50 + 10 * random.normal(size=N),
            1e-7 * random.normal(size=N),
            3e4 + 3e4 * random.random(N),
            random.lognormal(size=N) * 1e200,
            np.zeros(N),
        ]
    )
    for _ in range(5):
        found = fit("z-score", evenly(pooled, cohorts), masking="gaussian", variance=variance)
        for x, row in zip(pooled.T[:4], found["features"], strict=False):
            assert row["note"] == BLURRED
            exact = moments(x)
            for told, true in ((row["mean"], exact.mean), (row["deviation"], exact.deviation)):
                last = Decimal(repr(told)).as_tuple().exponent
                assert abs(Fraction(told) - true) <= 15 * Fraction(10) ** int(last) or abs(
                    Fraction(told) - true
                ) <= 2 * Fraction(math.ulp(told))
        assert found["features"][4]["note"] == f"{CONSTANT}; {BLURRED}"


def test_masks_that_would_change_counts_make_no_plan() -> None:
    for cohorts, variance in ((3, 1e29), (300, 1e25)):
        with pytest.raises(PlanError, match="variance: too much"):
            plan_of("min-max", 1, cohorts, masking="gaussian", variance=variance)
        assert plan_of("min-max", 1, cohorts, variance=variance)  # of modular masks it means nothing
    pooled = np.random.default_rng(3).normal(size=(N, 1))
    found = fit("min-max", evenly(pooled, 3), masking="gaussian", variance=1e27)
    assert column(found, "min") == pooled.min() and column(found, "max") == pooled.max()


NAMES = [f"q{quantile:g}" for quantile in QUANTILES]


def summary(pooled: np.ndarray, titles: list[str], cohorts: int = 3) -> dict[str, str]:
    """The result files, through the real encodings and masks."""
    schema = (Column("id", "text"), *(Column(title, unit="g/l") for title in titles))
    plan = plan_of("summary", 0, cohorts, schema=schema)
    parts = [ArrayTable(part) for part in np.array_split(pooled, cohorts)]
    return {check(plan).file_name(file, plan): written(plan, parts, file) for file in plan.files}


def frame(files: dict[str, str]) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(files["summary.tsv"]), sep="\t", na_values=["NA"], keep_default_na=False)


def breast_cancer() -> np.ndarray:
    """Breast cancer's features, sorted so that the cohorts' ranges do not overlap, and some missing."""
    values: np.ndarray = datasets.load_breast_cancer().data.copy()
    values = np.tile(values[np.argsort(values[:, 0])], (2, 1))
    values[np.random.default_rng(1).random(values.shape) < 0.05] = np.nan
    return values


def test_the_numbers_are_those_of_the_pooled_table() -> None:
    pooled = breast_cancer()
    titles = [f"feature {k}" for k in range(pooled.shape[1])]
    found = frame(summary(pooled, titles))
    assert found["name"].tolist() == titles and set(found["unit"]) == {"g/l"}
    assert np.array_equal(found["missing"], np.isnan(pooled).sum(axis=0))
    assert np.array_equal(found["n"], len(pooled) - found["missing"])
    np.testing.assert_allclose(found["mean"], np.nanmean(pooled, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["deviation"], np.nanstd(pooled, axis=0), rtol=1e-12)
    assert np.array_equal(found[NAMES].to_numpy().T, np.nanquantile(pooled, QUANTILES, axis=0))


@pytest.mark.parametrize(
    ("n", "known"), [(10, 0), (19, 1), (36, 1), (37, 3), (180, 3), (181, 5), (900, 5), (901, 7), (10**6, 7)]
)
def test_quantiles_that_few_people_lie_beyond_are_not_asked_for(n: int, known: int) -> None:
    """Ten values or more are as small as any that is told, and ten or more as large."""
    (ranks,) = wanted(np.array([n]))
    assert np.count_nonzero(ranks) == 2 * known
    told = ranks[ranks > 0]
    assert not len(told) or (told.min() >= 10 and n - told.max() + 1 >= 10)


def test_features_of_few_values_and_none() -> None:
    pooled = np.random.default_rng(1).normal(size=(60, 3))
    pooled[::2, 1] = np.nan
    pooled[:, 2] = np.nan
    files = summary(pooled, ["all", "half", "none"])
    found = frame(files)
    assert found[NAMES].notna().sum(axis=1).tolist() == [3, 1, 0]
    assert found["mean"].isna().tolist() == [False, False, True]
    assert files["summary.html"].count("<svg") == 2
    pooled[:9, 2] = 1
    with pytest.raises(Refuse, match="at least 10 values of none"):
        summary(pooled, ["all", "half", "none"])


def test_the_page_has_a_picture_of_each_column() -> None:
    pooled = np.column_stack(
        [breast_cancer()[:, 0], np.full(1138, 7.0), *np.array([[1e308, -1e308] * 569, [5e-324, 0.0] * 569])]
    )
    page = summary(pooled, ["<b>radius</b> & co", "constant", "huge", "tiny"])["summary.html"]
    root = ElementTree.fromstring(page.removeprefix("<!doctype html>\n"))  # noqa: S314  # our own
    rows = root.findall(".//tbody/tr")
    assert [row[0].text for row in rows][:2] == ["<b>radius</b> & co (g/l)", "constant (g/l)"]
    assert not root.findall(".//script") and "http:" not in page
    for row in rows:
        (picture,) = row.findall(".//svg")
        assert "0.5: " in str(picture[0].text) and "mean" in str(picture[0].text)
        places = [float(shape.get(side, 0)) for shape in picture[1:] for side in ("x", "x1", "x2")]
        assert all(0 <= place <= 300 for place in places)
    box = rows[0].find(".//rect[@class='middle']")
    lines = rows[0].findall(".//line")
    quartiles = np.nanquantile(breast_cancer()[:, 0], [0.01, 0.25, 0.75, 0.99])
    assert box is not None and float(lines[0].attrib["x1"]) == 6 and float(lines[0].attrib["x2"]) == 294
    share = (quartiles[1] - quartiles[0]) / (quartiles[3] - quartiles[0])
    assert float(box.attrib["x"]) == pytest.approx(6 + 288 * share, abs=0.1)


OF_ELEMENTS = ("min-max", "robust", "quantiles")
MORE: dict[str, dict[str, Any]] = {"quantiles": {"quantiles": (0.1, 0.5), "elements": (1, -2, 400)}}


def by_bits(method: str, pooled: np.ndarray, cohorts: int = 3) -> Followed:
    plan = plan_of(method, pooled.shape[1], cohorts, opens=BITS, **MORE.get(method, {}))
    return followed(plan, NOBODY, [ArrayTable(part) for part in evenly(pooled, cohorts)])


@pytest.mark.parametrize("method", OF_ELEMENTS)
def test_what_is_told_follows_from_the_elements(method: str) -> None:
    """Each threshold's bit, if the element is at most that, is the same if made from the elements alone."""
    pooled = loaded("iris", 0.2)
    study = by_bits(method, pooled)
    compared = [(q, answer) for q, answer in study.answers if isinstance(q, NarrowByBits)]
    assert len(compared) == 8 == len(study.questions) - 1
    wanted = compared[0][0].wanted
    for k, values in enumerate(pooled.T):
        own = np.sort(values[~np.isnan(values)])
        there = wanted[k] > 0
        elements = keys(own[wanted[k][there] - 1])
        for question, told in compared:
            thresholds = question._thresholds()[k]
            assert np.array_equal(told["enough"][k][there], elements[:, None] <= thresholds[there])
            assert told["enough"][k][~there].all()


def odd() -> np.ndarray:
    """Columns of which some have signs that are not known far from the start."""
    random = np.random.default_rng(0)
    return np.column_stack(
        [
            random.lognormal(0, 4, 500),
            -random.lognormal(0, 2, 500),
            1.0 + (random.random(500) < 0.02),
            np.append(random.normal(size=499), 1e300),
            np.append(np.zeros(499), 1.0),
            np.where(random.random(500) < 0.5, 1e300, -1e300),
            np.full(500, -1234.567),
        ]
    )


def simulated(question: FindDirection | SearchBySigns, power: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """The bits that a question tells, from each lambda of the results, and whether it is an edge."""
    power, edge = power[question.asked, None], edge[question.asked, None]
    asked = question.powers
    if isinstance(question, FindDirection):
        differs = power != START
        return np.stack([differs, differs & (power > START)], axis=2)
    outwards = np.where(asked.min(axis=1, keepdims=True) < START, -1, 1)
    grows = outwards * (power - asked) >= 0
    before = np.concatenate([np.ones_like(grows[:, :1]), grows[:, :-1]], axis=1)
    return np.stack([np.where(grows, True, before & ~edge), grows], axis=2)


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "odd"])
def test_what_is_told_in_a_search_follows_from_lambda(name: str) -> None:
    """A simulator with the results alone makes every bit that the server reads."""
    pooled = odd() if name == "odd" else loaded(name)
    study = by_bits("yeo-johnson", pooled)
    (rows,) = study.rows
    power, edge = rows.columns["lambda"], rows.columns["edge"]
    told = [(q, answer[SIGNS]) for q, answer in study.answers if isinstance(q, FindDirection | SearchBySigns)]
    for question, bits in told:
        assert np.array_equal(bits, simulated(question, power, edge))
    assert {type(question) for question in study.questions[1:]} == {
        FindRangeByBits,
        FindDirection,
        SearchBySigns,
        MeasureUnderway,
    }


@pytest.mark.parametrize("root", [-2592.52, -64.0, -0.2, 0.0, 1.0, 1.7, 93.3, 2e5, 1e9])
@pytest.mark.parametrize("reach", [np.inf, 20.0])
def test_the_search_ends_at_the_root_or_where_signs_are_not_known(root: float, reach: float) -> None:
    brackets, rounds = Outwards.first(np.array([True, False]), np.ones(2)), 0
    while len(brackets.open):
        asked = brackets.questions()
        outwards = np.sign(asked[:, -1:] - START) if asked.shape[1] > 1 else 1
        known, grows = np.abs(asked - START) < reach, outwards * (root - asked) >= 0
        told = np.logical_and.accumulate(np.stack([known, grows], axis=2).reshape(1, -1), axis=1)
        brackets, rounds = brackets.outwards(*np.moveaxis(told.reshape(1, -1, 2), 2, 0)), rounds + 1
        assert rounds <= 1 + SearchBySigns.most_rounds
    at_edge = abs(root - START) > reach
    want = START + np.copysign(reach, root - START) if at_edge else root
    assert abs(brackets.found[0] - want) < (1e-6 if at_edge else 5e-7) * max(1, abs(want) / 4096)
    assert brackets.edge.tolist() == [at_edge, False] and brackets.found[1] == START


def test_a_usual_table_takes_few_rounds_and_bytes() -> None:
    """30 features in 10 cohorts: of the search at most 10 rounds, and 0.75 MB a feature on all links."""
    pooled = loaded("breast_cancer")
    study = by_bits("yeo-johnson", pooled, 10)
    searched = [q for q in study.questions if isinstance(q, FindDirection | SearchBySigns)]
    assert len(searched) <= 10 and len(study.questions) <= 16
    sent = 0
    for question in searched:
        scheme = plan_of("yeo-johnson", 30, 10).scheme(question.ring_bits)
        share = words(question, scheme)
        lengths = two_party.lengths(scheme.label, question.opens.circuit, share)
        sent += 10 * scheme.word_bytes * share + lengths.dealing
        sent += sum(lengths.server) + sum(lengths.compensator)
    assert sent <= 0.75e6 * 30


# What people are told


@pytest.mark.parametrize("method", [*OF_ELEMENTS, "yeo-johnson"])
def test_consent_says_that_nobody_reads_these_sums(method: str) -> None:
    plan = plan_of(method, 3, opens=BITS, **MORE.get(method, {}))
    lines = what_leaves(plan)
    compared = [line for line in lines if line.readable_by == BY_NOBODY]
    assert compared and all("nobody reads this sum" in line.learns for line in compared)
    dealt = [line for line in lines if DEALING in line.what]
    assert {line.what.split(":")[0] for line in dealt} == {line.what.split(":")[0] for line in compared}
    assert all(line.bytes and not line.exact for line in dealt)
    assert any("nobody reads them" in said for _, said in plan_facts(plan).all)
    server = next(party for party in what_parties_get(plan) if party.name == "server")
    assert "only on which side of a bound" in server.reads
    read = {line.what for line in lines if line.readable_by == EVERYONE_BY_SUM}
    more = {"Measure the transformed features: g", "Measure the transformed features: squares"}
    assert read == {"Count values: values", "Count values: enough"} | (
        more if method == "yeo-johnson" else set()
    )


@pytest.mark.parametrize("method", OF_ELEMENTS)
def test_a_plan_by_sums_keeps_its_hash(method: str) -> None:
    plan = plan_of(method, 3, **MORE.get(method, {}))
    assert "opens" not in dict(plan.record_fields())
    assert Plan.from_json(plan.to_json() | {"opens": "sums"}).hash() == plan.hash()
    assert Plan.from_json(plan.to_json() | {"opens": "bits"}).hash() != plan.hash()


def test_plans_by_bits_that_cannot_be() -> None:
    with pytest.raises(PlanError, match="opens: bits only with uniform masks"):
        plan_of("min-max", 3, opens=BITS, masking="gaussian")
    with pytest.raises(PlanError, match="opens"):
        check(plan_of("z-score", 3, opens=BITS))
    with pytest.raises(PlanError, match="schema: too many for so many columns: at most 4,112 elements"):
        check(plan_of("min-max", 2057, opens=BITS))
    check(plan_of("min-max", 2057))
