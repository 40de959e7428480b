"""What every registered algorithm keeps to, shown on a small study of each: what is declared is what happens.

Consent screen, ledger, progress, the client's book and the documentation rest on these declarations.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled import question as questions
from unpooled.algorithms import ALGORITHMS, FITS, TESTS, questions_of
from unpooled.algorithms.components.questions import ASKS_FIRST, KeepScores
from unpooled.alone import after
from unpooled.leaving import most_bytes_of
from unpooled.question import Question, Real

from .runs import run, sizes_of, small
from .studies import EVERY, STUDIES

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    **{name: f"{name}.md" for name in TESTS},
    **dict.fromkeys(FITS, "learning.md"),
    "prune": "ld.md",
    "pca": "components.md",
    "panel": "panel.md",
    "encode": "encodings.md",
}
"""Those of other methods of tables share one: normalization.md."""
LEAVES = {"pca": "components"}
"""Under which name the documentation has what leaves a cohort, if not under the algorithm's."""

of_each_study = pytest.mark.parametrize("name", EVERY)
of_each_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def plain(value: Any) -> bool:
    """Whether a value is what a question is made of: no plan, nothing of the server's."""
    if isinstance(value, tuple):
        return all(map(plain, value))
    if isinstance(value, Question):
        return all(plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    return value is None or isinstance(value, bool | int | float | str | bytes | np.ndarray)


def test_every_algorithm_has_a_study_here() -> None:
    assert {small(name).plan.test for name in EVERY} == ALGORITHMS.keys()


@of_each_study
def test_questions_travel_and_hold_nothing_else(name: str) -> None:
    plan, kinds = small(name).plan, questions_of(small(name).plan)
    for question in run(name).questions:
        message = questions.encode(question)
        received = questions.decode(message, kinds)
        assert type(received) is type(question) and questions.encode(received) == message
        assert received.agrees(plan), question
        for field in dataclasses.fields(question):
            assert plain(getattr(question, field.name)), field.name


@of_each_study
def test_cohorts_send_what_is_declared(name: str) -> None:
    """The first question of each kind; shapes, counts and bounds of all were looked at in its run."""
    one, met = small(name), set[type[Question]]()
    cohorts = list(one.cohorts)
    for question in run(name).questions:
        scheme = one.plan.scheme(question.ring_bits)
        for cohort in cohorts if type(question) not in met else ():
            answer = questions.answer(question, cohort)
            assert answer.keys() == {array.name for array in question.sends}
            for array in question.sends:
                assert answer[array.name].shape == questions.shape(question, array), array.name
                kind = "f" if isinstance(array, Real) else "iu"
                assert answer[array.name].dtype.kind in kind, array.name
            share = questions.pack(question, answer, scheme, one.plan.cohorts, bytes(32))
            assert len(share) == questions.words(question, scheme)
        met.add(type(question))
        cohorts = [after(question, cohort) for cohort in cohorts]


@of_each_study
def test_columns_that_are_named_are_as_many_as_the_rows(name: str) -> None:
    plan = small(name).plan
    for question in run(name).questions:
        if named := question.columns_under(plan):
            assert {questions.shape(question, array)[0] for array in question.sends} == {len(named)}


@of_each_study
def test_what_is_foreseen_is_what_is_asked_or_more(name: str) -> None:
    one = small(name)
    known, of = sizes_of(one), one.plan
    for kind in questions_of(of):
        met = [question for question in run(name).questions if type(question) is kind]
        foreseen = kind.foreseen(of, known)
        assert foreseen is not None
        scheme, expected = of.scheme(kind.ring_bits), list(foreseen.questions)
        words = sum(questions.words(question, scheme) for question in met)
        most = foreseen.rounds * sum(questions.words(question, scheme) for question in expected)
        assert words <= most and len(met) <= foreseen.rounds * len(expected), kind.name
        if kind.sends_under(of):
            assert most_bytes_of(kind, of, known) == most * scheme.word_bytes
        else:
            assert not met, kind.name
        if foreseen.exact:
            assert (words, len(met)) == (most, foreseen.rounds * len(expected)), kind.name
        if foreseen.usual_rounds is not None:
            assert foreseen.usual_rounds <= foreseen.rounds


@of_each_study
def test_an_array_that_the_plan_does_not_have_is_empty(name: str) -> None:
    plan = small(name).plan
    for question in run(name).questions:
        for array in set(question.sends) - set(question.sends_under(plan)):
            assert math.prod(questions.shape(question, array)) == 0, array.name


@of_each_study
def test_kinds_come_in_the_order_in_which_they_are_listed(name: str) -> None:
    listed = questions_of(small(name).plan)
    met = list(dict.fromkeys(map(type, run(name).questions)))
    assert met == [kind for kind in listed if kind in met]


@of_each_algorithm
def test_every_kind_that_is_listed_is_asked_in_some_study(name: str) -> None:
    plans = {study: small(study).plan for study in STUDIES}
    studies = [study for study, plan in plans.items() if plan.test == name and not plan.phenotypes]
    met = {type(question) for study in studies for question in run(study).questions}
    if KeepScores in met:  # asked before a regression if its plan wants components
        assert set(ASKS_FIRST) <= met
        met -= set(ASKS_FIRST) - set(ALGORITHMS[name].asks)
    assert met == set(ALGORITHMS[name].asks)


def test_a_name_is_of_one_kind_of_questions() -> None:
    kinds: dict[str, type[Question]] = {}
    for algorithm in ALGORITHMS.values():
        for kind in algorithm.asks:
            assert kinds.setdefault(kind.name, kind) is kind


@of_each_algorithm
def test_people_are_told_of_everything(name: str) -> None:
    algorithm = ALGORITHMS[name]
    assert algorithm.title and algorithm.method.endswith(".")
    for kind in algorithm.asks:
        assert kind.title and kind.sends, kind.name
        assert len({array.name for array in kind.sends}) == len(kind.sends), kind.name
        for array in kind.sends:
            assert array.meaning.strip() and array.learns.strip(), array.name
            assert not isinstance(array, Real) or array.fraction_bits, array.name


@of_each_algorithm
def test_the_documentation_has_it(name: str) -> None:
    leaves = (DOCS / "what-each-party-learns.md").read_text(encoding="utf-8")
    assert f":::{{leaves-the-cohort}} {LEAVES.get(name, name)}\n" in leaves
    page = (DOCS / PAGES.get(name, "normalization.md")).read_text(encoding="utf-8")
    assert f"--test {name}" in page or f"--method {name}" in page or f"`{name}`" in page
