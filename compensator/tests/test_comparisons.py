"""A round's sum compared turn by turn: what is answered, what only once, and what never."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from unpooled.protocol import codec, masking, two_party
from unpooled.protocol.dealing import DealingContext, dealer_of
from unpooled.protocol.masking import CHECKS_BYTES, THIRD_WORDS
from unpooled.protocol.messages import OpeningRequest, ReleaseRequest
from unpooled_compensator import app, sessions

from .conftest import HEADERS, Caller, Federation, unchecked
from .test_enrolment import refusal

CIRCUITS = [("z32", "at-least", 1), ("z64", "both-at-least", 2), ("z256", "grows:3", 13)]


@dataclass
class Side:
    """The server of a comparison: it holds sums under masks, and what the dealer dealt."""

    federation: Federation
    request: OpeningRequest
    sums: np.ndarray
    """int64, one for each word behind the check."""

    @classmethod
    def of(cls, federation: Federation, round_: int = 1, sums: np.ndarray | None = None) -> Side:
        """About whole numbers, compared with 0."""
        sums = np.arange(-50, 42) if sums is None else sums
        words = masking.scheme("z32").check_words + len(sums) + THIRD_WORDS
        return cls(federation, federation.opening(round_, words=words), sums)

    @property
    def lengths(self) -> two_party.Lengths:
        return two_party.lengths(self.request.scheme, self.request.circuit, self.request.words)

    def begin(self, dealer: str = "") -> two_party.Messages:
        asked, roster = self.request, self.federation.roster
        context = DealingContext(
            study=asked.study,
            plan_hash=self.federation.plan_hash,
            roster_hash=roster.hash(),
            dealer=dealer_of(roster, asked.round),
            round=asked.round,
            question=asked.question,
            scheme=asked.scheme,
            circuit=asked.circuit,
            words=asked.words,
        )
        dealt = two_party.deal(self.federation.seeds[dealer or context.dealer], bytes(31) + b"o", context)
        return two_party.server_side(self.masked, len(roster.members), dealt, asked.shuffle, context)

    @property
    def masked(self) -> np.ndarray:
        """The sum of the cohorts' shares."""
        asked, scheme = self.request, masking.scheme(self.request.scheme)
        parts = scheme.zeros(scheme.check_words), scheme.encode_integers(self.sums), scheme.zeros(THIRD_WORDS)
        share = np.concatenate(parts)
        scheme.set_checks(share, len(asked.uploads))
        return scheme.add(share, scheme.from_bytes(self.federation.sum_of_masks(asked), asked.words))

    def compare(self, caller: Caller) -> tuple[np.ndarray, list[tuple[bytes, bytes]]]:
        """The bits, and the messages with their answers."""
        turns, seen = self.begin(), []
        message = next(turns)
        for number in range(1, len(self.lengths.server) + 1):
            response = caller.turn(self.request, number, message)
            assert response.status_code == 200, response.text
            assert response.headers["content-type"] == "application/octet-stream"
            seen.append((message, response.content))
            try:
                message = turns.send(response.content)
            except StopIteration as end:
                return end.value.ravel(), seen
        raise AssertionError("it does not end")


@pytest.fixture
def side(enrolled: Federation) -> Side:
    return Side.of(enrolled)


def test_the_bits_are_those_of_the_sums(caller: Caller, side: Side) -> None:
    bits, seen = side.compare(caller)
    np.testing.assert_array_equal(bits, side.sums >= 0)
    assert [(len(message), len(answer)) for message, answer in seen] == list(
        zip(side.lengths.server, side.lengths.compensator, strict=True)
    )


@pytest.mark.parametrize(("scheme", "circuit", "row_words"), CIRCUITS)
def test_every_circuit_is_answered_as_declared(
    caller: Caller, enrolled: Federation, scheme: str, circuit: str, row_words: int
) -> None:
    """Openings of any content are answered with as many bytes as follow from the request."""
    words = masking.scheme(scheme).check_words + 5 * row_words + THIRD_WORDS
    request = enrolled.opening(scheme=scheme, words=words, circuit=circuit)
    lengths = two_party.lengths(scheme, circuit, words)
    answers = []
    for number, size in enumerate(lengths.server, start=1):
        response = caller.turn(request, number, os.urandom(size))
        assert response.status_code == 200
        answers.append(response.content)
    assert tuple(map(len, answers)) == lengths.compensator
    assert answers[0][:CHECKS_BYTES] == enrolled.sum_of_masks(request)[:CHECKS_BYTES]


