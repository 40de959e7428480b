"""A cohort follows every study on the sums that it is told: it finds each question, and believes no other."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled.asking import driver
from unpooled.asking import question as questions
from unpooled.asking.driver import Place, Tree
from unpooled.asking.question import Arrays, Question, Real, Residue
from unpooled.asking.share_check import check_of, second_check_of
from unpooled.memory.spool import Shelf
from unpooled.methods import questions_of, whole
from unpooled.plan.common_options import BITS, OPENS
from unpooled.protocol import codec, masking, messages, witness
from unpooled.protocol.dealing import dealer_of
from unpooled.protocol.masking import CHECK_BYTES
from unpooled.protocol.messages import Roster, Shown, Told
from unpooled.protocol.witness import Witnessed
from unpooled_client.study import resting
from unpooled_client.study.following import Following
from unpooled_client.study.resting import RestingPlaces
from unpooled_client.study.trust import Distrust, Terms

from .comparisons import compared, sums_giving
from .runs import Run, run, small
from .studies import STUDIES


@dataclass(eq=False)
class Server:
    """An honest server that has run a study: what it asked, and what it tells."""

    run: Run
    asked: list[messages.Question] = field(default_factory=list)
    told: dict[str, Told] = field(default_factory=dict)
    shown: dict[str, Shown] = field(default_factory=dict)
    checked: set[str] = field(default_factory=set)
    """The places of which sums have a second check: bits have none, and are shown how they were found."""

    def __post_init__(self) -> None:
        plan = self.run.small.plan
        roster = Roster(tuple((f"cohort {k}", bytes([k] * 32)) for k in range(plan.cohorts)))
        self.terms = Terms("study", "cohort 0", plan, plan.hash(), roster, roster.hash(), False)
        self.witness = witness.make([b"seeds"], "study", plan.hash(), roster.hash())
        self.answers = iter(self.run.answers)
        Tree(whole(self.run.study), questions_of(plan), self._sums, rows=[]).value()

    def _sums(self, place: Place, question: Question) -> Arrays:
        _, sums = next(self.answers)
        number, salt = len(self.asked) + 1, os.urandom(masking.SALT_BYTES)
        self.asked.append(messages.Question(number, salt, b"", place.label, driver.digest(question)))
        is_checked = not question.opens and all(not isinstance(array, Residue) for array in question.sends)
        if question.opens:
            self._show(place, question, sums, number, salt)
        total = self._words(question, sums, number, salt) if is_checked else self._unchecked(question, sums)
        self.told[place.label] = Told(number, salt, total)
        if is_checked:
            self.checked.add(place.label)
        return dict(sums)

    def _unchecked(self, question: Question, sums: Arrays) -> bytes:
        if question.opens:
            return driver.sums_bytes(question, sums)
        scheme = self.run.small.plan.scheme(question.ring_bits)
        words = np.concatenate([sums[array.name].ravel() for array in question.sends])
        total = np.concatenate([scheme.zeros(scheme.check_words), words])
        scheme.set_checks(total, self.run.small.plan.cohorts)
        return scheme.to_bytes(total)

    def _show(self, place: Place, question: Question, bits: Arrays, number: int, salt: bytes) -> None:
        """Compare sums that give these bits, which are all that is known of the sums."""
        context = self.terms.dealing(question, number, self._named(question, salt))
        scheme = self.run.small.plan.scheme(question.ring_bits)
        assert isinstance(scheme, masking.Modular)
        sums, names = (
            sums_giving(question, bits[question.opens.name], scheme),
            dict(self.terms.roster.members),
        )
        found, self.shown[place.label] = compared(question, sums, context, list(names), self.witness)
        assert np.array_equal(found[question.opens.name], bits[question.opens.name])

    def _named(self, question: Question, salt: bytes) -> bytes:
        plan, panel = self.run.small.plan, self.run.small.panel
        return masking.question(salt, questions.encode(question), b"" if plan.of_tables else panel.digest)

    def _words(self, question: Question, sums: Arrays, number: int, salt: bytes) -> bytes:
        """The sums as the words that they were read from, or such as are read the same."""
        plan = self.run.small.plan
        scheme = plan.scheme(question.ring_bits)
        parts = [scheme.zeros(scheme.check_words)]
        for array in question.sends:
            bits = questions._fraction_bits(question, array, plan.cohorts)
            is_real = isinstance(array, Real)
            parts.append(
                scheme.encode_reals(sums[array.name], bits)
                if is_real
                else scheme.encode_integers(sums[array.name])
            )
        total = np.concatenate(parts)
        witnessed = Witnessed(self.witness, number, self._named(question, salt))
        second = second_check_of(total, scheme, witnessed, padded=True)
        scheme.set_checks(total, check_of(total, scheme, salt, plan.cohorts), second)
        return scheme.to_bytes(total)

    def following(self, told: Callable[[str], Told], **more: Any) -> Following:
        """A cohort's run of the study on what is told."""
        usual: dict[str, Any] = {
            "show": self.shown.__getitem__,
            "panel": lambda: self.run.small.panel,
            "witness": lambda: self.witness,
            "heard": lambda question, place, told: None,
        }
        return Following(self.terms, told, **usual | more)

    @property
    def verified(self) -> set[str]:
        """The places of which the cohort believes nothing without a check: where it deals, it does."""
        names = self.terms.roster
        dealt = {
            place for place in self.shown if dealer_of(names, self.told[place].round) == self.terms.cohort
        }
        return self.checked | (self.shown.keys() - dealt)

    def follow(self, told: Callable[[str], Told]) -> list[bool]:
        """Follow the study on what is told: whether each question is found. None is ever another one.

        What branches go on from is held on the disk, however small it is.
        """
        following = self.following(told, shelf=Shelf(room=0, segment=1 << 16, least=1))
        found = []
        for message in self.asked:
            try:
                assert driver.digest(following.question(message)) == message.digest
            except Distrust:
                found.append(False)
            else:
                found.append(True)
        return found


