"""Answerers with a book of their own, and questions in a round and at a place of their own."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path

import numpy as np

from tests.people import people
from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.asking.question import Question
from unpooled.methods import questions_of
from unpooled.protocol import masking, messages
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Book, open_book
from unpooled_client.study.rounds import Answerer
from unpooled_client.study.trust import Terms

SIZES = {"variants": 900, "variants_autosomal": 300, "variants_x": 300, "variants_mt": 300, "listed": 900}
WITNESS = bytes(32)
_ROUNDS = itertools.count(1)


def answerer_of(terms: Terms, seed: bytes | None = None) -> Answerer:
    """Answers under these terms, with an empty book."""
    seed = seed or os.urandom(32)
    folder = StateFolder(Path(tempfile.mkdtemp()))
    Book.begin(folder.book, seed)
    return _answerer(terms, seed, folder)


def started_again(answerer: Answerer) -> Answerer:
    """The same after the client was killed: what it knows of before is its book."""
    return _answerer(answerer.terms, answerer.seed, StateFolder(answerer.book.path.parent))


def _answerer(terms: Terms, seed: bytes, folder: StateFolder) -> Answerer:
    kinds = questions_of(terms.plan)
    return Answerer(
        terms,
        seed,
        open_book(folder, seed, terms.plan, SIZES),
        follow=lambda message: questions.decode(message.question, kinds, terms.plan),
        witness=WITNESS,
    )


def cohort_of(seed: int) -> ArrayCohort:
    """Sixty men and women, cases and controls, and as many variants as `SIZES` has."""
    random, n, m = np.random.default_rng(seed), 60, SIZES["variants"]
    sex = random.integers(1, 3, n).astype(np.uint8)
    samples = people(random.integers(0, 2, n), sex=sex)
    return ArrayCohort(samples, random.integers(0, 3, (m, n)).astype(np.int8), np.zeros(m, bool))


def asked(question: Question, place: str = "", *, is_sent: bool = False) -> messages.Question:
    """A question in a round of its own, at a place of its own unless it is sent or one is given."""
    number = next(_ROUNDS)
    salt, at = os.urandom(masking.SALT_BYTES), "" if is_sent else place or str(number)
    return messages.Question(number, salt, questions.encode(question), place=at)
