"""The cohort's book: what was answered is known whatever happens, and no question goes beyond it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from books import SIZES, answerer_of, asked, cohort_of, started_again

from unpooled.asking.cohort import ArrayCohort
from unpooled.asking.question import Question
from unpooled.described.what_leaves import most_bytes_of
from unpooled.methods.chi_square import CountGenotypes
from unpooled.methods.ld.leads import CountFounders
from unpooled.methods.presence import Presence
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.protocol.messages import Roster, Told
from unpooled_client.study.book import Book, BookLost, Heard, knows_of_a_release, lines_of
from unpooled_client.study.rounds import Answerer
from unpooled_client.study.trust import Distrust, Terms

PANEL = bytes(32)
GROUPS = (("case", "founder"), ("control", "founder"))


def terms_of(**changes: Any) -> Terms:
    given = {"test": "chi-square", "files": ("assoc", "clumped")} | changes
    plan = Plan(phenotype="asthma", cohorts=3, compensator_key=NO_KEY, **given)  # type: ignore[arg-type]
    roster = Roster(tuple((name, bytes(31) + name.encode()) for name in "GOT"))
    return Terms("s", "T", plan, plan.hash(), roster, roster.hash(), False)


@pytest.fixture
def answerer() -> Answerer:
    return answerer_of(terms_of())


@pytest.fixture
def cohort() -> ArrayCohort:
    return cohort_of(1)


def genotypes(start: int = 0, stop: int = 2) -> CountGenotypes:
    return CountGenotypes(start, stop, GROUPS, 9)


def share(answerer: Answerer, step: Question, cohort: ArrayCohort, panel: bytes = PANEL) -> None:
    sent = asked(step)
    answerer.enter(sent, answerer.question(sent), panel).share(cohort)


def refused(answerer: Answerer, sent: Any, cohort: ArrayCohort, match: str, panel: bytes = PANEL) -> None:
    """So it is by this client, and by the same started again."""
    for one in (answerer, started_again(answerer)):
        with pytest.raises(Distrust, match=match):
            one.enter(sent, one.question(sent), panel).share(cohort)


def test_the_same_again_is_answered_and_counted_once(answerer: Answerer, cohort: ArrayCohort) -> None:
    sent = asked(genotypes())
    shares = []
    for one in (answerer, answerer, started_again(answerer)):
        shares.append(one.enter(sent, one.question(sent), PANEL).share(cohort))
    assert len({each.nonce for each in shares}) == 3
    refused(answerer, replace(sent, salt=os.urandom(32)), cohort, "something else in a round")


def test_a_place_is_answered_once(answerer: Answerer, cohort: ArrayCohort) -> None:
    sent = asked(genotypes())
    answerer.enter(sent, answerer.question(sent), PANEL).share(cohort)
    refused(answerer, asked(genotypes(), place=sent.place), cohort, "again what was answered")
    share(answerer, genotypes(2, 3), cohort)


def test_a_place_has_one_sum(answerer: Answerer) -> None:
    told = Told(1, bytes(32), b"sum")
    for again in (lambda: answerer, lambda: answerer, lambda: started_again(answerer)):
        again().book.hear(genotypes(), Heard.of("0", told))
    assert len(list(lines_of(answerer.book.path, answerer.seed))) == 1
    for one in (answerer, started_again(answerer)):
        with pytest.raises(Distrust, match="tells another sum of the place 0"):
            one.book.hear(genotypes(), Heard.of("0", replace(told, total=b"another")))


def test_a_sum_that_could_not_be_written_down_is_not_taken_as_written(answerer: Answerer) -> None:
    path, heard = answerer.book.path, Heard.of("0", Told(1, bytes(32), b"sum"))
    kept = path.rename(path.with_name("kept"))
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        answerer.book.hear(genotypes(), heard)
    path.rmdir()
    kept.rename(path)
    answerer.book.hear(genotypes(), heard)
    assert list(lines_of(path, answerer.seed)) == [heard]


def test_the_panel_is_one(answerer: Answerer, cohort: ArrayCohort) -> None:
    share(answerer, genotypes(), cohort)
    refused(answerer, asked(genotypes(2, 4)), cohort, "another list", bytes(31) + b"1")


def test_no_question_is_sent_but_about_a_list(answerer: Answerer) -> None:
    with pytest.raises(Distrust, match="does not have"):
        answerer.question(asked(genotypes(), is_sent=True))
    with pytest.raises(Distrust, match="does not have"):
        answerer.question(asked(Presence(0, 1), is_sent=True))
    by_list = answerer_of(terms_of(panel_mode="list", panel_digest=bytes(32)))
    assert by_list.question(asked(Presence(0, 1), is_sent=True)) == Presence(0, 1)


class ListOf(ArrayCohort):
    def __init__(self, present: np.ndarray) -> None:
        self.present = present


def test_no_more_is_answered_than_was_released() -> None:
    terms = terms_of(panel_mode="list", panel_digest=bytes(32))
    answerer, few = answerer_of(terms), ListOf(np.ones(900, bool))
    most = most_bytes_of(Presence, terms.plan, SIZES)
    assert most is not None
    sent = asked(Presence(0, 900), is_sent=True)
    answerer.enter(sent, answerer.question(sent)).share(few)
    refused(answerer, asked(Presence(0, 1), is_sent=True), few, "more than was released", b"")


def test_what_was_cut_off_did_not_leave(answerer: Answerer, cohort: ArrayCohort) -> None:
    first, second = asked(genotypes()), asked(genotypes(2, 3))
    answerer.enter(first, answerer.question(first), PANEL).share(cohort)
    whole = answerer.book.path.read_bytes()
    answerer.enter(second, answerer.question(second), PANEL).share(cohort)
    longer = answerer.book.path.read_bytes()
    for size in range(len(whole), len(longer)):
        answerer.book.path.write_bytes(longer[:size])
        again = started_again(answerer)
        assert answerer.book.path.read_bytes() == whole
        assert again.book.rounds.keys() == {first.round}
    again.enter(second, again.question(second), PANEL).share(cohort)


@pytest.mark.parametrize("damage", ["gone", "empty", "of another seed", "within"])
def test_without_its_book_nothing_is_answered(answerer: Answerer, cohort: ArrayCohort, damage: str) -> None:
    share(answerer, genotypes(), cohort)
    share(answerer, genotypes(2, 3), cohort)
    path = answerer.book.path
    if damage == "gone":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "of another seed":
        Book.begin(path, os.urandom(32))
    else:
        data = bytearray(path.read_bytes())
        data[60] ^= 1
        path.write_bytes(data)
    with pytest.raises(BookLost, match="--join-anew"):
        started_again(answerer)
    with pytest.raises(BookLost):
        knows_of_a_release(path, answerer.seed)


def test_a_book_knows_whether_a_sum_was_released(answerer: Answerer, cohort: ArrayCohort) -> None:
    path, seed = answerer.book.path, answerer.seed
    assert not knows_of_a_release(path, seed)
    share(answerer, CountFounders(), cohort)
    assert not knows_of_a_release(path, seed)
    share(answerer, genotypes(), cohort)
    assert knows_of_a_release(path, seed)