@functools.cache
def server(name: str) -> Server:
    return Server(run(name))


OF_EACH_METHOD = list({small(name).plan.test: name for name in reversed(STUDIES)}.values())
"""The first study of each method."""


def crafted(question: Any) -> Iterator[Question]:
    """The question with one thing that the server has chosen: a variant, weight, edge, direction or level."""
    for each in codec.sent(type(question)):
        match getattr(question, each.name):
            case np.ndarray(size=size) as value if size:
                chosen = value.copy()
                chosen.flat[0] = not value.flat[0]
                yield replace(question, **{each.name: chosen})
            case int() | float() as value:
                yield replace(question, **{each.name: value + 1})


@pytest.mark.parametrize("name", STUDIES)
def test_a_cohort_finds_each_question_itself(name: str) -> None:
    """It finds no other one: crafted by the server, where it was before, or in a branch that is not there."""
    asked = server(name)
    following, seen = asked.following(asked.told.__getitem__), set[type[Question]]()
    for message, before, (question, _) in zip(
        asked.asked, [None, *asked.asked], asked.run.answers, strict=False
    ):
        others = [] if type(question) in seen else crafted(question)  # of each kind one: they may be large
        lies = [replace(message, digest=driver.digest(other)) for other in others]
        seen.add(type(question))
        if before and before.digest != message.digest:
            lies.append(replace(message, place=before.place))
        for lie in lies:
            with pytest.raises(Distrust):
                following.question(lie)
        assert driver.digest(following.question(message)) == message.digest
    with pytest.raises(Distrust):
        following.question(replace(message, place=f"{message.place}.0"))


def another_witness(asked: Server) -> dict[str, Any]:
    return {"witness": lambda: bytes(len(asked.witness))}


def fewer_variants(asked: Server) -> dict[str, Any]:
    panel = asked.run.small.panel
    return {"panel": lambda: panel.take(np.arange(len(panel) - 1))}


@pytest.mark.parametrize("change", [another_witness, fewer_variants])
@pytest.mark.parametrize("name", OF_EACH_METHOD)
def test_no_sum_is_believed_beside_another_secret_or_list(
    name: str, change: Callable[[Server], dict[str, Any]]
) -> None:
    asked, heard = server(name), list[str]()
    if change is fewer_variants and asked.run.small.plan.of_tables:
        return
    following = asked.following(
        asked.told.__getitem__, heard=lambda question, place, told: heard.append(place), **change(asked)
    )
    with contextlib.suppress(Distrust):
        for message in asked.asked:
            following.question(message)
    assert asked.verified.isdisjoint(heard)


