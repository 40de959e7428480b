"""A cohort answers what an honest study asks, in its order, and nothing of it more often than it says."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from unpooled import question as questions
from unpooled.algorithms import is_followed, questions_of
from unpooled.protocol import masking
from unpooled.protocol.messages import Question as Message
from unpooled.protocol.messages import Roster
from unpooled.question import Question
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Book, open_book
from unpooled_client.study.rounds import Answerer
from unpooled_client.study.trust import Distrust, Terms

from .runs import run, sizes_of, small
from .studies import STUDIES, Small

SEED = bytes(32)


def answerer_of(one: Small, folder: StateFolder) -> Answerer:
    """A cohort that has accepted the study, and goes on with the book in this folder."""
    roster = Roster(tuple((f"cohort {k}", k.to_bytes(32, "big")) for k in range(one.plan.cohorts)))
    terms = Terms("s", "cohort 0", one.plan, one.plan.hash(), roster, roster.hash(), False)
    return Answerer(terms, SEED, open_book(folder, SEED, one.plan, sizes_of(one)))


def rounds(asked: list[Question]) -> Iterator[Message]:
    """Each question in a round of its own, as cohorts receive it."""
    for number, question in enumerate(asked, start=1):
        yield Message(number, os.urandom(masking.SALT_BYTES), questions.encode(question))


def is_sent(name: str) -> bool:
    return not is_followed(small(name).plan)


@pytest.mark.parametrize("name", [*itertools.filterfalse(is_sent, STUDIES)])
def test_a_place_is_answered_in_one_round(name: str, tmp_path: Path) -> None:
    one, asked, folder = small(name), run(name).questions, StateFolder(tmp_path)
    Book.begin(folder.book, SEED)
    messages = [replace(message, place=str(message.round)) for message in rounds(asked)]
    for _ in range(2):  # again as after a crash
        own = answerer_of(one, folder)
        for message, question in zip(messages, asked, strict=True):
            own.enter(message, question, one.panel.digest)
    for message, question in zip(messages, asked, strict=True):
        with pytest.raises(Distrust):
            own.enter(replace(message, round=message.round + len(asked)), question, one.panel.digest)


@pytest.mark.parametrize("name", [*filter(is_sent, STUDIES)])
def test_an_honest_study_is_answered_and_nothing_twice(name: str, tmp_path: Path) -> None:
    one, asked, folder = small(name), run(name).questions, StateFolder(tmp_path)
    Book.begin(folder.book, SEED)
    own, messages = answerer_of(one, folder), list(rounds([*asked, *asked]))
    first, again = messages[: len(asked)], messages[len(asked) :]
    for message in first:
        own.enter(message, own.question(message), one.panel.digest)
    own, counts = answerer_of(one, folder), Counter(itertools.chain.from_iterable(map(counted, asked)))
    for message in first:  # as after a crash
        own.enter(message, own.question(message), one.panel.digest)
    for message, question in zip(again, asked, strict=True):
        most = question.asking().most
        assert all(counts[key] <= most for key in counted(question))
        if any(counts[key] == most for key in counted(question)):
            with pytest.raises(Distrust):
                own.enter(message, own.question(message), one.panel.digest)


@pytest.mark.parametrize("require_pheno", [False, True])
def test_only_phenotypes_of_other_people_take_a_missing_call_for_something_else(require_pheno: bool) -> None:
    """Of the same people it would tell of those without a call, as two ways of linkage would."""
    plan = replace(small("logistic, of phenotypes").plan, require_pheno=require_pheno, files=("clumped",))
    apart = {kind.fills_apart for kind in questions_of(plan)}
    assert apart == {"", "ld"} | ({*()} if require_pheno else {" of y", " of z"})


def counted(question: Question) -> Iterator[tuple[str, str, int]]:
    """What the book counts of a question."""
    asking = question.asking()
    for item in [-1] if asking.items is None else asking.items.tolist():
        yield question.name, asking.search, item
