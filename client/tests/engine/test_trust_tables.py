"""Questions about tables are checked before they are answered: their form, and that the plan has them."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from books import answerer_of, asked, started_again

from tests.contract.runs import run_of
from tests.contract.studies import NOBODY, Small
from unpooled import question as questions
from unpooled.algorithms import METHODS, is_followed, usual
from unpooled.algorithms.learning import FITS
from unpooled.algorithms.tables.order import Narrow
from unpooled.cohort import ArrayTable
from unpooled.plan import Plan
from unpooled.protocol.messages import Roster
from unpooled.protocol.problems import Problem
from unpooled.question import Question
from unpooled.schema import Column
from unpooled.shared_options import BITS, OPENS, SUMS
from unpooled.words import Words
from unpooled_client.study.rounds import Answerer
from unpooled_client.study.trust import Distrust, Terms

COHORTS, FEATURES = 3, 2
MODELS = [method.name for method in FITS]


def plan_of(method: str, **changes: Any) -> Plan:
    found = {"quantiles": (0.5,), "elements": (1, -1)} if method == "quantiles" else {}
    schema = tuple(Column(name) for name in ("age", "glucose"))
    if method in MODELS:
        schema = (*schema, Column("ill", "category", levels=("no", "yes"), role="outcome"))
        found = {"validation_folds": 2}
        if method == "linear-model":
            schema = (schema[0], replace(schema[1], role="outcome"))
    named = {"test": method, "cohorts": COHORTS, "compensator_key": bytes(32), **usual(method)} | found
    named |= {"files": tuple(named["files"]), "schema": schema, OPENS.name: SUMS}  # type: ignore[arg-type]
    return Plan(**named | changes)  # type: ignore[arg-type]


def answerer(plan: Plan) -> Answerer:
    roster = Roster(tuple((name, bytes(31) + name.encode()) for name in "GOT"))
    return answerer_of(Terms("s", "T", plan, plan.hash(), roster, roster.hash(), False))


STUDIES = [(method, {}) for method in METHODS]
STUDIES += [(method, {"opens": BITS}) for method, test in METHODS.items() if OPENS in test.options]


def honest(method: str, **changes: Any) -> list[Question]:
    """All that an honest server asks in a study."""
    plan = plan_of(method, **changes)
    return run_of(Small(plan, NOBODY, tables_of(plan))).questions


def tables_of(plan: Plan) -> list[ArrayTable]:
    """Of each cohort 20 rows; for a model, 60 with an outcome."""
    is_fitted, random = plan.test in MODELS, np.random.default_rng(1)
    values = random.lognormal(size=(COHORTS, 60 if is_fitted else 20, len(plan.features)))
    ill = Words(np.arange(60) % 2, ("no", "yes"))
    if not is_fitted:
        return [ArrayTable(part) for part in values]
    return [METHODS[plan.test].prepared(ArrayTable(part, words={"ill": ill}), plan) for part in values]


LARGE = np.array([0, 1101])
NO_NUMBER = np.array([np.nan, 0.0])
CANNOT_BE: dict[str, tuple[Any, ...]] = {
    "features": (1, 3, -2),
    "cohorts": (0, 4, -3),
    "most": (-1, 1 << 40),
    "values": (
        np.array([5]),
        np.array([-1, 5]),
        np.array([1.0, 2]),
        np.array([1, 1 << 40]),
        np.zeros((2, 1), int),
    ),
    "highest": (np.zeros(2), LARGE, np.zeros(1, int)),
    "distance": (0, 1 << 60),
    "magnitude": (np.zeros(2), LARGE, -LARGE, np.zeros((1, 2), int)),
    "centre": (NO_NUMBER, NO_NUMBER + np.inf, np.zeros(2, int), np.zeros((2, 1)), np.zeros(4)),
    "prefix": (
        np.zeros((2, 2)),
        np.zeros(2, np.uint64),
        np.zeros((1, 2), np.uint64),
        np.zeros((2, 15), np.uint64),
    ),
    "shift": (4, -8, 64),
    "asked": (
        np.array([1, 0]),
        np.array([0, 2]),
        np.array([-1, 1]),
        np.array([0, 0]),
        np.zeros(2),
        np.zeros(0, int),
    ),
    "powers": (
        np.zeros((2, 3)),
        np.zeros(2),
        np.full((2, 15), np.nan),
        np.full((2, 15), np.inf),
        np.zeros((1, 15)),
    ),
    "size": (np.zeros((2, 3), int), np.zeros((2, 15)), np.full((2, 15), 1101), np.zeros(2, int)),
    "width": (np.zeros(2), LARGE, np.zeros(1, int), np.zeros(0, int)),
    "wanted": (np.zeros((2, 2)), np.full((2, 2), -1), np.full((2, 2), 1 << 31), np.zeros((1, 2), int)),
}


@pytest.mark.parametrize(
    ("method", "changes"), [study for study in STUDIES if not is_followed(plan_of(study[0], **study[1]))]
)
def test_a_question_whose_fields_cannot_be_is_refused(method: str, changes: dict[str, str]) -> None:
    own, met = answerer(plan_of(method, **changes)), set()
    for step in honest(method, **changes):
        assert own.question(asked(step))
        met.add(step.name)
        sent = {field.name for field in dataclasses.fields(step)}  # type: ignore[arg-type]
        for field in CANNOT_BE.keys() & sent:
            for value in CANNOT_BE[field]:
                bad = questions.decode(questions.encode(step), METHODS[method].asks)
                object.__setattr__(bad, field, value)  # as only another program would build it
                try:
                    own.question(asked(bad))
                except Distrust as refusal:
                    assert refusal.problem is Problem.QUESTION
                else:
                    pytest.fail(f"{step.name} with {field} {value} is answered")
    plan = plan_of(method, **changes)
    assert met == {kind.name for kind in METHODS[method].asks if kind.sends_under(plan)}


@pytest.mark.parametrize("method", [method for method, changes in STUDIES if changes])
def test_what_nobody_shall_read_is_not_summed_either(method: str) -> None:
    """And what is to be read is not compared: the plan says which of the two is answered."""
    studies = [{"opens": SUMS}, {"opens": BITS}]
    for own, others in (studies, reversed(studies)):
        kinds = {type(question) for question in honest(method, **own)}
        for question in honest(method, **others):
            if type(question) not in kinds:
                with pytest.raises(Distrust):
                    late = answerer(plan_of(method, **own))
                    late.share(asked(question), question, ArrayTable(np.ones((20, FEATURES))))


def test_no_more_elements_than_the_plan_has_and_no_closer() -> None:
    """Ranges, for Yeo and Johnson's transform, are known to 3 bytes; a fourth tells of single values."""

    def allows(method: str, question: Question) -> bool:
        try:
            return bool(answerer(plan_of(method)).question(asked(question)))
        except Distrust:
            return False

    narrow = {
        method: next(q for q in honest(method) if isinstance(q, Narrow))
        for method in ("min-max", "robust", "quantiles", "yeo-johnson")
    }
    for method, first in narrow.items():
        closer = replace(first, shift=32)
        assert allows(method, closer) == (method != "yeo-johnson")
        assert not allows("z-score", closer)
        five = replace(first, prefix=np.zeros((FEATURES, 5), np.uint64))
        assert allows(method, five) == (method == "robust")  # 3 quantiles, each between two
        others = (other for other in narrow if other != method)
        assert not any(allows(other, first) for other in others)  # each method has a question of its own


