"""Tables with differential privacy: the noise of sums, what it promises, and the numbers that it leaves."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from normalizing import NOBODY, written
from scipy import stats

from tests.contract.studies import plan_of
from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.described.facts import plan_facts
from unpooled.errors import Refuse
from unpooled.fitted.scaler import Scaler
from unpooled.methods import METHODS, questions_of
from unpooled.methods.algorithm import NOT_POOLED
from unpooled.methods.tables.noisy import NoisyMoments, SumWithNoise
from unpooled.plan.plan import Plan, PlanError
from unpooled.plan.schema import Column

LIMITS = ((0.0, 100.0), (-3.0, 3.0), (1e5, 4e5))
ROWS = (300, 500, 200)


def plan_with(method: str = "z-score", **changes: Any) -> Plan:
    schema = [Column(f"c{k}", unit="mmol/l", low=low, high=high) for k, (low, high) in enumerate(LIMITS)]
    return plan_of(method, schema, 3, **{"epsilon": 3.0, **changes})


def tables(rows: tuple[int, ...] = ROWS) -> list[ArrayTable]:
    """Values, a few of which lie beyond their limits, and some of which are missing."""
    random, found = np.random.default_rng(4), []
    for k, n in enumerate(rows):
        values = np.column_stack(
            [random.normal(60, 25, n), random.normal(1, 1, n), random.lognormal(12.3, 0.3, n)]
        )
        values[:: 7 + k, 1] = np.nan
        found.append(ArrayTable(values, secret=bytes([k]) * 32))
    return found


def cut(values: np.ndarray) -> np.ndarray:
    return np.clip(values, *np.array(LIMITS).T)


def noises(plan: Plan, times: int) -> tuple[np.ndarray, SumWithNoise]:
    """The noise of each cohort in many answers, in units of 1: float64 (times, cohorts, 3, features)."""
    question, low, high = SumWithNoise(plan), *np.array(LIMITS).T
    given = np.array(
        [
            [
                question.local(replace(each, secret=bytes([k, t % 256, t // 256]) * 8))["sums"]
                for k, each in enumerate(tables())
            ]
            for t in range(times)
        ]
    )
    exact = []
    for each in tables():
        x = (2 * cut(each.values) - low - high) / (high - low)
        exact.append([(~np.isnan(x)).sum(axis=0), np.nansum(x, axis=0), np.nansum(x * x, axis=0)])
    return given / 2**16 - np.array(exact), question


def test_a_sum_has_the_noise_of_the_promise_even_without_one_cohorts() -> None:
    noise, question = noises(plan_with(), 150)
    longest = math.sqrt(question.size)  # of what a person adds
    for colluding in range(3):
        others = np.delete(noise, colluding, axis=1).sum(axis=1)
        # Each person's numbers are rounded to 2^-16, which is nothing beside the noise.
        spread = question.promise.noise * longest
        assert stats.kstest(others.ravel(), "norm", args=(0, spread)).pvalue > 1e-4
        # So few numbers hardly tell noise of all three from noise of two by their order; their size does.
        assert others.std() == pytest.approx(spread, rel=0.08)
    assert noise.sum(axis=1).std() == pytest.approx(question.deviation, rel=0.07)
    assert question.local(tables()[0])["sums"].tolist() == question.local(tables()[0])["sums"].tolist()


def test_no_row_adds_more_than_the_bound() -> None:
    question = SumWithNoise(plan_with())
    for values in ([1e300, -1e300, 1e300], [np.inf, -np.inf, 0], [0, 3, 4e5], [np.nan, 3, np.nan]):
        one, none = (
            question.local(ArrayTable(np.array(rows).reshape(-1, 3), secret=b"k" * 32))["sums"]
            for rows in ([values], [])
        )
        assert np.linalg.norm(one - none) <= (2**16 + 0.5) * math.sqrt(question.size)


def test_parameters_are_within_their_noise_of_those_of_the_pool() -> None:
    """Over studies with other secrets, the distance has the deviation that is said of the noise."""
    pooled = cut(np.concatenate([each.values for each in tables()]))
    question, apart = SumWithNoise(plan_with()), []
    for t in range(150):
        sums = sum(
            question.local(replace(each, secret=bytes([k, t % 256, t // 256]) * 8))["sums"]
            for k, each in enumerate(tables())
        )
        found = NoisyMoments.of(question, np.asarray(sums))
        assert not found.lost.any()
        apart.append(
            [
                (found.mean - np.nanmean(pooled, axis=0)) / found.noise_of_mean,
                (found.deviation - np.nanstd(pooled, axis=0)) / found.noise_of_deviation,
            ]
        )
    spread = np.array(apart).std(axis=0)
    assert (np.abs(spread - 1) < 0.2).all() and (np.abs(np.mean(apart, axis=0)) < 0.3).all()


def test_the_file_says_that_it_has_noise_and_how_much() -> None:
    plan = plan_with()
    content = json.loads(written(plan, tables(), "parameters"))
    assert "e^3 times as likely, but for a chance of 1e-05" in content["not_pooled"]
    assert dict(plan_facts(plan).model)[NOT_POOLED] == content["not_pooled"]
    pooled = cut(np.concatenate([each.values for each in tables()]))
    for k, row in enumerate(content["features"]):
        assert abs(row["mean"] - np.nanmean(pooled[:, k])) < 5 * row["noise_of_mean"]
        assert abs(row["deviation"] - np.nanstd(pooled[:, k])) < 5 * row["noise_of_deviation"]
        assert "with noise" in row["note"]
    scaled = Scaler(content).transform(pooled)
    assert (np.abs(np.nanmean(scaled, axis=0)) < 0.2).all() and (
        np.abs(np.nanstd(scaled, axis=0) - 1) < 0.2
    ).all()


def test_nothing_else_is_asked() -> None:
    plan, exact = plan_with(), plan_with(epsilon=0.0)
    assert [kind for kind in questions_of(plan) if kind.sends_under(plan)] == [SumWithNoise]
    assert not SumWithNoise.sends_under(exact)
    alone = run.run_alone(plan, NOBODY, tables()[0])["features"]
    np.testing.assert_allclose(alone["mean"], np.nanmean(tables()[0].values, axis=0))


def test_a_spread_that_the_noise_hides_is_refused() -> None:
    few = [replace(each, values=each.values[:20]) for each in tables()]
    with pytest.raises(Refuse, match="spread no farther than the noise of this epsilon"):
        run.run(plan_with(epsilon=0.5, min_samples=10), NOBODY, few)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"schema": (Column("c0"),)}, "schema"),
        ({"schema": (Column("c0", low=1.0, high=1.0),)}, "schema"),
        ({"schema": (Column("c0", low=0.0, high=1.0), Column("who", "text", role="patient"))}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"masking": "gaussian"}, "masking"),
    ],
)
def test_plans_that_cannot_be_kept(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError) as error:
        plan_with(**changes) if "schema" not in changes else plan_of(
            "z-score", changes["schema"], 3, epsilon=1.0
        )
    assert field in error.value.problems


def test_a_summary_has_the_same_numbers_and_no_quantiles() -> None:
    plan = plan_with("summary")
    head, *lines = (line.split("\t") for line in written(plan, tables(), "summary").splitlines())
    pooled = cut(np.concatenate([each.values for each in tables()]))
    for k, line in enumerate(lines):
        row = dict(zip(head, line, strict=True))
        assert row["missing"] == row["q0.5"] == "NA"
        assert abs(float(row["mean"]) - np.nanmean(pooled[:, k])) < 5 * float(row["noise_of_mean"])
    page = written(plan, tables(), "page")
    assert NOT_POOLED in page and "1e-05" in page
    assert not METHODS["summary"].told(plan) and METHODS["summary"].told(plan_with("summary", epsilon=0.0))
