"""Networks with differential privacy: what is clipped, how much noise there is, and what it promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import models
import numpy as np
import pytest
from normalizing import NOBODY
from scipy import stats
from sklearn.datasets import load_breast_cancer

from unpooled import run
from unpooled.errors import Refuse
from unpooled.fitted.model import Model
from unpooled.methods import algorithm
from unpooled.methods.learning.reading import Examples
from unpooled.methods.private_network.questions import SumClipped
from unpooled.methods.private_network.result import private_model_of, tried
from unpooled.methods.shared.privacy import UNITS, Promise, clipped, epsilon_of, noise_for
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.plan.plan import Plan, PlanError

METHOD = "private-network"
COLUMNS = 5


def data() -> tuple[np.ndarray, np.ndarray]:
    x, y = load_breast_cancer(return_X_y=True)
    return np.repeat(x[:, :COLUMNS], 4, axis=0), np.repeat(y, 4)


def plan_of(**options: Any) -> Plan:
    x, _ = data()
    schema = [
        replace(column, low=float(x[:, k].min()), high=float(x[:, k].max())) if column.is_number else column
        for k, column in enumerate(models.schema_of(COLUMNS, "c0|c1"))
    ]
    usual = {
        "epsilon": 3.0,
        "delta": 1e-5,
        "clip": 1.0,
        "hidden": "6",
        "training_rounds": 60,
        "taking_part": 0.25,
    }
    return models.plan_of(METHOD, schema, 3, **{**usual, **options})


def tables_of(plan: Plan) -> list[Examples]:
    x, y = data()
    order = np.random.default_rng(1).permutation(len(y))
    parts = np.split(order, [len(y) // 2, len(y) * 4 // 5])
    cells = (models.cells_of(x[rows], np.array([f"c{k}" for k in y[rows]])) for rows in parts)
    tables: Any = [models.table_of(each, plan) for each in cells]
    return tables


def test_it_predicts_and_says_what_it_cost() -> None:
    plan = plan_of(learning_rate=0.05)
    found = run.run(plan, NOBODY, tables_of(plan))
    model = private_model_of(columns_of("", found), plan)
    x, y = data()
    right = Model(model).predict(x) == np.array([f"c{k}" for k in y], object)
    assert right.mean() > 0.85  # 63 % are of the more common class
    privacy = model["privacy"]
    assert 2.9 < privacy["epsilon"] <= 3
    assert epsilon_of(privacy["noise"], 1e-5, 0.25, 60) == privacy["epsilon"]
    assert [column for table in found.values() for column in table if column in ("loss", "right")] == []


def central_sum(question: SumClipped, table: Examples) -> np.ndarray:
    """Each row's gradient by differences of its loss, clipped and in units; summed over all."""
    x = (table.values - question.design.centre[:COLUMNS]) * question.scale
    x /= np.ldexp(1.0, question.design.exponent[:COLUMNS])

    def loss(weights: np.ndarray) -> np.ndarray:
        w, b, v, c = np.split(weights, np.cumsum([6 * COLUMNS, 6, 6]))
        a = x @ w.reshape(6, COLUMNS).T + b
        score = (a / (1 + np.exp(-a))) @ v + c
        return np.logaddexp(0, np.where(table.classes == 1, -score, score))

    steps = 1e-5 * np.eye(question.size)
    each = np.column_stack(
        [(loss(question.weights + step) - loss(question.weights - step)) / 2e-5 for step in steps]
    )
    length = np.linalg.norm(each, axis=1, keepdims=True)
    kept = each * np.minimum(1, question.clip / length)
    return np.asarray(kept.sum(axis=0) * UNITS * np.sqrt(question.size) / question.clip)


def answers(plan: Plan, turns: int) -> tuple[np.ndarray, np.ndarray, SumClipped]:
    """Return what each cohort answers in many rounds about the same weights, and what without noise."""
    tables = [replace(table, secret=bytes([k]) * 32) for k, table in enumerate(tables_of(plan))]
    weights = np.random.default_rng(1).normal(size=SumClipped(plan, np.zeros(43), 1).size)
    asked = [SumClipped(plan, weights, turn + 1) for turn in range(turns)]
    given = np.array([[question.local(table)["gradient"] for table in tables] for question in asked])
    return given, np.array([central_sum(asked[0], table) for table in tables]), asked[0]


def test_a_sum_has_the_noise_of_the_promise_even_without_one_cohorts() -> None:
    plan = plan_of(taking_part=1.0, clip=0.3)
    given, exact, question = answers(plan, 100)
    noise = given - exact
    bound = (UNITS + 0.5) * np.sqrt(question.size)  # of a person
    for colluding in range(3):
        others = np.delete(noise, colluding, axis=1).sum(axis=1)
        assert stats.kstest(others.ravel(), "norm", args=(0, question.promise.noise * bound)).pvalue > 1e-4
    assert abs(np.corrcoef(noise.transpose(1, 0, 2).reshape(3, -1))[np.triu_indices(3, 1)]).max() < 0.06
    again, _, _ = answers(plan, 2)
    assert (again == given[:2]).all()  # a question that is asked again has the same noise


def test_people_are_drawn_each_by_their_own_chance() -> None:
    plan = plan_of(taking_part=0.25)
    question, table = SumClipped(plan, np.zeros(43), 1), tables_of(plan)[0]
    drawn = np.array(
        [replace(question, iteration=k).taken(replace(table, secret=b"k" * 32)) for k in range(200)]
    )
    assert stats.binomtest(int(drawn.sum()), drawn.size, 0.25).pvalue > 1e-4
    # How often each takes part spreads as it does of independent draws.
    assert drawn.sum(axis=0).var() == pytest.approx(200 * 0.25 * 0.75, rel=0.2)


