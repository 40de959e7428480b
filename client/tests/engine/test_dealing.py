"""Dealings of a cohort for a comparison: in its turn, the same to the byte, and written down before."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayTable
from unpooled.methods import algorithm, usual
from unpooled.methods.tables.order import Narrow
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.protocol import masking, messages, two_party
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import Roster
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Book, BookLost, Dealt, open_book
from unpooled_client.study.rounds import Answerer, Dealing
from unpooled_client.study.trust import Distrust, Terms

FEATURES = 2
NAMES = ("Graz", "Oslo", "Tartu")
READ, COMPARED = (
    next(kind for kind in algorithm("min-max").asks if issubclass(kind, Narrow) and bool(kind.opens) is opens)
    for opens in (False, True)
)
OSLO = 1
"""Rounds with this remainder are dealt for by Oslo, whose client this is."""


def terms_of(**changes: object) -> Terms:
    columns = tuple(Column(f"feature {k}") for k in range(FEATURES))
    fields = {"test": "min-max", "cohorts": len(NAMES), "compensator_key": NO_KEY, "schema": columns}
    named = {**fields, **usual("min-max"), "opens": "bits", **changes}
    plan = Plan(**named)  # type: ignore[arg-type, dict-item]
    roster = Roster(tuple((name, name.encode().ljust(32)) for name in NAMES))
    return Terms("study", "Oslo", plan, plan.hash(), roster, roster.hash(), False)


def answerer_of(terms: Terms, folder: StateFolder, seeds: tuple[bytes, bytes]) -> Answerer:
    book = open_book(folder, seeds[0], terms.plan, None)
    return Answerer(terms, seeds[0], book, own=seeds[1], follow=named, witness=os.urandom(32))


def named(message: messages.Question) -> questions.Question:
    """The question that a message names: this cohort's own run of the study is not what is tried here."""
    return questions.decode(NAMED[message.place], [READ, COMPARED], terms_of().plan)


NAMED: dict[str, bytes] = {}
"""The questions by their places."""


@pytest.fixture
def seeds() -> tuple[bytes, bytes]:
    return os.urandom(32), os.urandom(32)


@pytest.fixture
def folder(seeds: tuple[bytes, bytes]) -> StateFolder:
    made = StateFolder(Path(tempfile.mkdtemp()))
    Book.begin(made.book, seeds[0])
    return made


@pytest.fixture
def answerer(folder: StateFolder, seeds: tuple[bytes, bytes]) -> Answerer:
    return answerer_of(terms_of(), folder, seeds)


def question(kind: type[Narrow] = COMPARED) -> Narrow:
    return kind.first_about(terms_of().plan, np.full(FEATURES, 120), np.tile([1, 120], (FEATURES, 1)))


def asked(round_: int, of: questions.Question | None = None) -> messages.Question:
    place = str(len(NAMED))
    NAMED[place] = questions.encode(of or question())
    return messages.Question(round_, os.urandom(masking.SALT_BYTES), b"", place)


def dealt(answerer: Answerer, message: messages.Question) -> Dealing | None:
    return answerer.enter(message, answerer.question(message)).dealing()


def test_a_cohort_deals_in_its_turn(answerer: Answerer) -> None:
    found = [dealt(answerer, asked(round_)) for round_ in (3, 4, 5)]
    assert [dealing is not None for dealing in found] == [False, True, False]
    scheme = masking.scheme("z32")
    want = two_party.lengths(scheme.label, "at-least", questions.words(question(), scheme)).dealing
    assert found[OSLO] is not None and len(found[OSLO].data) == want


def test_nothing_is_dealt_where_sums_are_read(folder: StateFolder, seeds: tuple[bytes, bytes]) -> None:
    answerer = answerer_of(terms_of(opens="sums"), folder, seeds)
    assert dealt(answerer, asked(4, question(READ))) is None


def test_asked_again_it_is_the_same_to_the_byte(
    answerer: Answerer, folder: StateFolder, seeds: tuple[bytes, bytes]
) -> None:
    message = asked(4)
    first = dealt(answerer, message)
    restarted = answerer_of(answerer.terms, folder, seeds)
    again = [dealt(each, message) for each in (answerer, restarted)]
    assert first is not None
    assert all(each is not None and each.data == first.data for each in again)


