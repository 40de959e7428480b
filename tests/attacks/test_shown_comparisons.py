"""A dishonest server in rounds that are compared: it lies about bits, or about how they were found.

It plays the whole protocol by itself, and knows all but the cohorts' witness. Each lie is one change of an
honest run. The last ones are the honest server's and compensator's with a relay before them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from unpooled.asking import compared_sums
from unpooled.asking.driver import read_sums, sums_bytes
from unpooled.asking.question import Question
from unpooled.protocol import codec, masking, messages, two_party
from unpooled.protocol.dealing import KEY_BYTES, DealingContext
from unpooled.protocol.gates import Products
from unpooled.protocol.messages import Shown, Told
from unpooled.protocol.sacrificing import shuffled, with_spares
from unpooled.protocol.showing import TAG_BYTES, Transcript, replayed
from unpooled_client.study.following import Following
from unpooled_client.study.trust import Distrust

from ..contract.comparisons import compared, sums_giving
from ..contract.runs import run
from ..contract.test_following import Server
from ..federation import Federation, Trial
from ..relay import Message, Relay, with_body
from .diagnoses import USUAL, encoding, study

STUDIES = "quantiles, by bits", "encode", "yeo-johnson, by bits"
COHORTS = 3
NOT_SENT = "is not what cohorts have sent"
NOT_PLAYED = "was not what it is in this cohort's own run"


@dataclass(frozen=True)
class Compared:
    """One round that is compared, which the victim has not dealt for."""

    server: Server
    place: str
    question: Question

    @property
    def told(self) -> Told:
        return self.server.told[self.place]

    @property
    def shown(self) -> Shown:
        return self.server.shown[self.place]

    @property
    def context(self) -> DealingContext:
        named = self.server._named(self.question, self.told.salt)
        return self.server.terms.dealing(self.question, self.told.round, named)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.server.terms.roster.members]

    def others(self) -> list[Compared]:
        """The other rounds of the same circuit, about as many sums."""
        here = self.context
        return [
            one
            for one in of_study(self.server)
            if one.place != self.place
            and (one.context.circuit, one.context.words) == (here.circuit, here.words)
        ]

    def refused(self, told: Told | None = None, shown: Shown | None = None) -> str:
        """Tell the victim, or show it, something else at this place; return why it stops, or nothing."""
        following = Following(
            self.server.terms,
            lambda place: told if told and place == self.place else self.server.told[place],
            lambda place: shown if shown and place == self.place else self.server.shown[place],
            lambda: self.server.run.small.panel,
            lambda: self.server.witness,
            lambda question, place, told: None,
        )
        for message in self.server.asked:
            try:
                following.question(message)
            except Distrust as error:
                return str(error)
        return ""


def of_study(server: Server) -> list[Compared]:
    questions = zip(server.asked, server.run.answers, strict=True)
    every = [
        Compared(server, message.place, question) for message, (question, _) in questions if question.opens
    ]
    mine = server.terms.cohort
    return [one for one in every if one.context.dealer != mine]


@pytest.fixture(scope="module", params=STUDIES)
def server(request: pytest.FixtureRequest) -> Server:
    return Server(run(request.param))


@pytest.fixture(scope="module")
def one(server: Server) -> Compared:
    """The first round of each study that others go on from."""
    return of_study(server)[0]


def test_the_honest_server_is_believed(one: Compared) -> None:
    assert one.refused() == ""


def test_a_bit_that_is_told_otherwise_is_found(one: Compared) -> None:
    assert one.question.opens
    bits = dict(read_sums(one.question, one.told.total))
    name = one.question.opens.name
    for at in {0, bits[name].size // 2, bits[name].size - 1}:
        other = bits[name].copy()
        other.flat[at] ^= True
        told = replace(one.told, total=sums_bytes(one.question, {name: other}))
        assert "the server tells other bits than its comparison gives" in one.refused(told)


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def test_another_sum_is_found(one: Compared) -> None:
    """Also if only the highest bit of one word differs, or two words by opposite numbers."""
    word = masking.scheme(one.context.scheme).word_bytes
    first, size = masking.CHECKS_BYTES, len(one.shown.total)
    last = size - masking.THIRD_WORDS * word
    changes = [(first, 0), (first + word - 1, 7), (last - 1, 7), (last, 0), (size - 1, 7)]
    for at, bit in changes:
        total = flipped(one.shown.total, at, bit)
        assert NOT_SENT in one.refused(shown=replace(one.shown, total=total))
    scheme = masking.scheme(one.context.scheme)
    words = scheme.from_bytes(one.shown.total, one.context.words).copy()
    words[[scheme.check_words, scheme.check_words + 1]] = words[[scheme.check_words + 1, scheme.check_words]]
    assert NOT_SENT in one.refused(shown=replace(one.shown, total=scheme.to_bytes(words)))


def test_another_check_is_found(one: Compared) -> None:
    """The first 64 bytes are in no third check: the mask that the compensator answers is of them."""
    assert NOT_PLAYED in one.refused(shown=replace(one.shown, total=flipped(one.shown.total, 0)))


@pytest.mark.parametrize("where", ["key", "first", "last"])
def test_another_dealing_is_found(one: Compared, where: str) -> None:
    at = {"key": 0, "first": KEY_BYTES, "last": len(one.shown.dealing) - 33}[where]
    assert NOT_SENT in one.refused(shown=replace(one.shown, dealing=flipped(one.shown.dealing, at)))


def with_a_flipped_bit(one: Compared) -> Shown:
    """Show the last product of one row dealt wrong, and with it, in the same way, the spares that it has.

    Whoever deals would have to guess these. The server knows the order, and what it sends depends on neither.
    """
    context, shown = one.context, one.shown
    found, rows = two_party._of(context.scheme, context.circuit, context.words)
    layers, secret = found.dealt(rows), masking.keystream(masking.derived(shown.shuffle, context))
    order = shuffled(rows, secret)
    column = int(np.flatnonzero(order < rows - len(found.known()[1]))[0])
    orders: dict[tuple[int, int], np.ndarray] = {}
    for layer in layers:
        for number, spare in enumerate(layer.spares):
            if (spare.columns, number) not in orders:
                orders[spare.columns, number] = shuffled(spare.columns, secret)
    *before, _ = with_spares(layers)
    ends = np.cumsum([KEY_BYTES, *(dealt.bound_bytes for dealt in before)])[1:]
    last = layers[-1]
    assert isinstance(last, Products)
    dealing = flipped(shown.dealing, ends[len(layers) - 1] - last.width * 8 + column // 8, column % 8)
    for number, (spare, end) in enumerate(zip(last.spares, ends[-len(last.spares) :], strict=True)):
        place = int(orders[spare.columns, number][column])
        dealing = flipped(dealing, end - spare.width * 8 + place // 8, place % 8)
    return replace(shown, dealing=dealing)


@pytest.mark.parametrize("name", ["quantiles, by bits", "encode"])
def test_a_dealing_that_flips_one_bit_unseen_is_found_by_the_third_check_alone(name: str) -> None:
    """The messages are those that the compensator has seen: its tag fits, and a row comes out otherwise."""
    one = of_study(Server(run(name)))[0]
    assert one.question.opens
    shown, scheme = with_a_flipped_bit(one), masking.scheme(one.context.scheme)
    total = scheme.from_bytes(shown.total, one.context.words)
    transcript = Transcript(one.server.witness, one.context.opening(shown.uploads, shown.shuffle))
    turns = compared_sums.open_bits(
        one.question, total, scheme, len(one.names), shown.dealing, shown.shuffle, one.context
    )
    bits = replayed(turns, shown.answers, transcript)
    true = read_sums(one.question, one.told.total)
    assert sum((bits[name] != true[name]).sum() for name in bits) == 1
    assert NOT_SENT in one.refused(Told(one.told.round, one.told.salt, sums_bytes(one.question, bits)), shown)


def test_other_thresholds_are_found(one: Compared) -> None:
    """The server compares with other numbers: it reads another bit of each sum, and tells these bits."""
    assert one.question.opens
    scheme, name = masking.scheme(one.context.scheme), one.question.opens.name
    assert isinstance(scheme, masking.Modular)
    true = read_sums(one.question, one.told.total)[name]
    false = np.zeros_like(true) if true.any() else np.ones_like(true)
    sums, others = (sums_giving(one.question, bits, scheme) for bits in (true, false))
    bits, shown = compared(one.question, sums, one.context, one.names, one.server.witness, others)
    assert np.array_equal(bits[name], false)
    assert "the server's side of a comparison" in one.refused(one.told, shown)
    told = replace(one.told, total=sums_bytes(one.question, bits))
    assert NOT_PLAYED in one.refused(told, shown)
    behind = slice(scheme.check_words, -masking.THIRD_WORDS)
    total = scheme.from_bytes(shown.total, one.context.words).copy()
    total[behind] = scheme.add_words(total[behind], scheme.ring.subtract(others, sums))
    assert NOT_SENT in one.refused(told, replace(shown, total=scheme.to_bytes(total)))


def test_another_answer_is_found(one: Compared) -> None:
    """The compensator's tag is over all: also over the tag of the last, which nobody else can make."""
    for number, answer in enumerate(one.shown.answers):
        for at in {0, masking.CHECKS_BYTES, len(answer) - TAG_BYTES - 1, len(answer) - 1}:
            if at < len(answer):
                answers = list(one.shown.answers)
                answers[number] = flipped(answer, at)
                assert NOT_PLAYED in one.refused(shown=replace(one.shown, answers=tuple(answers)))