def test_no_person_adds_more_than_the_bound_however_many_rows_they_have() -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 40)) * np.geomspace(1e-3, 1e3, 50)[:, None]
    vectors[0], vectors[1, 0] = np.inf, np.nan
    units = clipped(vectors, 1.5)
    length = np.linalg.norm(units, axis=1)
    assert (units == np.rint(units)).all() and not units[:2].any()
    assert length.max() <= (UNITS + 0.5) * np.sqrt(40)
    short = np.linalg.norm(vectors[2:], axis=1) < 1.5
    np.testing.assert_allclose(
        units[2:][short] * 1.5 / (UNITS * np.sqrt(40)), vectors[2:][short], atol=1.5 / UNITS / np.sqrt(40)
    )
    # All rows of a person are clipped together.
    plan = plan_of(taking_part=1.0, epsilon=100.0, delta=0.01, training_rounds=1, clip=1e-3)
    table = tables_of(plan)[0]
    one = replace(table, patients=np.zeros(len(table.values), np.int64), secret=b"k" * 32)
    question = SumClipped(plan, np.zeros(43), 1)
    (person,) = question._of_people(one)
    assert np.linalg.norm(person) <= (UNITS + 0.5) * np.sqrt(43)


@pytest.mark.parametrize(("noise", "rounds"), [(1.0, 1), (10.0, 100), (60.0, 2_000)])
def test_epsilon_of_everyone_in_each_round_is_that_of_the_normal_distribution(
    noise: float, rounds: int
) -> None:
    """Balle and Wang, Improving the Gaussian mechanism for differential privacy, ICML 2018, theorem 8."""
    mean = np.sqrt(rounds) / noise
    epsilon = epsilon_of(noise, 1e-6, 1.0, rounds)
    delta = stats.norm.cdf(mean / 2 - epsilon / mean) - np.exp(epsilon) * stats.norm.cdf(
        -mean / 2 - epsilon / mean
    )
    assert delta == pytest.approx(1e-6, rel=0.02) and delta <= 1e-6 * (1 + 1e-6)


@pytest.mark.parametrize(("noise", "share"), [(1.0, 0.1), (3.0, 0.5)])
def test_epsilon_of_a_round_of_some_is_that_of_its_two_densities(noise: float, share: float) -> None:
    """The noise with a person drawn by chance, beside the noise alone: by definition, either way round."""
    epsilon = epsilon_of(noise, 1e-3, share, 1)
    x, step = np.linspace(-12 * noise, 12 * noise + 1, 400_001, retstep=True)
    without = stats.norm.pdf(x, scale=noise)
    some = (1 - share) * without + share * stats.norm.pdf(x, 1, noise)
    both = ((some, without), (without, some))
    delta = max(np.maximum(one - np.exp(epsilon) * other, 0).sum() * step for one, other in both)
    assert delta == pytest.approx(1e-3, rel=0.01) and delta <= 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "share", "rounds"), [(1.0, 0.01, 500), (8.0, 0.2, 100)])
def test_no_less_noise_would_do(epsilon: float, share: float, rounds: int) -> None:
    noise = noise_for(epsilon, 1e-5, share, rounds)
    assert epsilon_of(noise, 1e-5, share, rounds) <= epsilon < epsilon_of(noise * 0.98, 1e-5, share, rounds)


def test_what_cannot_be_promised_is_refused() -> None:
    plan = plan_of(epsilon=1e-4, training_rounds=10_000, taking_part=1.0)
    with pytest.raises(Refuse, match="more noise than sums can bear"):
        run.run(plan, NOBODY, tables_of(plan))
    assert Promise(3.0, 1e-5, 0.1, 100, 3).deviation(10_000) > 1e4


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"epsilon": 0.0}, "epsilon"), ({"optimizer": "lbfgs", "taking_part": 1.0}, "optimizer")],
)
def test_plans_that_cannot_be_kept(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError, match=f"^{field}: "):
        plan_of(**changes)


def scaled_as(scaling: str, low: float = 6.0) -> Plan:
    """The plan whose first column is scaled so."""
    plan = plan_of(learning_rate=0.05)
    first, *others = plan.schema
    return replace(plan, schema=(replace(first, encoding=scaling, low=low), *others))


def test_a_logarithm_is_scaled_by_those_of_the_limits() -> None:
    plan = scaled_as("log")
    model = private_model_of(columns_of("", run.run(plan, NOBODY, tables_of(plan))), plan)
    feature, high = model["features"][0], plan.schema[0].high or 0.0
    assert feature["scaling"] == {"method": "log"}
    assert feature["mean"] == pytest.approx(np.log(6 * high) / 2)
    assert feature["unit"] == pytest.approx(np.log(high / 6) / 2)
    x, y = data()
    told = np.mean(Model(model).predict(x) == np.array([f"c{k}" for k in y], object))
    _, here = tried(model, models.table_of(models.cells_of(x, [f"c{k}" for k in y]), plan), plan)
    assert here == told  # the file takes values as they were measured


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (scaled_as("robust"), "here a scaling is log or log1p"),
        (scaled_as("log", 0.0), "want a lowest value above 0, for log"),
    ],
)
def test_scalings_that_cost_privacy_or_have_no_limits_are_refused(plan: Plan, said: str) -> None:
    assert said in algorithm(METHOD).problems(plan)["schema"]


def test_columns_want_their_limits() -> None:
    without = replace(plan_of(), schema=tuple(models.schema_of(COLUMNS, "c0|c1")))
    assert "want its lowest and highest value" in algorithm(METHOD).problems(without)["schema"]