@pytest.mark.parametrize("method", ["quantiles", "yeo-johnson", "summary"])
def test_order_statistics_are_those_that_were_asked_for_first(method: str) -> None:
    """A question may come again, as after a lost share; another element may not, at whichever byte."""
    own, table = answerer(plan_of(method)), ArrayTable(np.ones((20, FEATURES)))
    asked_for = [step for step in honest(method) if isinstance(step, Narrow)]
    assert len(asked_for) == (3 if method == "yeo-johnson" else 8)
    for step in asked_for:
        question = asked(step)
        own.share(question, step, table)
        own.share(question, step, table)
    for step in asked_for[1:]:
        others = answerer(plan_of(method))
        for earlier in asked_for:
            if earlier is not step:
                others.share(asked(earlier), earlier, table)
        other = replace(step, prefix=step.prefix ^ np.uint64(1 << 63))
        assert other.agrees(plan_of(method))
        for own in (others, started_again(others)):
            with pytest.raises(Distrust, match="other values") as caught:
                own.share(asked(other), other, table)
            assert caught.value.problem is Problem.QUESTION
    fewer = replace(asked_for[0], prefix=asked_for[0].prefix[:, :1])
    late = answerer(plan_of(method))
    late.share(asked(asked_for[1]), asked_for[1], table)
    with pytest.raises(Distrust, match="other values"):
        late.share(asked(fewer), fewer, table)
    late = answerer(plan_of(method))  # from the last byte on: what it began with does not matter
    late.share(asked(asked_for[-1]), asked_for[-1], table)
    with pytest.raises(Distrust):
        late.share(asked(other), other, table)
