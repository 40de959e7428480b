"""Answerers with a book of their own, and questions in a round of their own."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path

from unpooled import question as questions
from unpooled.protocol import masking, messages
from unpooled.question import Question
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
    return Answerer(terms, seed, open_book(folder, seed, terms.plan, SIZES), witness=WITNESS)


def started_again(answerer: Answerer) -> Answerer:
    """The same after the client was killed: what it knows of before is its book."""
    folder = StateFolder(answerer.book.path.parent)
    book = open_book(folder, answerer.seed, answerer.terms.plan, SIZES)
    return Answerer(answerer.terms, answerer.seed, book, witness=answerer.witness)


def asked(question: Question) -> messages.Question:
    """A question in a round of its own, as cohorts receive it."""
    return messages.Question(next(_ROUNDS), os.urandom(masking.SALT_BYTES), questions.encode(question))