def test_each_dealing_is_another(answerer: Answerer, seeds: tuple[bytes, bytes]) -> None:
    """Another round, second seed, or question gives another dealing: each in a book that is new."""
    message = asked(4)

    def anew(own: bytes, message: messages.Question) -> bytes:
        folder = StateFolder(Path(tempfile.mkdtemp()))
        Book.begin(folder.book, seeds[0])
        dealing = dealt(answerer_of(answerer.terms, folder, (seeds[0], own)), message)
        assert dealing is not None
        return dealing.data

    found = [anew(seeds[1], each) for each in (message, replace(message, round=7), asked(4))]
    found.append(anew(os.urandom(32), message))
    assert len({data[at : at + 16] for data in found for at in range(0, len(data), 16)}) == sum(
        -(-len(data) // 16) for data in found
    )
    assert anew(seeds[1], message) == found[0]


def test_the_book_has_the_question_and_the_dealing_before_it_leaves(answerer: Answerer) -> None:
    message = asked(4)
    dealing = dealt(answerer, message)
    assert dealing is not None
    found = Book(answerer.book.path, answerer.seed, lambda kind: None)
    assert set(found.rounds) == {4}
    assert found.dealt[4].circuit == "at-least"
    assert dealing.data not in answerer.book.path.read_bytes()


def test_the_book_is_written_once(answerer: Answerer) -> None:
    message = asked(4)
    dealt(answerer, message)
    answerer.enter(message, answerer.question(message)).share(ArrayTable(np.zeros((5, FEATURES))))  # type: ignore[arg-type]
    size = answerer.book.path.stat().st_size
    dealt(answerer, message)
    answerer.enter(message, answerer.question(message)).share(ArrayTable(np.zeros((5, FEATURES))))  # type: ignore[arg-type]
    assert answerer.book.path.stat().st_size == size


@pytest.mark.parametrize("is_restarted", [False, True])
def test_other_bytes_for_a_round_are_never_dealt(
    answerer: Answerer, folder: StateFolder, seeds: tuple[bytes, bytes], is_restarted: bool
) -> None:
    """Such bytes come if the second seed is lost, or another release deals otherwise: both together would
    tell.
    """
    message = asked(4)
    dealt(answerer, message)
    book = answerer.book
    if is_restarted:
        book = answerer_of(answerer.terms, folder, seeds).book
    other = replace(answerer, own=os.urandom(32), book=book)
    with pytest.raises(Distrust, match="deals otherwise than before"):
        dealt(other, message)


def test_another_question_in_a_round_is_not_dealt_for(answerer: Answerer) -> None:
    dealt(answerer, asked(4))
    with pytest.raises(Distrust, match="asks for something else in a round that was answered"):
        dealt(answerer, asked(4))


def test_what_the_plan_does_not_allow_is_not_dealt_for(
    folder: StateFolder, seeds: tuple[bytes, bytes]
) -> None:
    """A server that asks for bits where the plan says sums, and the other way round."""
    for opens, wrong in (("sums", question()), ("bits", question(READ))):
        answerer = answerer_of(terms_of(opens=opens), folder, seeds)
        message = asked(4, wrong)
        with pytest.raises(Distrust):
            dealt(answerer, message)
            answerer.enter(message, wrong).share(ArrayTable(np.zeros((5, FEATURES))))  # type: ignore[arg-type]


def test_more_than_can_be_compared_is_not_answered(answerer: Answerer) -> None:
    """A question of a dishonest server: an honest one asks in parts."""
    features = two_party.MAX_COMPARISONS // (2 * 255) + 1
    wide = COMPARED.first_about(terms_of().plan, np.full(features, 120), np.tile([1, 120], (features, 1)))
    answerer = replace(answerer, terms=terms_of(schema=tuple(Column(f"f{k}") for k in range(features))))
    with pytest.raises(Distrust, match="cannot be compared"):
        answerer.question(asked(4, wide))


def test_a_share_that_is_compared_is_masked_in_a_domain_of_its_own(answerer: Answerer) -> None:
    """Its mask is not what a release of the same upload would subtract."""
    message = asked(3)
    share = answerer.enter(message, answerer.question(message)).share(ArrayTable(np.zeros((5, FEATURES))))  # type: ignore[arg-type]
    scheme, terms = masking.scheme("z32"), answerer.terms
    named = {
        "study": terms.study,
        "plan_hash": terms.plan_hash,
        "roster_hash": terms.roster_hash,
        "cohort": terms.cohort,
        "round": message.round,
        "question": masking.question(message.salt, NAMED[message.place]),
        "scheme": scheme.label,
        "words": questions.words(question(), scheme),
        "nonce": share.nonce,
    }
    upload = scheme.from_bytes(share.data, named["words"])  # type: ignore[arg-type]
    compared = masking.mask(answerer.seed, masking.context_of("at-least", **named))
    released = masking.mask(answerer.seed, MaskContext(**named))  # type: ignore[arg-type]
    counts = scheme.decode_integers(scheme.subtract(upload, compared))[
        scheme.check_words : -masking.THIRD_WORDS
    ]
    assert set(counts) <= set(range(6))
    noise = scheme.decode_integers(scheme.subtract(upload, released))[
        scheme.check_words : -masking.THIRD_WORDS
    ]
    assert np.mean(np.abs(noise) < 1000) < 0.01


def test_half_a_dealing_at_the_end_of_a_book_is_taken_off(
    answerer: Answerer, folder: StateFolder, seeds: tuple[bytes, bytes]
) -> None:
    """The program was killed while it wrote: what was to be dealt did not leave."""
    message = asked(4)
    first = dealt(answerer, message)
    whole = answerer.book.path.read_bytes()
    answerer.book.path.write_bytes(whole[:-3])
    restarted = answerer_of(answerer.terms, folder, seeds)
    assert set(restarted.book.rounds) == {4} and not restarted.book.dealt
    again = dealt(restarted, message)
    assert first and again and again.data == first.data
    assert answerer.book.path.read_bytes() == whole


def test_a_dealing_in_a_damaged_book_is_not_forgotten(
    answerer: Answerer, folder: StateFolder, seeds: tuple[bytes, bytes]
) -> None:
    dealt(answerer, asked(4))
    dealt(answerer, asked(7, replace(question(), shift=48)))
    data = bytearray(answerer.book.path.read_bytes())
    data[data.index(b"dealt") + 40] ^= 1
    answerer.book.path.write_bytes(data)
    with pytest.raises(BookLost):
        answerer_of(answerer.terms, folder, seeds)


def test_what_is_dealt_does_not_print(answerer: Answerer) -> None:
    dealing = dealt(answerer, asked(4))
    assert dealing is not None
    printed = repr(dealing) + repr(answerer) + repr(Dealt(4, "at-least", b""))
    for secret in (dealing.data, answerer.seed, answerer.own):
        assert repr(secret)[2:30] not in printed and secret.hex()[:16] not in printed
