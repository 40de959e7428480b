"""Shares without a nonce: one round never has two, whatever happens between computing and sending."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from books import asked, cohort_of

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.methods import questions_of
from unpooled.methods.chi_square import CountGenotypes
from unpooled.plan.common_options import COHORTS
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.protocol.messages import Roster, Sealed
from unpooled.protocol.sealing import SigningKey, member_key
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Book, BookLost, lines_of, open_book
from unpooled_client.study.rounds import Answerer, Share
from unpooled_client.study.trust import Distrust, Terms
from unpooled_client.study.unsent import Unsent

NAMES = ("Graz", "Oulu", "Tartu")
SIZES = {"variants": 900, "variants_autosomal": 300, "variants_x": 300, "variants_mt": 300}
QUESTION = CountGenotypes(0, 2, (("case", "founder"), ("control", "founder")), 9)
PANEL = bytes(32)


class Site:
    """A cohort, which can be killed and started again as it was."""

    def __init__(self, folder: Path) -> None:
        self.keys = {name: SigningKey.generate() for name in NAMES}
        self.seeds = {name: os.urandom(32) for name in NAMES}
        plan = Plan("chi-square", "asthma", 3, NO_KEY, trust=COHORTS)
        roster = Roster(tuple((name, member_key(self.keys[name].both)) for name in NAMES))
        self.terms = Terms("s", "Tartu", plan, plan.hash(), roster, roster.hash(), False)
        self.folder = StateFolder(folder)
        Book.begin(self.folder.book, self.seeds["Tartu"])

    def start(self) -> Answerer:
        plan, meeting = self.terms.plan, self.terms.meeting
        book = open_book(self.folder, self.seeds["Tartu"], plan, SIZES)
        kinds = questions_of(plan)
        answerer = Answerer(
            self.terms,
            self.seeds["Tartu"],
            book,
            follow=lambda message: questions.decode(message.question, kinds, plan),
            unsent=Unsent(self.folder.unsent, book),
        )
        keys = {name: self.keys[name].sealing().public for name in NAMES}
        boxes = {name: meeting.seal(name, self.seeds[name], self.keys[name], keys) for name in NAMES}
        sealed = Sealed(self.terms.plan_hash, self.terms.roster_hash, meeting.addressed("Tartu", boxes))
        return answerer.paired(sealed, self.keys["Tartu"])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "state")


MESSAGE = asked(QUESTION)


def share(answerer: Answerer, of: ArrayCohort) -> Share:
    return answerer.enter(MESSAGE, answerer.question(MESSAGE), PANEL).share(of)


def unsent(answerer: Answerer) -> Unsent:
    assert answerer.unsent is not None
    return answerer.unsent


def test_the_same_bytes_go_out_again_after_a_crash(site: Site) -> None:
    first = share(site.start(), cohort_of(1))
    (kept,) = site.folder.unsent.iterdir()
    assert kept.read_bytes() == first.data
    assert os.name != "posix" or kept.stat().st_mode & 0o777 == 0o600
    again = share(site.start(), cohort_of(2))  # the data changed: what was about to be sent did not
    assert (again.data, again.nonce) == (first.data, first.nonce)


def test_what_the_server_has_is_erased_and_leaves_again_only_if_it_is_the_same(site: Site) -> None:
    answerer = site.start()
    first = share(answerer, cohort_of(1))
    unsent(answerer).erase(MESSAGE.round)
    assert not list(site.folder.unsent.iterdir())
    assert share(site.start(), cohort_of(1)).data == first.data
    unsent(answerer).erase(MESSAGE.round)
    for one in (answerer, site.start()):
        with pytest.raises(Distrust, match=r"another one than before.*read the difference"):
            share(one, cohort_of(2))
        assert not list(site.folder.unsent.iterdir())


def test_killed_between_file_and_book_nothing_has_left(site: Site) -> None:
    """So it is made again, of the data as they are then."""
    answerer = site.start()
    site.folder.unsent.mkdir(mode=0o700)
    (site.folder.unsent / str(MESSAGE.round)).write_bytes(b"half")
    found = share(answerer, cohort_of(1))
    assert (site.folder.unsent / str(MESSAGE.round)).read_bytes() == found.data


def test_killed_between_book_and_sending_the_file_is_sent(site: Site) -> None:
    first = share(site.start(), cohort_of(1))
    lines = list(lines_of(site.folder.book, site.seeds["Tartu"]))
    assert [line.name for line in lines] == ["entry", "sent"]
    before = site.folder.book.read_bytes()
    assert share(site.start(), cohort_of(1)).data == first.data
    assert site.folder.book.read_bytes() == before


def test_a_file_that_is_not_the_book_s_is_refused(site: Site) -> None:
    answerer = site.start()
    share(answerer, cohort_of(1))
    path = site.folder.unsent / str(MESSAGE.round)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    for one in (answerer, site.start()):
        with pytest.raises(Distrust, match="another one than before"):
            share(one, cohort_of(1))


def test_another_question_in_the_same_round_is_refused(site: Site) -> None:
    answerer = site.start()
    share(answerer, cohort_of(1))
    for other in (
        replace(MESSAGE, salt=os.urandom(32)),
        replace(MESSAGE, question=questions.encode(replace(QUESTION, stop=3))),
    ):
        for one in (answerer, site.start()):
            with pytest.raises(Distrust, match="something else in a round"):
                one.enter(other, one.question(other), PANEL).share(cohort_of(1))


def test_other_boxes_than_at_first_give_no_second_share(site: Site) -> None:
    """Another cohort seals other parts after a restart: the share would be under another mask."""
    answerer = site.start()
    share(answerer, cohort_of(1))
    unsent(answerer).erase(MESSAGE.round)
    site.seeds["Oulu"] = os.urandom(32)
    with pytest.raises(Distrust, match="another one than before"):
        share(site.start(), cohort_of(1))


def test_a_lost_book_ends_it(site: Site) -> None:
    answerer = site.start()
    share(answerer, cohort_of(1))
    site.folder.book.unlink()
    with pytest.raises(BookLost):
        site.start()


def test_boxes_of_a_false_roster_are_distrusted(site: Site) -> None:
    answerer = site.start()
    stranger = SigningKey.generate()
    meeting = site.terms.meeting
    keys = {name: site.keys[name].sealing().public for name in NAMES}
    boxes = {name: meeting.seal(name, site.seeds[name], stranger, keys) for name in NAMES}
    sealed = Sealed(site.terms.plan_hash, site.terms.roster_hash, meeting.addressed("Tartu", boxes))
    with pytest.raises(Distrust, match="Graz carries no valid signature"):
        answerer.paired(sealed, site.keys["Tartu"])
