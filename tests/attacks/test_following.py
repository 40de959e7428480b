"""A dishonest server in a study that cohorts follow: it can neither choose a question, nor make up a sum.

It is the honest one with relays before it, which change one thing of an honest run for one cohort.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from unpooled.described.manifest import ListedRound
from unpooled.protocol import codec, masking, messages
from unpooled.protocol.messages import Question, Questions, Told
from unpooled_client.state.events import Exit, Finished
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.engine import Engine
from unpooled_client.study.verifying import Differs, verify

from ..federation import Federation, Trial
from ..patience import PATIENCE
from ..relay import Message, with_body
from .lying import QUESTIONS, SHARES, STUDY, Lying, changed_questions, in_full
from .singled_out import Pool, write

PLAN: dict[str, Any] = {"test": "linear", "trait": "quantitative", "missing": "mean", "files": ["assoc"]}
TOLD = "GET /api/v1/cohort/told/"
NOT_SENT = "is not what the cohorts have sent"


class Followed(Lying):
    """An honest server, but what it asks the first cohort about the variants its relay withholds at first.

    The cohort's state at that point is kept: each lie begins there.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self.victim, self.relay = trial.cohorts[0], self.relays[0]
        self.withheld: tuple[Question, ...] = ()
        self.goes_on = threading.Event()
        self.relay.change = self._withhold
        trial.start()
        trial.until(lambda: self.withheld, "something is asked about the variants")
        self.victim.party.kill()
        self.kept = self.victim.folder / "kept"
        shutil.copytree(self.victim.folder / "state", self.kept)
        self.answered = self.victims_shares()

    def _withhold(self, request: Message, answer: Message) -> Message:
        if not request.line.startswith(QUESTIONS) or answer.line != "200":
            return answer
        asked = messages.decode(answer.body, Questions)
        self.withheld = tuple(item for item in asked.items if "." in item.place)
        if self.withheld:
            self.goes_on.wait(PATIENCE)  # the honest server would answer the next look at once
        return changed_questions(answer, lambda asked: without(asked, self.withheld))

    def begin(self, change: Callable[[Message, Message], Message]) -> None:
        """Have the victim begin where it was when questions were withheld."""
        if self.trial.state == "paused":
            self.trial.call("POST", "resume")
        self.victim.party.kill()
        self.goes_on.set()
        shutil.rmtree(self.victim.folder / "state")
        shutil.copytree(self.kept, self.victim.folder / "state")
        self.relay.change = change
        self.victim.party.spawn()

    def victims_shares(self) -> list[str]:
        return [exchange.request.line for exchange in self.relay.found(SHARES)]

    def answered_before(self) -> Question:
        """The first question of the study, which the victim has answered."""
        every = (messages.decode(e.answer.body, Questions) for e in self.relay.found(QUESTIONS) if e.answer)
        return next(item for asked in every for item in asked.items if item.place == "0")

    def told(self, place: str) -> Message:
        """The answer of the honest server about a place, to the victim."""
        before = self.relay.found(TOLD)[-1].request
        return self.relay.send(replace(before, line=f"{TOLD}{place} HTTP/1.1"))


def without(asked: Questions, left_out: tuple[Question, ...]) -> Questions:
    return replace(asked, items=tuple(item for item in asked.items if item not in left_out))


@dataclass(frozen=True)
class Lie:
    """One change for the victim, and a part of what it tells its person then."""

    said: str
    item: Callable[[Followed, Question], Question] = lambda server, item: item
    told: Callable[[Followed, str, Message], Message] = lambda server, place, answer: answer
    """Given the place of which something is told."""
    witness: Callable[[Followed, bytes], bytes] = lambda server, sealed: sealed

    def change(self, server: Followed, request: Message, answer: Message) -> Message:
        if request.line.startswith(TOLD):
            return self.told(server, request.line.removeprefix(TOLD).partition(" ")[0], answer)
        if request.line.startswith(QUESTIONS) and answer.line == "200":
            return changed_questions(answer, lambda asked: self._asked(server, asked))
        return answer

    def _asked(self, server: Followed, asked: Questions) -> Questions:
        items = tuple(self.item(server, item) for item in asked.items)
        return replace(asked, witness=self.witness(server, asked.witness), items=items)


def another_digest(server: Followed, item: Question) -> Question:
    return replace(item, digest=bytes(32))


def another_place(server: Followed, item: Question) -> Question:
    return replace(item, place="0")


def no_place(server: Followed, item: Question) -> Question:
    return replace(item, place="99.0")


def no_label(server: Followed, item: Question) -> Question:
    return replace(item, place="0..1")


def a_place_that_was_answered(server: Followed, item: Question) -> Question:
    before = server.answered_before()
    return replace(item, place=before.place, digest=before.digest)


def a_round_that_was_answered(server: Followed, item: Question) -> Question:
    return replace(item, round=server.answered_before().round)


def sent_in_full(server: Followed, item: Question) -> Question:
    return Question(item.round, item.salt, in_full(server.trial, item))


def of(place: str, change: Callable[[Told], Told]) -> Callable[[Followed, str, Message], Message]:
    """Tell of one place something else."""

    def changed(server: Followed, asked: str, answer: Message) -> Message:
        if asked != place:
            return answer
        return with_body(answer, codec.encode(change(messages.decode(answer.body, Told))))

    return changed