def test_a_round_is_released_or_compared_and_never_both(caller: Caller, enrolled: Federation) -> None:
    compared, other = Side.of(enrolled, 1), Side.of(enrolled, 2)
    compared.compare(caller)
    for request in (enrolled.request(1), as_release(compared.request)):
        assert refusal(caller.release(request)) == (409, "other_request")
    assert caller.release(as_release(other.request)).status_code == 200
    openings = next(other.begin())
    assert refusal(caller.open(other.request, openings)) == (409, "other_request")


def as_release(request: OpeningRequest) -> ReleaseRequest:
    own = ("circuit", "shuffle")
    return ReleaseRequest(**{name: value for name, value in vars(request).items() if name not in own})


def test_a_request_for_one_is_no_request_for_the_other(caller: Caller, side: Side) -> None:
    opening, release = codec.encode(side.request), codec.encode(as_release(side.request))
    assert refusal(caller.post("study-1", opening)) == (400, "invalid_message")
    body = len(release).to_bytes(4, "little") + release + bytes(side.lengths.server[0])
    assert refusal(caller.compare("study-1", body)) == (400, "invalid_message")


# The same again, and anything else


@pytest.mark.parametrize("ends_after", [1, 2])
def test_a_compensator_that_is_new_wants_the_turns_from_the_first_on(
    make_caller: Callable[..., Caller], caller: Caller, side: Side, ends_after: int
) -> None:
    _, seen = side.compare(make_caller())
    for number, (message, _) in enumerate(seen[:ends_after], start=1):
        assert caller.turn(side.request, number, message).status_code == 200
    restarted = make_caller()
    message, _ = seen[ends_after]
    assert refusal(restarted.turn(side.request, ends_after + 1, message)) == (409, "begin_again")
    for number, (message, answer) in enumerate(seen, start=1):
        assert restarted.turn(side.request, number, message).content == answer


def test_a_turn_again_is_answered_from_what_is_known(caller: Caller, side: Side) -> None:
    _, seen = side.compare(caller)
    request = side.request
    for number, (message, answer) in enumerate(seen, start=1):
        for _ in range(2 if number < len(seen) else 1):
            assert caller.turn(request, number, message).content == answer
    # It is over, and forgotten but for what each turn may be.
    assert refusal(caller.turn(request, 2, seen[1][0])) == (409, "begin_again")


def flipped(message: bytes) -> bytes:
    return message[:-1] + bytes([message[-1] ^ 1])


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_turn_has_one_message_for_ever(
    make_caller: Callable[..., Caller], caller: Caller, side: Side, is_restarted: bool
) -> None:
    _, seen = side.compare(caller)
    current = make_caller() if is_restarted else caller
    codes = [(409, "other_request"), *[(409, "other_openings")] * (len(seen) - 1)]
    for number, (message, answer) in enumerate(seen, start=1):
        assert refusal(current.turn(side.request, number, flipped(message))) == codes[number - 1]
        assert current.turn(side.request, number, message).content == answer


def changes(request: OpeningRequest) -> dict[str, OpeningRequest]:
    (graz, _), *others = request.uploads
    return {
        "another nonce": replace(request, uploads=((graz, os.urandom(16)), *others)),
        "another question": replace(request, question=os.urandom(32)),
        "another scheme": replace(request, scheme="z64", words=request.words - 8),
        "another circuit": replace(request, circuit="both-at-least"),
        "another order": replace(request, shuffle=os.urandom(32)),
    }


@pytest.mark.parametrize("change", changes(OpeningRequest("", 0, b"", "", 8, (("", b""),), "", b"")))
def test_a_second_session_of_a_round_is_refused(caller: Caller, side: Side, change: str) -> None:
    bits, _ = side.compare(caller)
    other = changes(side.request)[change]
    size = two_party.lengths(other.scheme, other.circuit, other.words).server[0]
    assert refusal(caller.open(other, bytes(size))) == (409, "other_request")
    np.testing.assert_array_equal(side.compare(caller)[0], bits)


def test_turns_come_one_after_the_other(caller: Caller, side: Side) -> None:
    _, seen = side.compare(caller)
    request = side.request
    assert refusal(caller.turn(request, 2, seen[1][0])) == (409, "begin_again")
    assert caller.turn(request, 1, seen[0][0]).status_code == 200
    assert refusal(caller.turn(request, 3, seen[2][0])) == (409, "begin_again")  # as another worker has
    path = "/v1/studies/study-1/comparisons/1/turns/{}"
    for number in (0, 1, 5, 10**17):
        response = caller.client.post(path.format(number), content=seen[1][0], headers=HEADERS)
        assert refusal(response) == (409, "other_turn")
    assert caller.turn(request, 2, seen[1][0]).content == seen[1][1]


