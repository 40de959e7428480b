"""Studies of tables of which the server reads bits: the same results, and nothing but what they tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from asking import Followed, followed
from normalizing import NOBODY, evenly, loaded, plan_of

from unpooled.algorithms import check
from unpooled.algorithms.tables.bracket import START
from unpooled.algorithms.tables.order import NarrowByBits, keys
from unpooled.algorithms.tables.ranges import FindRangeByBits
from unpooled.algorithms.tables.signs import SIGNS, FindDirection, MeasureUnderway, Outwards, SearchBySigns
from unpooled.cohort import ArrayTable
from unpooled.facts import plan_facts
from unpooled.leaving import BY_NOBODY, DEALING, EVERYONE_BY_SUM, what_leaves
from unpooled.parties import what_parties_get
from unpooled.plan import Plan, PlanError
from unpooled.protocol import comparing
from unpooled.question import words
from unpooled.shared_options import BITS

OF_ELEMENTS = ("min-max", "robust", "quantiles")
MORE: dict[str, dict[str, Any]] = {"quantiles": {"quantiles": (0.1, 0.5), "elements": (1, -2, 400)}}


def by_bits(method: str, pooled: np.ndarray, cohorts: int = 3) -> Followed:
    plan = plan_of(method, pooled.shape[1], cohorts, opens=BITS, **MORE.get(method, {}))
    return followed(plan, NOBODY, [ArrayTable(part) for part in evenly(pooled, cohorts)])


@pytest.mark.parametrize("method", OF_ELEMENTS)
def test_what_is_told_follows_from_the_elements(method: str) -> None:
    """Of each threshold whether the element is at most that: made from the elements alone, it is the same."""
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
    """30 features in 10 cohorts: of the search at most 10 rounds, and 0.3 MB a feature on all links."""
    pooled = loaded("breast_cancer")
    study = by_bits("yeo-johnson", pooled, 10)
    searched = [q for q in study.questions if isinstance(q, FindDirection | SearchBySigns)]
    assert len(searched) <= 10 and len(study.questions) <= 16
    sent = 0
    for question in searched:
        scheme = plan_of("yeo-johnson", 30, 10).scheme(question.ring_bits)
        share = words(question, scheme)
        lengths = comparing.lengths(scheme.label, question.opens.circuit, share)
        sent += 10 * scheme.word_bytes * share + lengths.dealing
        sent += sum(lengths.server) + sum(lengths.compensator)
    assert sent <= 0.3e6 * 30


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


def test_plans_that_cannot_be() -> None:
    with pytest.raises(PlanError, match="opens: bits only with uniform masks"):
        plan_of("min-max", 3, opens=BITS, masking="gaussian")
    with pytest.raises(PlanError, match="opens"):
        check(plan_of("z-score", 3, opens=BITS))
    with pytest.raises(PlanError, match="schema: too many for so many columns: at most 4,112 elements"):
        check(plan_of("min-max", 2057, opens=BITS))
    check(plan_of("min-max", 2057))