@pytest.mark.parametrize("name", [name for name in STUDIES if "network" in name or "updates" in name])
def test_a_cohort_that_starts_again_goes_on_from_its_states(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started again at each question, it wants no sums from before its last state but one."""
    monkeypatch.setattr(resting, "LARGE", 0)
    run, seed = server(name), bytes(32)
    wanted: list[str] = []

    def told(place: str) -> Told:
        wanted.append(place)
        return run.told[place]

    for message in run.asked:
        before = max(RestingPlaces(tmp_path, seed).kept, default=0)
        wanted.clear()
        following = run.following(told, places=RestingPlaces(tmp_path, seed))
        assert driver.digest(following.question(message)) == message.digest
        assert all(int(place) >= before for place in wanted if place.isdecimal())
    last, newest = (
        RestingPlaces(tmp_path, seed),
        lambda seed: RestingPlaces(tmp_path, seed).newest(run.run.study),
    )
    older, newer = sorted(last.kept)
    damaged = bytearray((tmp_path / str(newer)).read_bytes())
    damaged[-1] ^= 1
    (tmp_path / str(newer)).write_bytes(damaged)
    assert newest(seed).asked == older
    assert newest(bytes([1]) * 32) is None  # of another seed


def a_word(told: Told) -> Told:
    data = bytearray(told.total)
    data[-1 - len(data) // 5] ^= 1
    return replace(told, total=bytes(data))


def the_first_check(told: Told) -> Told:
    return replace(told, total=bytes([told.total[0] ^ 1]) + told.total[1:])


def the_second_check(told: Told) -> Told:
    data = bytearray(told.total)
    data[CHECK_BYTES] ^= 1
    return replace(told, total=bytes(data))


def the_salt(told: Told) -> Told:
    return replace(told, salt=bytes(masking.SALT_BYTES))


def the_round(told: Told) -> Told:
    return replace(told, round=told.round + 1)


CHANGES = (a_word, the_first_check, the_second_check, the_salt, the_round)


@pytest.mark.parametrize("name", STUDIES)
def test_no_other_sum_is_believed(name: str) -> None:
    """Each changed sum is refused when it comes; told again as it is, the study goes on."""
    asked = server(name)
    labels, refused = sorted(asked.checked), list[str]()
    changes = dict(zip(labels[:: -(-len(labels) // len(CHANGES))], CHANGES, strict=False))

    def told(place: str) -> Told:
        if change := changes.pop(place, None):
            refused.append(place)
            return change(asked.told[place])
        return asked.told[place]

    assert asked.follow(told).count(False) == len(refused)


CHANGES_OF_A_COMPARISON: tuple[Callable[[Shown], Shown], ...] = (
    lambda shown: replace(shown, total=flipped(shown.total)),
    lambda shown: replace(shown, dealing=flipped(shown.dealing)),
    lambda shown: replace(shown, answers=(*shown.answers[:-1], flipped(shown.answers[-1]))),
    lambda shown: replace(shown, shuffle=flipped(shown.shuffle)),
    lambda shown: replace(shown, uploads=shown.uploads[::-1]),
)


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("name", [name for name in STUDIES if OPENS.of(small(name).plan) == BITS])
def test_no_other_comparison_is_believed(name: str) -> None:
    """Each changed comparison is refused when it is shown; shown again as it was, the study goes on."""
    asked, refused = server(name), list[str]()
    places = [message.place for message in asked.asked if message.place in asked.verified - asked.checked]
    changes = dict(zip(places, CHANGES_OF_A_COMPARISON, strict=False))

    def show(place: str) -> Shown:
        if change := changes.pop(place, None):
            refused.append(place)
            return change(asked.shown[place])
        return asked.shown[place]

    following, stopped = asked.following(asked.told.__getitem__, show=show), 0
    for message in asked.asked:
        try:
            following.question(message)
        except Distrust:
            stopped += 1
    assert stopped == len(refused)


@pytest.mark.parametrize("name", OF_EACH_METHOD)
def test_a_forged_sum_leads_to_no_other_answer(name: str) -> None:
    """A cohort in league with the server makes both checks of a sum that it tells one cohort alone.

    That one then asks what the others are asked, or stops: what it is led to instead has another digest.
    """
    asked = server(name)
    honest = zip(asked.asked, asked.run.answers, strict=True)
    place, question, sums = next(
        ((m.place, q, s) for m, (q, s) in honest if m.place in asked.checked and len(s)), ("", None, {})
    )
    if question is None:
        return
    first = question.sends[0].name
    number, salt = asked.told[place].round, asked.told[place].salt
    forged = asked._words(question, {**sums, first: np.roll(sums[first], 1)}, number, salt)
    following = asked.following(
        lambda at: replace(asked.told[at], total=forged) if at == place else asked.told[at]
    )
    with contextlib.suppress(Distrust):
        for message in asked.asked:
            assert driver.digest(following.question(message)) == message.digest


BITS_OF_NO_SUCH_FORM: dict[str, Callable[[np.ndarray], object]] = {
    "fewer": lambda bits: (bits[:-1],),
    "numbers": lambda bits: (bits.astype(np.uint8),),
    "more arrays": lambda bits: (bits, bits),
    "no array": lambda bits: (True,),
    "nothing": lambda bits: (),
}


@pytest.mark.parametrize("change", BITS_OF_NO_SUCH_FORM)
@pytest.mark.parametrize("name", [name for name in STUDIES if OPENS.of(small(name).plan) == BITS])
def test_bits_of_another_form_are_not_believed(name: str, change: str) -> None:
    asked = server(name)
    opened = {
        message.place
        for message, (question, _) in zip(asked.asked, asked.run.answers, strict=True)
        if question.opens
    }
    wanted = set()

    def told(place: str) -> Told:
        if place not in opened:
            return asked.told[place]
        wanted.add(place)
        (bits,) = codec.decode(asked.told[place].total)
        return replace(asked.told[place], total=codec.encode(BITS_OF_NO_SUCH_FORM[change](bits)))

    assert not all(asked.follow(told)) and wanted


@pytest.mark.parametrize("name", STUDIES)
def test_sums_of_another_place_are_not_believed(name: str) -> None:
    asked = server(name)
    labels = sorted(asked.checked)
    swapped = dict(zip(labels, [*labels[1:], *labels[:1]], strict=True))
    found = asked.follow(lambda place: asked.told[swapped.get(place, place)])
    assert len(labels) < 2 or not all(found)