def test_a_round_that_is_not_compared_has_no_turns(caller: Caller, enrolled: Federation) -> None:
    for round_ in (7, 10**17):
        request = unchecked(enrolled.opening(), round=round_)
        assert refusal(caller.turn(request, 2, b"")) == (409, "begin_again")
    assert refusal(caller.turn(replace(enrolled.opening(), study="study-2"), 2, b"")) == (
        404,
        "unknown_study",
    )


# Messages that are cut, lengthened, emptied


@pytest.mark.parametrize("change", [lambda m: m[:-1], lambda m: m + b"\0", lambda m: b"", lambda m: m * 2])
def test_a_message_of_another_length_is_refused_unread(
    caller: Caller, side: Side, change: Callable[[bytes], bytes]
) -> None:
    turns = side.begin()
    message = next(turns)
    for number in range(1, len(side.lengths.server) + 1):
        assert refusal(caller.turn(side.request, number, change(message))) == (400, "wrong_length")
        answer = caller.turn(side.request, number, message).content
        if number < len(side.lengths.server):
            message = turns.send(answer)


def test_the_bytes_of_a_wrong_length_are_not_waited_for(caller: Caller, side: Side) -> None:
    """The bytes after the request are announced as far too many, and never come."""
    content = codec.encode(side.request)
    head = len(content).to_bytes(4, "little") + content
    headers = HEADERS | {"content-length": str(10**12)}
    response = caller.client.post("/v1/studies/study-1/comparisons", content=head, headers=headers)
    assert refusal(response) == (400, "wrong_length")


@pytest.mark.parametrize("size", [app.MAX_BODY + 1, 2**32 - 1])
def test_a_request_that_says_it_is_too_large_is_not_read(
    caller: Caller, enrolled: Federation, size: int
) -> None:
    response = caller.compare("study-1", size.to_bytes(4, "little") + b"x" * 100)
    assert refusal(response) == (413, "body_too_large")


def test_a_request_cut_anywhere_is_refused(caller: Caller, side: Side) -> None:
    whole = codec.encode(side.request)
    for end in range(0, len(whole), 5):
        part = whole[:end]
        body = len(part).to_bytes(4, "little") + part + bytes(side.lengths.server[0])
        assert refusal(caller.compare("study-1", body)) == (400, "invalid_message")
    assert refusal(caller.compare("study-1", b"")) == (400, "incomplete_body")
    assert refusal(caller.compare("study-1", b"\1\0")) == (400, "incomplete_body")


@pytest.mark.parametrize(
    "change",
    [
        {"circuit": ""},
        {"circuit": "at-most"},
        {"circuit": "grows:0"},
        {"circuit": "grows:" + "9" * 5000},
        {"scheme": "normal:1000000.0"},
        {"scheme": "z16"},
        {"words": 16 + THIRD_WORDS},
        {"words": 17 + THIRD_WORDS, "circuit": "both-at-least"},
        {"words": 0},
        {"words": -1},
        {"words": 16 + THIRD_WORDS + two_party.MAX_COMPARISONS + 1},
        {"round": -1},
        {"question": b""},
        {"uploads": (("Graz", b"short"),)},
        {"shuffle": b"short"},
    ],
)
def test_what_no_round_can_compare_is_refused(
    caller: Caller, enrolled: Federation, change: dict[str, object]
) -> None:
    asked = unchecked(enrolled.opening(), **change)
    assert refusal(caller.open(asked, b"")) == (400, "invalid_message")


def test_only_all_enrolled_cohorts_together_are_compared(caller: Caller, side: Side) -> None:
    one, other, third = side.request.uploads
    openings = next(side.begin())
    for uploads in [(), (one, other), (one, other, ("Nobody", third[1]))]:
        asked = replace(side.request, uploads=tuple(sorted(uploads)))
        assert refusal(caller.open(asked, openings)) == (409, "other_cohorts")
    np.testing.assert_array_equal(side.compare(caller)[0], side.sums >= 0)


# What is on disk, and in memory


