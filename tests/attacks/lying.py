"""A dishonest server: the honest one behind relays that change what cohorts are told; it reads sums."""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import httpx
import numpy as np

from unpooled.asking import question as questions
from unpooled.methods import questions_of
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.protocol import codec, masking, messages
from unpooled.protocol.messages import Enrolment, Question, Questions, ReleaseRequest

from ..federation import Cohort, Federation, Trial
from ..launch import Function
from ..leaks import SENT
from ..patience import PATIENCE
from ..relay import Exchange, Message, Relay, with_body

STUDY = "GET /api/v1/cohort/study"
ACCEPT = "POST /api/v1/cohort/accept "
PANEL = "GET /api/v1/cohort/panel "
QUESTIONS = "GET /api/v1/cohort/questions"
SHARES = "PUT /api/v1/cohort/shares/"


class Lying:
    """A server behind a relay for each cohort; they are honest until their `change` is set."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.relays = [Relay(trial.federation.address) for _ in trial.cohorts]
        for cohort, relay in zip(trial.cohorts, self.relays, strict=True):
            cohort.through(relay.url)

    def close(self) -> None:
        for relay in self.relays:
            relay.close()

    def shares(self, round_number: int) -> list[Exchange]:
        """The first upload of each cohort that has answered a round, whatever was said to it."""
        found = (relay.found(f"{SHARES}{round_number} ") for relay in self.relays)
        return [uploads[0] for uploads in found if uploads]

    def sum(self, shares: Sequence[Exchange], masks: bytes, scheme: masking.Scheme) -> np.ndarray:
        """Compute what the server does: the sum of all shares less the sum of their masks."""
        *vectors, hidden = (
            scheme.from_bytes(data, len(data) // scheme.word_bytes)
            for data in [*(share.request.body for share in shares), masks]
        )
        return scheme.subtract(functools.reduce(scheme.add, vectors), hidden)


class NotAnswered(Exception):
    """The victim has ended instead."""


class Asking(Lying):
    """A server that begins a study honestly, and asks what it likes once a first sum was released.

    The cohorts' state at that point is kept: each attack starts from it.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self.plan = Plan.from_json(trial.call("GET")["plan"])
        self.caller = Caller(trial.federation)
        self.victim = trial.cohorts[0]
        self.items: list[Question] = []
        self.panel: Panel | None = None
        """Panel that the server claims was agreed on; None where it does not lie about it."""
        self._forgetting: set[Relay] = set()
        self._rounds = itertools.count(1_000_001)
        self._running: dict[str, Mapping[str, Function]] = {}
        for relay in self.relays:
            relay.change = functools.partial(self._lie, relay)
        for cohort in trial.cohorts:
            trial.federation.stub(cohort.party.name, SENT)
        trial.start()
        trial.until(self._has_first_sum, "a first sum is released")
        for cohort in trial.cohorts:
            cohort.party.kill()
            shutil.copytree(cohort.folder / "state", cohort.folder / "kept")

    def run(self, stubs: Mapping[str, Function], others: Mapping[str, Function]) -> None:
        """Have all clients run from where they were then, the victim and the others with these stubs.

        Clients that run so already go on.
        """
        if self.panel is not None:
            self._running.clear()  # they are pinned to it
        self.items, self.panel, self._forgetting = [], None, set()
        for cohort in self.trial.cohorts:
            wanted = stubs if cohort is self.victim else others
            if self._running.get(cohort.name) != wanted or cohort.party.has_ended:
                self._start_from_then(cohort, wanted)

    def _start_from_then(self, cohort: Cohort, stubs: Mapping[str, Function]) -> None:
        cohort.party.kill()
        shutil.rmtree(cohort.folder / "state")
        shutil.copytree(cohort.folder / "kept", cohort.folder / "state")
        self.trial.federation.stub(cohort.party.name, stubs)
        cohort.party.spawn()
        self._running[cohort.name] = stubs

    def restart(self) -> None:
        """Kill the clients, and start them as they are."""
        for cohort in self.trial.cohorts:
            cohort.party.kill()
        self.trial.start()

    def ask(self, asked: questions.Question) -> Mapping[str, np.ndarray]:
        """Ask all cohorts, and read the sum of their answers; NotAnswered if the victim stops instead."""
        number = next(self._rounds)
        self.items.append(Question(number, os.urandom(32), questions.encode(asked)))
        self.trial.until(
            lambda: len(self.shares(number)) == len(self.relays) or self.victim.party.has_ended,
            "all answer, or the victim ends",
        )
        if not self.relays[0].found(f"{SHARES}{number} "):
            raise NotAnswered(self.victim.party.said()[-600:])
        return self._read(self.items[-1], asked)

    def make_them_begin_anew(self, panel: Panel | None = None) -> None:
        """Say that the study is open, and the cohort has joined: clients then forget what they have at hand.

        After that another list of variants may be the one that was agreed on.
        """
        self._forgetting = set(self.relays)
        self.panel = panel
        self.trial.until(lambda: not self._forgetting, "the clients accept again")

    def _read(self, question: Question, asked: questions.Question) -> Mapping[str, np.ndarray]:
        shares, scheme = self.shares(question.round), self.plan.scheme(asked.ring_bits)
        length = questions.words(asked, scheme)
        if self.plan.in_pairs:
            total = self.sum(shares, scheme.to_bytes(scheme.zeros(length)), scheme)
            return questions.unpack(asked, total, scheme, self.plan.cohorts, question.salt)
        nonces = [bytes.fromhex(share.request_header("Unpooled-Nonce")) for share in shares]
        request = ReleaseRequest(
            self.trial.id,
            question.round,
            masking.question(question.salt, question.question, (self.panel or agreed(self.trial)).digest),
            scheme.label,
            length,
            tuple(zip((cohort.name for cohort in self.trial.cohorts), nonces, strict=True)),
        )
        answer = self.caller.release(request)
        assert answer.status_code == 200, answer.text
        total = self.sum(shares, answer.content, scheme)
        return questions.unpack(asked, total, scheme, self.plan.cohorts, question.salt)

    def _lie(self, relay: Relay, request: Message, answer: Message) -> Message:
        if request.line.startswith(ACCEPT):
            self._forgetting.discard(relay)
        if answer.line != "200":
            return answer
        if request.line.startswith(QUESTIONS):
            return changed_questions(answer, functools.partial(self._asked, relay))
        if request.line.startswith(STUDY):
            return self._described(relay, answer)
        if request.line.startswith(PANEL) and self.panel:
            return with_body(answer, self.panel.canonical)
        return answer

    def _asked(self, relay: Relay, asked: Questions) -> Questions:
        """Return the honest questions that come first, then the server's own."""
        begin = tuple(item for item in map(self._sent, asked.items) if self._comes_first(item))
        if self._running and not begin:
            self._wait_for_a_question(relay)
        if relay in self._forgetting:
            return replace(asked, state="open", panel_digest=b"", items=())
        own = self._unanswered(relay)
        digest = self.panel.digest if self.panel else asked.panel_digest
        return replace(asked, state="running", panel_digest=digest, items=begin + own)

    def _sent(self, item: Question) -> Question:
        """The question of a round in full, where the honest server only names it."""
        return Question(item.round, item.salt, in_full(self.trial, item))

    def _comes_first(self, item: Question) -> bool:
        kinds = questions_of(self.plan)
        return questions.decode(item.question, kinds, self.plan).name in _first(kinds)

    def _unanswered(self, relay: Relay) -> tuple[Question, ...]:
        return tuple(item for item in self.items if not relay.found(f"{SHARES}{item.round} "))

    def _wait_for_a_question(self, relay: Relay) -> None:
        """A long poll: the honest server's is over at once, for it waits for answers to its own questions."""
        deadline = time.monotonic() + 5
        while not self._unanswered(relay) and not self._forgetting and time.monotonic() < deadline:
            time.sleep(0.02)

    def _described(self, relay: Relay, answer: Message) -> Message:
        values = json.loads(answer.body)
        if relay in self._forgetting:
            values["study"]["state"], values["cohort_state"] = "open", "joined"
        if self.panel:
            values["panel_digest"] = self.panel.digest.hex()
        return with_body(answer, json.dumps(values).encode())

    def _has_first_sum(self) -> bool:
        query = "SELECT id FROM unpooled_server_round WHERE study_id = ? AND state = ? AND step_name = ?"
        step = _first(questions_of(self.plan))[-1]
        return bool(self.trial.federation.rows(query, self.trial.id, "aggregated", step))


