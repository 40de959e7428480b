"""Attacks on the codes of words: server or compensator, each alone, lies about codes or tries words.

A holder of a key that used another one for one cohort could have a sum over all who have a code be of that
cohort alone. Who saw the point of a word could find it in a list.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from unpooled.protocol import codes, oprf
from unpooled.protocol.codes import TAG_BYTES, Blinding, part_bytes
from unpooled.protocol.oprf import POINT_BYTES
from unpooled_client.state import ledger

from ..federation import Federation, Trial
from ..launch import Function
from ..leaks import CODE_KEY, OPEN_WORDS
from ..relay import Exchange, Message, Relay, with_body
from .diagnoses import TITLE, USUAL, encoding, study
from .lying import QUESTIONS, changed_questions

CODES = "PUT /api/v1/cohort/codes/"
ANOTHER = oprf.random_key()


@pytest.fixture
def trial(running: Federation, tmp_path: Path) -> Iterator[Trial]:
    with study(running, tmp_path, most=16) as made:
        yield made


# Another key for one cohort: the server carries all that a cohort hears, and knows no cohort's mask seed


def another_part(request: Message, answer: Message) -> bytes:
    """Its own part by another key, with a proof of that one."""
    return codes.answered(ANOTHER, b"", request.body) + answer.body[part_bytes(len(request.body)) :]


def another_point(request: Message, answer: Message) -> bytes:
    """One point by another key, beside the proof of the others."""
    return oprf.product(ANOTHER, request.body[:POINT_BYTES]) + answer.body[POINT_BYTES:]


def both_parts(request: Message, answer: Message) -> bytes:
    """All of it by keys of its own, with a tag of nobody."""
    first = codes.answered(ANOTHER, b"", request.body)
    second = codes.answered(ANOTHER, b"", first[: len(request.body)])
    return first + second + os.urandom(TAG_BYTES)


ANSWERS: dict[str, Callable[[Message, Message], bytes]] = {
    "another part": another_part,
    "another point": another_point,
    "both parts": both_parts,
    "no part": lambda request, answer: b"",
}


def with_another_key(answer: Message) -> Message:
    """Told beside the questions: the witness does not open with it."""
    public = oprf.public_key(ANOTHER)
    return changed_questions(
        answer, lambda asked: replace(asked, code_keys=public + asked.code_keys[POINT_BYTES:])
    )


@dataclass
class Lying:
    """A server that answers one cohort's points by a lie."""

    lie: str = ""

    def change(self, request: Message, answer: Message) -> Message:
        if answer.line != "200":
            return answer
        if self.lie in ANSWERS and request.line.startswith(CODES):
            return with_body(answer, ANSWERS[self.lie](request, answer))
        if self.lie == "another key" and request.line.startswith(QUESTIONS):
            return with_another_key(answer)
        return answer


def test_a_server_with_a_key_for_one_cohort_is_found(trial: Trial) -> None:
    (victim, *_), relay, server = trial.cohorts, Relay(trial.federation.address), Lying()
    victim.through(relay.url)
    relay.change = server.change
    trial.start()
    for server.lie, said in {
        "another key": "without the compensator's secret",
        **dict.fromkeys(ANSWERS, "the compensator has not made this answer"),
    }.items():
        if victim.party.has_ended:
            trial.call("POST", "resume")
            victim.party.spawn()
        trial.until(lambda: victim.party.has_ended, f"the victim ends: {server.lie}")
        assert said in victim.party.said(), trial.story()
        sent = {entry.quantity for entry in ledger.read(victim.folder / "state" / "ledger.jsonl")}
        assert not any("per beginning of a code" in quantity for quantity in sent)
    server.lie = ""
    trial.call("POST", "resume")
    victim.party.spawn()
    trial.until_over()
    assert encoding(trial)["values"] == sorted(USUAL)
    relay.close()


def test_a_compensator_with_another_key_than_it_has_told_is_found(trial: Trial) -> None:
    compensator = trial.federation.compensator
    trial.federation.stub(compensator.name, CODE_KEY)
    compensator.restart()
    try:
        trial.start()
        trial.until_over()
    finally:
        trial.federation.stub(compensator.name, {})
        compensator.restart()
    for cohort in trial.cohorts:
        assert "the compensator has not multiplied these points by its key" in cohort.party.said()


# Trying the words of a list


def points_of_words(trial: Trial, key: bytes) -> set[bytes]:
    """Return the points that a guesser of the words would look for: plain, and times the server's key."""
    own = Blinding(bytes(codes.SECRET_BYTES), f"{trial.id}/{TITLE}", USUAL, len(USUAL))
    points = [oprf.point(own._input(word)) for word in USUAL]
    return {*points, *(oprf.product(key, point) for point in points)}


def seen_points(exchanges: Iterable[Exchange]) -> set[bytes]:
    bodies = [body for e in exchanges if e.answer for body in (e.request.body, e.answer.body)]
    return {body[at : at + POINT_BYTES] for body in bodies for at in range(len(body) - POINT_BYTES + 1)}


@pytest.mark.parametrize("stubs", [{}, OPEN_WORDS], ids=["as it is", "weakened"])
def test_nobody_sees_a_point_of_a_word_but_of_weakened_cohorts(
    trial: Trial, stubs: Mapping[str, Function]
) -> None:
    """Neither the server, which carries all, nor the compensator. The server's key dies with the study."""
    relays = [Relay(trial.federation.address) for _ in trial.cohorts]
    for cohort, relay in zip(trial.cohorts, relays, strict=True):
        cohort.through(relay.url)
        trial.federation.stub(cohort.party.name, stubs)
    query = "SELECT code_key FROM unpooled_server_study WHERE id = ?"
    trial.start()
    trial.until(lambda: trial.federation.rows(query, trial.id) != [(b"",)], "the study has its key")
    [(key,)] = trial.federation.rows(query, trial.id)
    trial.until_over()
    assert encoding(trial)["values"] == sorted(USUAL)
    sought = points_of_words(trial, bytes(key))
    for view in (relays, [trial.federation.to_compensator]):
        exchanges = [e for relay in view for e in relay.exchanges if "/codes" in e.request.line]
        assert exchanges and seen_points(exchanges).isdisjoint(sought) is not bool(stubs)
    assert trial.federation.rows(query, trial.id) == [(b"",)]
    for relay in relays:
        relay.close()