def test_the_digest_is_on_disk_before_the_answer(
    make_caller: Callable[..., Caller], caller: Caller, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the two forgets nothing: each turn answers that message only."""
    _, seen = side.compare(make_caller())
    other = Side(side.federation, replace(side.request, round=2), side.sums)

    def crash(*_: object) -> None:
        raise MemoryError

    turns = other.begin()
    message = next(turns)
    for number in range(1, len(seen) + 1):
        with monkeypatch.context() as patch:
            patch.setattr(sessions.Session, "answer", crash)
            with pytest.raises(MemoryError):
                caller.turn(other.request, number, message)
        caller = make_caller()
        replayed = other.begin()
        repeated = next(replayed)
        for earlier in range(1, number):
            repeated = replayed.send(caller.turn(other.request, earlier, repeated).content)
        assert repeated == message
        code = "other_request" if number == 1 else "other_openings"
        assert refusal(caller.turn(other.request, number, flipped(message))) == (409, code)
        answer = caller.turn(other.request, number, message).content
        if number < len(seen):
            message = turns.send(answer)


def test_a_turn_that_cannot_be_recorded_is_not_answered(
    caller: Caller, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        raise sqlite3.OperationalError("database or disk is full")

    turns = side.begin()
    answer = caller.turn(side.request, 1, next(turns)).content
    message = turns.send(answer)
    with monkeypatch.context() as patch:
        patch.setattr("unpooled_compensator.store.Store.add_turn", full)
        assert refusal(caller.turn(side.request, 2, message)) == (503, "storage")
    assert caller.turn(side.request, 2, message).status_code == 200


def test_who_was_not_asked_for_longest_makes_way(
    make_caller: Callable[..., Caller], enrolled: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds compared side by side in too little memory get their bits all the same: they begin again."""
    sides = [Side.of(enrolled, round_) for round_ in (1, 2, 3)]
    room = 2 * sessions.Session(sides[0].lengths, lambda: iter(())).size  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(sessions.Sessions.__init__, "__defaults__", (room,))
    caller = make_caller()
    turns = [side.begin() for side in sides]
    messages = [next(each) for each in turns]
    answers = [
        caller.open(side.request, message).content for side, message in zip(sides, messages, strict=True)
    ]
    second = [each.send(answer) for each, answer in zip(turns, answers, strict=True)]
    assert refusal(caller.turn(sides[0].request, 2, second[0])) == (409, "begin_again")
    assert caller.turn(sides[1].request, 2, second[1]).status_code == 200
    assert caller.turn(sides[2].request, 2, second[2]).status_code == 200
    for side in sides:
        np.testing.assert_array_equal(side.compare(caller)[0], side.sums >= 0)


def test_two_workers_that_play_one_round_do_not_disturb_each_other(caller: Caller, side: Side) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(patiently, caller, side) for _ in range(4)]
        for each in found:
            np.testing.assert_array_equal(each.result(), side.sums >= 0)


def patiently(caller: Caller, side: Side) -> np.ndarray:
    """Run a comparison, and begin again at the first turn wherever the compensator has lost the session."""
    while True:
        turns = side.begin()
        message = next(turns)
        for number in range(1, len(side.lengths.server) + 1):
            response = caller.turn(side.request, number, message)
            if response.status_code == 409:
                assert refusal(response) == (409, "begin_again")
                break
            try:
                message = turns.send(response.content)
            except StopIteration as end:
                bits: np.ndarray = end.value.ravel()
                return bits


def test_the_end_of_a_study_ends_its_comparisons(caller: Caller, side: Side, tmp_path: Path) -> None:
    turns = side.begin()
    message = turns.send(caller.open(side.request, next(turns)).content)
    assert caller.turn(side.request, 2, message).status_code == 200
    assert caller.end("study-1").status_code == 204
    assert refusal(caller.turn(side.request, 2, message)) == (410, "study_over")
    assert refusal(caller.open(side.request, bytes(side.lengths.server[0]))) == (410, "study_over")
    with sqlite3.connect(tmp_path / "state" / "compensator.sqlite3") as db:
        assert db.execute("SELECT count(*) FROM turn").fetchone() == (0,)
    db.close()


def test_a_state_without_comparisons_is_read(
    make_caller: Callable[..., Caller], caller: Caller, enrolled: Federation, tmp_path: Path
) -> None:
    """The state directory of the release before."""
    request = enrolled.request()
    answer = caller.release(request).content
    with sqlite3.connect(tmp_path / "state" / "compensator.sqlite3") as db:
        db.execute("DROP TABLE turn")
        db.execute("PRAGMA user_version = 1")
    db.close()
    restarted = make_caller()
    assert restarted.release(request).content == answer
    side = Side.of(enrolled, 2)
    np.testing.assert_array_equal(side.compare(restarted)[0], side.sums >= 0)


def test_no_openings_and_no_seed_lie_in_the_state_directory(
    caller: Caller, side: Side, tmp_path: Path
) -> None:
    _, seen = side.compare(caller)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())
    for message, answer in seen:
        assert message[:16] not in kept and answer[:16] not in kept
    for seed in side.federation.seeds.values():
        assert seed not in kept


# A process of its own


# Parties that lie