def _first(kinds: Sequence[type[questions.Question]]) -> tuple[str, ...]:
    """The names of the kinds that a study begins with."""
    names = [kind.name for kind in kinds]
    return tuple(names[:2] if names[0] == "panel/presence" else names[:1])


def agreed(trial: Trial) -> Panel:
    """The variants that were agreed on."""
    path = trial.federation.home / "studies" / trial.id / "panel.bin"
    return Panel.from_canonical(path.read_bytes())


def in_full(trial: Trial, item: Question) -> bytes:
    """The encoded question of a round, which the server only names where cohorts follow the study."""
    query = "SELECT message FROM unpooled_server_asked WHERE round_id = ?"
    [(message,)] = trial.federation.rows(query, item.round)
    return bytes(message)


def changed_questions(answer: Message, change: Callable[[Questions], Questions]) -> Message:
    asked: Questions = messages.decode(answer.body, Questions)
    return with_body(answer, codec.encode(change(asked)))


class Caller:
    """The server's way to the compensator, in dishonest hands."""

    def __init__(self, running: Federation) -> None:
        headers = {
            "Authorization": f"Bearer {running.caller_secret}",
            "Content-Type": "application/octet-stream",
        }
        self.http = httpx.Client(base_url=running.compensator_address, headers=headers, timeout=PATIENCE)

    def release(self, request: ReleaseRequest) -> httpx.Response:
        return self.http.post(f"/v1/studies/{request.study}/releases", content=codec.encode(request))

    def enrol(self, enrolment: Enrolment) -> httpx.Response:
        return self.http.put(f"/v1/studies/{enrolment.study}/boxes", content=codec.encode(enrolment))
