"""A server carries other boxes or asks twice, or a cohort lies, where each two cohorts share masks."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled.plan.common_options import COHORTS, ENCRYPTED
from unpooled.plan.plan import Plan
from unpooled.protocol import codec, messages
from unpooled.protocol.encrypted import worker
from unpooled.protocol.masking import NOT_CANCELLED
from unpooled.protocol.messages import Question, Questions, Roster, Sealed, SealingKeys
from unpooled.protocol.pairs import Meeting
from unpooled.protocol.sealing import Box, SigningKey, member_key, signing_part
from unpooled_client.state.events import Exit

from ..federation import SMALL_CHUNK, Federation, Trial
from ..launch import PUT_SHARE
from ..leaks import PARTS
from ..plinks import needed
from ..relay import Message, with_body
from .lying import QUESTIONS, SHARES, STUDY, Lying, changed_questions

BOXES = "GET /api/v1/cohort/boxes "
KEYS = "GET /api/v1/cohort/keys "
SEALED = "PUT /api/v1/cohort/sealed "


@pytest.fixture
def study(
    running: Federation, small: tuple[Path, ...], request: pytest.FixtureRequest
) -> Iterator[Callable[[], Trial]]:
    """Make studies with masks of pairs, which are encrypted besides where a test asks for it."""
    made, trust = list[Trial](), getattr(request, "param", COHORTS)
    if trust == ENCRYPTED:
        needed(not worker.problem(), "OpenFHE", "", "scripts/openfhe-python")

    def create() -> Trial:
        made.append(running.study(small, chunk_size=SMALL_CHUNK, trust=trust))
        return made[-1]

    yield create
    for trial in made:
        trial.stop()


under_both = pytest.mark.parametrize("study", [COHORTS, ENCRYPTED], indirect=True)


@pytest.fixture
def lying(study: Callable[[], Trial]) -> Iterator[Lying]:
    found = Lying(study())
    yield found
    found.close()


def swapped(boxes: Sequence[Box], before: Sequence[Box]) -> Sequence[Box]:
    return boxes[::-1]


def left_out(boxes: Sequence[Box], before: Sequence[Box]) -> Sequence[Box]:
    return boxes[:1]


def twice(boxes: Sequence[Box], before: Sequence[Box]) -> Sequence[Box]:
    return [boxes[0], replace(boxes[0], cohort=boxes[1].cohort)]


def replayed(boxes: Sequence[Box], before: Sequence[Box]) -> Sequence[Box]:
    """Return what the same cohort sealed under the same name for another study."""
    return [before[0], boxes[1]]


def changed(boxes: Sequence[Box], before: Sequence[Box]) -> Sequence[Box]:
    return [replace(boxes[0], sealed=os.urandom(len(boxes[0].sealed))), boxes[1]]


LIES = {
    swapped: "want one of each of cohort2, cohort3",
    left_out: "there are boxes of cohort2",
    twice: "cohort3 carries no valid signature",
    replayed: "cohort2 carries no valid signature",
    changed: "cohort2 carries no valid signature",
}


def test_other_boxes_stop_the_cohort_before_anything_of_its_data_leaves(
    study: Callable[[], Trial], lying: Lying, undisturbed: dict[str, bytes]
) -> None:
    before = Lying(study())
    before.trial.start()
    before.trial.until_over()
    (earlier, *_) = before.relays[0].found(BOXES)
    assert earlier.answer is not None
    old: Sealed = messages.decode(earlier.answer.body, Sealed)
    before.close()
    victim, relay = lying.trial.cohorts[0], lying.relays[0]

    def carry(lie: Callable[..., Sequence[Box]], request: Message, answer: Message) -> Message:
        if not request.line.startswith(BOXES):
            return answer
        found: Sealed = messages.decode(answer.body, Sealed)
        return with_body(answer, codec.encode(replace(found, boxes=tuple(lie(found.boxes, old.boxes)))))

    first, *others = LIES
    relay.change = functools.partial(carry, first)
    lying.trial.start()
    for lie in (first, *others):
        relay.change = functools.partial(carry, lie)
        if lie is not first:
            victim.party.start()
        lying.trial.until(lambda: victim.party.has_ended, "the victim ends")
        assert victim.party.wait() == Exit.REFUSED, victim.party.said()
        assert LIES[lie] in victim.party.said(), (lie, victim.party.said())
        assert "Tell the coordinator" in victim.party.said()
        assert not relay.found(SHARES)
    relay.change = lambda request, answer: answer
    victim.party.start()
    lying.trial.until_over()
    assert victim.results() == undisturbed


@under_both
def test_other_sealing_keys_stop_the_cohort(lying: Lying) -> None:
    """The server would seal in the others' names, but cannot sign; what they sealed is for another roster."""
    trial, relay, strangers = lying.trial, lying.relays[0], dict[str, SigningKey]()

    def falsified(values: dict[str, Any]) -> Roster:
        """Put other sealing keys into the roster that is shown; the roster that this makes."""
        for member in values["roster"]:
            if member["name"] != "cohort1":
                key = strangers.setdefault(member["name"], SigningKey.generate())
                signing = signing_part(bytes.fromhex(member["key"]))
                member["key"] = member_key(signing + key.sealing().public).hex()
        return Roster(tuple((each["name"], bytes.fromhex(each["key"])) for each in values["roster"]))

    def lie(request: Message, answer: Message) -> Message:
        if request.line.startswith(SEALED) and answer.line != "200":
            return with_body(replace(answer, line="200"), b'{"accepted": true}')
        if request.line.startswith(KEYS):
            keys: SealingKeys = messages.decode(answer.body, SealingKeys)
            false = {name: key.sealing().public for name, key in strangers.items()}
            return with_body(answer, codec.encode(SealingKeys(tuple((dict(keys.keys) | false).items()))))
        if request.line.startswith("PUT /api/v1/cohort/panel/"):
            return with_body(replace(answer, line="200"), b'{"list_wanted": false}')
        if not request.line.startswith(STUDY) or not (values := json.loads(answer.body))["roster"]:
            return answer
        roster = falsified(values)
        values["roster_hash"] = roster.hash().hex()
        if values["cohort_state"] == "joined" and relay.found(SEALED):
            values["cohort_state"] = "accepted"
        return with_body(answer, json.dumps(values).encode())

    def ask(request: Message, answer: Message) -> Message:
        if request.line.startswith(QUESTIONS) and answer.line == "200" and relay.found(SEALED):
            item = Question(1, os.urandom(32), b"", "0", bytes(32))
            return changed_questions(answer, lambda asked: Questions("running", b"", b"", (item,)))
        if request.line.startswith(BOXES):
            return with_body(replace(answer, line="200"), codec.encode(forged()))
        return lie(request, answer)

    def forged() -> Sealed:
        """Sealed to the victim by a server that has its parts, and no key of the others to sign with."""
        (accepted, *_) = relay.found(SEALED)
        said: Sealed = messages.decode(accepted.request.body, Sealed)
        plan = Plan.from_json(trial.call("GET")["plan"])
        (shown, *_) = [each for each in relay.found(STUDY) if b'"roster": [' in each.answer.body]  # type: ignore[union-attr]
        values = json.loads(shown.answer.body)  # type: ignore[union-attr]
        roster = falsified(values)
        meeting = Meeting(trial.id, plan.hash(), roster)
        sealing = {name: key.sealing().public for name, key in strangers.items()}
        (own,) = relay.found(KEYS)
        assert own.answer is not None
        keys: SealingKeys = messages.decode(own.answer.body, SealingKeys)
        known = dict(keys.keys) | sealing
        boxes = {name: meeting.seal(name, os.urandom(32), key, known) for name, key in strangers.items()}
        own_boxes = tuple(boxes[name][0] for name in sorted(strangers))
        return replace(said, boxes=own_boxes, key_parts=3 * said.key_parts)

    relay.change = ask
    trial.start()
    victim = trial.cohorts[0]
    trial.until(lambda: victim.party.has_ended, "the victim ends")
    assert not relay.found(SHARES)
    assert victim.party.wait() == Exit.REFUSED, victim.party.said()
    assert "carries no valid signature" in victim.party.said()


