"""A cohort answers what its own run of a study asks, and each of it in one round."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unpooled.asking import question as questions
from unpooled.asking.driver import digest
from unpooled.asking.question import Question
from unpooled.protocol import masking
from unpooled.protocol.messages import Question as Message
from unpooled.protocol.messages import Roster
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Book, open_book
from unpooled_client.study.rounds import Answerer, Entered
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


@pytest.mark.parametrize("name", STUDIES)
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


@pytest.mark.parametrize("name", STUDIES)
def test_whoever_is_told_something_else_masks_otherwise(name: str, tmp_path: Path) -> None:
    """So no sum comes of it: of another round, salt, list of variants, plan, roster, cohort, or question."""
    one, asked = small(name), run(name).questions
    (message, *_), panel = rounds(asked), one.panel.digest
    folder = StateFolder(tmp_path)
    Book.begin(folder.book, SEED)
    own = answerer_of(one, folder)
    roster = Roster((*own.terms.roster.members[:-1], ("stranger", bytes([1] * 32))))

    def mask(question: Question, told: Message = message, variants: bytes = panel, **terms: Any) -> bytes:
        answerer = replace(own, terms=replace(own.terms, **terms))
        named = masking.question(told.salt, questions.encode(question), variants)
        context = Entered(answerer, told, question, named).context(bytes(masking.NONCE_BYTES))
        return masking.mask(SEED, context).tobytes()[:32]

    question, *others = asked
    masks = [
        mask(question),
        mask(question, replace(message, round=2)),
        mask(question, replace(message, salt=bytes(masking.SALT_BYTES))),
        mask(question, variants=bytes(32)),
        mask(question, plan_hash=replace(one.plan, min_samples=one.plan.min_samples + 1).hash()),
        mask(question, roster_hash=roster.hash()),
        mask(question, cohort="cohort 1"),
        *[mask(other) for other in others if digest(other) != digest(question)][:1],
    ]
    assert len(set(masks)) == len(masks)