CUT: dict[str, Callable[[tuple[bytes, ...]], tuple[bytes, ...]]] = {
    "none": lambda answers: (),
    "one fewer": lambda answers: answers[:-1],
    "one more": lambda answers: (*answers, answers[-1]),
    "one twice": lambda answers: (answers[0], *answers),
    "no tag": lambda answers: (*answers[:-1], answers[-1][:-TAG_BYTES]),
    "another tag": lambda answers: (*answers[:-1], answers[-1][:-TAG_BYTES] + bytes(TAG_BYTES)),
}


@pytest.mark.parametrize("cut", CUT)
def test_answers_of_another_number_or_length_are_found(one: Compared, cut: str) -> None:
    answers = CUT[cut](one.shown.answers)
    assert NOT_PLAYED in one.refused(shown=replace(one.shown, answers=answers))


def test_another_order_or_another_upload_is_found(one: Compared) -> None:
    (first, nonce), *rest = one.shown.uploads
    assert NOT_PLAYED in one.refused(shown=replace(one.shown, shuffle=os.urandom(32)))
    other = ((first, flipped(nonce, 0)), *rest)
    assert NOT_SENT in one.refused(shown=replace(one.shown, uploads=other))
    for uploads in (tuple(rest), (*rest, (first, nonce)), ((first, nonce), *rest, (first, nonce))):
        assert "shows a comparison of other cohorts" in one.refused(shown=replace(one.shown, uploads=uploads))