def another_word(told: Told) -> Told:
    return replace(told, total=told.total[:-1] + bytes([told.total[-1] ^ 1]))


def of_another_place(server: Followed, asked: str, answer: Message) -> Message:
    return server.told({"0": "1", "1": "0"}.get(asked, asked))


def nothing(server: Followed, asked: str, answer: Message) -> Message:
    return server.told("99")


def of_another_cohort(server: Followed, sealed: bytes) -> bytes:
    exchange = server.relays[1].found(QUESTIONS)[-1]
    assert exchange.answer
    return bytes(messages.decode(exchange.answer.body, Questions).witness)


ELSE, NOT_THERE = "asks for something else than this cohort's own run", "does not come there"
NOT_TOLD = "goes on from sums that it does not tell"
UNSEALED = "came without the compensator's secret for this cohort"
LIES: dict[str, Lie] = {
    "another digest": Lie(ELSE, item=another_digest),
    "another place": Lie(ELSE, item=another_place),
    "a place that is not there": Lie(NOT_TOLD, item=no_place),
    "no label of a place": Lie(NOT_THERE, item=no_label),
    "a place that was answered": Lie("asks for more than was released", item=a_place_that_was_answered),
    "a round that was answered": Lie(
        "asks for something else in a round that was answered", item=a_round_that_was_answered
    ),
    "a question in full": Lie("asks for something that linear does not have", item=sent_in_full),
    "another word of a sum": Lie(NOT_SENT, told=of("0", another_word)),
    "a sum under another salt": Lie(NOT_SENT, told=of("0", lambda told: replace(told, salt=bytes(32)))),
    "a sum of another round": Lie(NOT_SENT, told=of("0", lambda told: replace(told, round=told.round + 1))),
    "the sum of another place": Lie(NOT_THERE, told=of_another_place),
    "no sum": Lie(NOT_TOLD, told=nothing),
    "another cohort's witness": Lie(UNSEALED, witness=of_another_cohort),
    "no witness": Lie(UNSEALED, witness=lambda server, sealed: bytes(len(sealed))),
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return write(tmp_path_factory.mktemp("pool"), quantitative=True)


def followed(running: Federation, pool: Pool) -> Iterator[Followed]:
    server = Followed(running.study(pool.prefixes, **PLAN))
    yield server
    server.trial.stop()
    server.close()


@pytest.fixture(scope="module")
def server(running: Federation, pool: Pool) -> Iterator[Followed]:
    """One study for all lies that are refused."""
    yield from followed(running, pool)


@pytest.fixture
def another_server(running: Federation, pool: Pool) -> Iterator[Followed]:
    """One that ends."""
    yield from followed(running, pool)


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_refused(server: Followed, name: str) -> None:
    lie = LIES[name]
    server.begin(lambda request, answer: lie.change(server, request, answer))
    assert server.victim.party.wait() == Exit.REFUSED
    last = server.victim.events()[-1]
    assert lie.said in last["message"]
    assert last["remedy"]
    assert server.victims_shares() == server.answered
    (told,) = server.relay.found("POST /api/v1/cohort/problem ")[-1:]
    assert json.loads(told.request.body) == {"code": "question", "name": ""}
    assert server.trial.state == "paused"


@pytest.fixture(scope="module")
def ended(server: Followed) -> Followed:
    """The same after it was honest to the end."""
    server.begin(lambda request, answer: answer)
    server.trial.until_over()
    return server


def test_after_all_lies_the_study_goes_on_where_it_was(ended: Followed) -> None:
    server = ended
    assert server.trial.state == "done", server.trial.story()
    rounds = server.trial.rounds()["aggregated"]
    assert len(server.victims_shares()) == rounds > len(server.answered)


def test_what_it_tells_one_way_and_publishes_another_is_named(ended: Followed, tmp_path: Path) -> None:
    state = StateFolder(ended.victim.folder / "state")
    assert verify(state).told > 0  # also of what was told before the client was killed
    ended.relay.change = publishes_another_sum(ended, place="0")
    last = list(Engine(state, out=tmp_path / "others").results())[-1]
    assert isinstance(last, Finished)
    with pytest.raises(Differs, match="at the place 0 in the study, has a sum with the digest 0000"):
        verify(state)


def publishes_another_sum(server: Followed, place: str) -> Callable[[Message, Message], Message]:
    """Have the victim find a manifest with another sum of a place, as if the results were made from that."""
    path = server.victim.folder / "results" / "study.manifest.json"
    true = path.read_bytes()
    (listed,) = (one for one in map(ListedRound.of, json.loads(true)["rounds"]) if one.place == place)
    false = true.replace(listed.told.encode(), b"0" * len(listed.told))
    digests = [hashlib.sha256(manifest).hexdigest().encode() for manifest in (true, false)]

    def change(request: Message, answer: Message) -> Message:
        if path.name in request.line:
            return with_body(answer, false)
        return with_body(answer, answer.body.replace(*digests)) if request.line.startswith(STUDY) else answer

    return change


def test_of_whoever_is_told_another_salt_the_mask_stays(another_server: Followed) -> None:
    lie = Lie("", item=lambda server, item: replace(item, salt=bytes(masking.SALT_BYTES)))
    another_server.begin(lambda request, answer: lie.change(another_server, request, answer))
    another_server.trial.until_over()
    assert another_server.trial.state == "failed"
    assert "the masks of this round do not cancel" in another_server.trial.reason