def test_a_round_is_never_answered_twice(lying: Lying) -> None:
    """Asked the same again, it sends the same bytes; anything else under this number ends it."""
    trial, relay, victim = lying.trial, lying.relays[0], lying.trial.cohorts[0]
    offered: list[Question] = []

    def keep(request: Message, answer: Message) -> Message:
        if request.line.startswith(QUESTIONS) and answer.line == "200":
            asked: Questions = messages.decode(answer.body, Questions)
            offered.extend(asked.items)
        return answer

    relay.change = keep
    gate = victim.gate(PUT_SHARE)
    gate.close(passing=3)
    trial.start()
    trial.until(lambda: gate.is_reached and len(relay.found(SHARES)) >= 3, "the victim has answered some")
    first = relay.found(SHARES)[0]
    number = int(first.request.line.removeprefix(SHARES).split()[0])
    asked = next(each for each in offered if each.round == number)

    def again(item: Question, request: Message, answer: Message) -> Message:
        if request.line.startswith(QUESTIONS) and answer.line == "200":
            return changed_questions(answer, lambda found: replace(found, items=(item,)))
        return answer

    relay.change = functools.partial(again, asked)
    victim.party.kill()
    gate.open()
    victim.party.start()
    same = f"{SHARES}{number} "
    trial.until(lambda: len(relay.found(same)) > 1, "the victim answers again")
    assert {each.request.body for each in relay.found(same)} == {first.request.body}
    before = len(relay.found(same))
    relay.change = functools.partial(again, replace(asked, salt=os.urandom(32)))
    trial.until(lambda: victim.party.has_ended, "the victim ends")
    assert "asks for something else in a round that was answered" in victim.party.said()
    assert {each.request.body for each in relay.found(same)[before:]} <= {first.request.body}


@under_both
def test_a_cohort_that_seals_different_parts_of_the_witness_fails_the_study(
    study: Callable[[], Trial],
) -> None:
    trial = study()
    liar = trial.cohorts[1]
    trial.federation.stub(liar.party.name, PARTS)
    trial.start()
    trial.until_over()
    assert trial.state == "failed"
    assert NOT_CANCELLED in trial.reason
    assert not any(cohort.results() for cohort in trial.cohorts)


def test_what_the_server_keeps_of_one_cohort_is_uniform(lying: Lying, small: Any) -> None:
    """Shares and boxes hold none of the small counts that they are about."""
    lying.trial.start()
    lying.trial.until_over()
    assert lying.trial.state == "done", lying.trial.story()
    for relay in lying.relays:
        shares = b"".join(each.request.body for each in relay.found(SHARES))
        bits = np.unpackbits(np.frombuffer(shares, np.uint8))
        assert abs(bits.mean() - 0.5) < 5 * 0.5 / len(bits) ** 0.5