def test_the_comparison_of_another_round_is_found(one: Compared) -> None:
    others = one.others()
    assert others or one.server.run.small.plan.test == "encode"  # which has one of each circuit
    for other in others:
        assert NOT_SENT in one.refused(shown=other.shown)
        assert NOT_SENT in one.refused(other.told, other.shown)
    assert others or one.question.name != "order/quantiles/bits"


def test_a_comparison_that_the_server_has_played_alone_is_found(one: Compared) -> None:
    """It deals, masks and answers itself, and lacks the witness."""
    assert one.question.opens
    scheme, name = masking.scheme(one.context.scheme), one.question.opens.name
    assert isinstance(scheme, masking.Modular)
    sums = sums_giving(one.question, ~read_sums(one.question, one.told.total)[name], scheme)
    bits, shown = compared(one.question, sums, one.context, one.names, os.urandom(32))
    assert NOT_SENT in one.refused(replace(one.told, total=sums_bytes(one.question, bits)), shown)


# Whole studies, with a relay before the server for each cohort


SHOWN, TOLD = "GET /api/v1/cohort/shown/", "GET /api/v1/cohort/told/"


BITS = codec.encode((np.zeros(0, np.bool_),))[:7]
"""Beginning of what is told of a comparison: one array of truth values."""


def a_flipped_bit(message: Message) -> Message:
    told: Told = messages.decode(message.body, Told)
    if not told.total.startswith(BITS):
        return message
    return with_body(message, codec.encode(replace(told, total=flipped(told.total, len(told.total) - 1))))


def another_sum(message: Message) -> Message:
    shown: Shown = messages.decode(message.body, Shown)
    changed = replace(shown, total=flipped(shown.total, masking.CHECKS_BYTES))
    return with_body(message, codec.encode(changed))


LIES: dict[str, tuple[str, Callable[[Message], Message], str]] = {
    "a bit": (TOLD, a_flipped_bit, "tells other bits than its comparison gives"),
    "the sum": (SHOWN, another_sum, NOT_SENT),
    "nothing": (
        SHOWN,
        lambda message: replace(message, line="404", body=b"{}"),
        "sums that it does not tell",
    ),
}


@pytest.fixture
def trial(running: Federation, tmp_path: Path) -> Iterator[Trial]:
    with study(running, tmp_path, most=16) as made:
        yield made


def test_no_cohort_goes_on_from_a_comparison_that_is_not_true(trial: Trial) -> None:
    """Each lie is for all cohorts. When it ends, the study does, by the honest bits."""
    relays = [Relay(trial.federation.address) for _ in trial.cohorts]
    for cohort, relay in zip(trial.cohorts, relays, strict=True):
        cohort.through(relay.url)
    begin = trial.start
    for about, lie, said in LIES.values():
        for number, relay in enumerate(relays):
            relay.change = functools.partial(lied, number, about, lie)
        begin()
        begin = functools.partial(begin_again, trial)
        # One is enough to stop the study; another may see that it is paused before it says the same.
        trial.until(lambda said=said: resumed(trial) and said in all_said(trial), said)
        assert not any(cohort.results() for cohort in trial.cohorts)
    for relay in relays:
        relay.change = lambda request, answer: answer
    begin_again(trial)
    trial.until(lambda: resumed(trial) and trial.state == "done", "the study is done")
    trial.until_over()
    assert encoding(trial)["values"] == sorted(USUAL)
    for relay in relays:
        relay.close()


def lied(
    number: int, about: str, lie: Callable[[Message], Message], request: Message, answer: Message
) -> Message:
    """Lie to a cohort, given its place in the roster, unless it has dealt: it would believe that."""
    if not request.line.startswith(about) or answer.line != "200":
        return answer
    if about == TOLD and messages.decode(answer.body, Told).round % COHORTS == number:
        return answer
    return lie(answer)


def begin_again(trial: Trial) -> None:
    for cohort in trial.cohorts:
        cohort.party.kill()
    for cohort in trial.cohorts:
        cohort.party.spawn()


def resumed(trial: Trial) -> bool:
    """Resume the study: what a cohort has reported before it was killed may pause it a moment later."""
    if trial.state == "paused":
        trial.call("POST", "resume")
    return True


def all_said(trial: Trial) -> str:
    return "".join(cohort.party.said() for cohort in trial.cohorts)
