"""A cohort's client in a few lines, over real HTTP: what tests of the server talk to it with."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

from unpooled.asking import question as questions
from unpooled.asking.cohort import Cohort
from unpooled.asking.compared_sums import shown_bits
from unpooled.asking.driver import Place, Tree, read_sums
from unpooled.asking.procedure import Study
from unpooled.methods import questions_of, whole, with_chunks
from unpooled.panel.agreement import align
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.protocol import VERSION, masking, messages, two_party, witness
from unpooled.protocol.dealing import DealingContext, dealer_of
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Question, Questions, Roster, Shown, Told
from unpooled.protocol.sealing import Purpose, SigningKey, seal_seed
from unpooled.protocol.showing import set_third_check
from unpooled.protocol.witness import Witnessed

RAW = {"Content-Type": "application/octet-stream"}


@dataclass
class Client:
    """One cohort, with its own list of variants and a function that makes its aligned data."""

    http: httpx.Client
    invitation: Invitation
    own: Panel
    data: Any  # (panel index into own, swapped) -> Cohort
    key: SigningKey = field(default_factory=SigningKey.generate)
    seed: bytes = field(default_factory=lambda: os.urandom(32))
    dealer_seed: bytes = field(default_factory=lambda: os.urandom(32))
    instance: str = field(default_factory=lambda: os.urandom(16).hex())
    witness: bytes = b""
    """The witness as it came with the last questions, sealed."""
    known: Any = None
    """Answer of the server about the study since questions were last asked for: it stays while they are open.
    """
    code_keys: bytes = b""
    trees: dict[str, Tree] = field(default_factory=dict)
    """Each study as this cohort follows it, by the token of its invitation."""

    def call(self, method: str, path: str, **content: Any) -> httpx.Response:
        headers = {
            "Authorization": f"Bearer {self.invitation.token}",
            "Unpooled-Client": self.instance,
            "Unpooled-Protocol": str(VERSION),
            **content.pop("headers", {}),
        }
        return self.http.request(method, f"/api/v1/cohort/{path}", headers=headers, **content)

    def ok(self, method: str, path: str, **content: Any) -> Any:
        answer = self.call(method, path, **content)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def study(self) -> Any:
        return self.ok("GET", "study")

    def join(self) -> None:
        self.ok("POST", "join", json={"key": self.key.public.hex()})
        self.known = None

    @property
    def seen(self) -> Any:
        """Answer of the server about the study, asked once for all questions that come together."""
        self.known = self.known or self.study()
        return self.known

    @property
    def purpose(self) -> Purpose:
        """Purpose of this cohort's seed, by the server's answer."""
        seen = self.seen
        plan, roster = Plan.from_json(seen["plan"]), bytes.fromhex(seen["roster_hash"])
        return Purpose(seen["study"]["id"], plan.hash(), roster, seen["cohort"], plan.compensator_key)

    def accept(self) -> None:
        self.known = None
        purpose = self.purpose
        box = seal_seed(self.seed, purpose, self.key)
        self.ok(
            "POST",
            "accept",
            json={
                "plan_hash": purpose.plan_hash.hex(),
                "roster_hash": purpose.roster_hash.hex(),
                "box": box.sealed.hex(),
                "signature": box.signature.hex(),
            },
        )

    def announce(self) -> None:
        if self.ok("PUT", "panel/digest", json={"digest": self.own.digest.hex()})["list_wanted"]:
            self.ok("PUT", "panel/list", content=self.own.canonical)

    def questions(self, wait: float = 0, seen: str = "") -> Questions:
        answer = self.call("GET", f"questions?wait={wait}&seen={seen}")
        assert answer.status_code == 200, answer.text
        found: Questions = messages.decode(answer.content, Questions)
        self.witness, self.code_keys, self.known = found.witness, found.code_keys, None
        return found

    def cohort(self, panel_digest: bytes) -> Cohort:
        aligned = align(self.panel(panel_digest), self.own, np.ones(len(self.own), bool))
        return self.data(aligned.index, aligned.swapped)

    def panel(self, digest: bytes) -> Panel:
        """The variants that were agreed on."""
        if digest == self.own.digest:
            return self.own
        return Panel.from_canonical(self.call("GET", "panel").content)

    def asked(self, question: Question) -> questions.Question:
        """The question as it was sent, or as this cohort finds it where it is only named."""
        plan = Plan.from_json(self.seen["plan"])
        if not question.place:
            return questions.decode(question.question, questions_of(plan), plan)
        token = self.invitation.token
        if token not in self.trees:
            given = Study(with_chunks(plan), lambda: self.panel(self._panel_digest))
            self.trees[token] = Tree(whole(given), questions_of(plan), self._sums)
        return self.trees[token].question(Place.of(question.place))

    def _sums(self, place: Place, asked: questions.Question) -> questions.Arrays:
        """The sums that the server tells of a place, shown to be those that cohorts have sent."""
        told: Told = messages.decode(self.call("GET", f"told/{place.label}").content, Told)
        if asked.opens:
            return self._shown(place, asked, told)
        plan = Plan.from_json(self.seen["plan"])
        named = masking.question(told.salt, questions.encode(asked), self._panel_digest)
        witnessed = Witnessed(self.opened, told.round, named)
        scheme = plan.scheme(asked.ring_bits)
        return questions.verified(asked, told.total, scheme, plan.cohorts, told.salt, witnessed)

    def _shown(self, place: Place, asked: questions.Question, told: Told) -> questions.Arrays:
        """The bits of a comparison, found again from what is shown of it; as told where this cohort dealt."""
        bits = read_sums(asked, told.total)
        message = Question(told.round, told.salt, b"", place.label)
        _, _, named = self._asked(message, asked)
        context = self._dealt_for(message, asked, named)
        answer = self.call("GET", f"shown/{place.label}")
        if context.dealer == self.name:
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "own-dealing")
            return bits
        shown: Shown = messages.decode(answer.content, Shown)
        scheme, names = masking.scheme(named["scheme"]), [name for name, _ in self.roster.members]
        found = shown_bits(asked, shown, scheme, names, context, self.opened)
        assert all((found[name] == bits[name]).all() for name in bits)
        return found

    @property
    def _panel_digest(self) -> bytes:
        return bytes.fromhex(self.seen["panel_digest"])

    def share(self, question: Question, cohort: Cohort) -> tuple[bytes, str]:
        """The masked bytes of an answer, and their nonce."""
        plan, step, named = self._asked(question)
        scheme = plan.scheme(step.ring_bits)
        vector = questions.pack(
            step,
            step.local(cohort),
            scheme,
            plan.cohorts,
            question.salt,
            witnessed=self.witnessed(question),
        )
        nonce = os.urandom(16)
        circuit = step.opens.circuit if step.opens else None
        context = masking.context_of(circuit, cohort=self.name, nonce=nonce, **named)
        masked = scheme.add(vector, masking.mask(self.seed, context))
        if step.opens:
            dealt = self.dealing(question)
            digest = hashlib.sha256(dealt).digest() if dealt else b""
            set_third_check(masked, self.opened, context, digest)
        return scheme.to_bytes(masked), nonce.hex()

    def witnessed(self, question: Question) -> Witnessed:
        """Name what the second check of a round follows from."""
        _, _, named = self._asked(question)
        return Witnessed(
            self.opened, question.round, named["question"], self.name == self.roster.members[0][0]
        )

    @property
    def opened(self) -> bytes:
        """The witness, which opens beside the keys that came with it."""
        return witness.unsealed(self.witness, self.seed, self.purpose, self.code_keys)

    @property
    def roster(self) -> Roster:
        return Roster(tuple((m["name"], bytes.fromhex(m["key"])) for m in self.seen["roster"]))

    def dealing(self, question: Question) -> bytes | None:
        """Deal for a round; return None if another cohort deals, or nothing is compared."""
        _, step, named = self._asked(question)
        if step.opens is None or dealer_of(self.roster, question.round) != self.name:
            return None
        return two_party.deal(self.seed, self.dealer_seed, self._dealt_for(question, step, named))

    def _dealt_for(
        self, question: Question, step: questions.Question, named: dict[str, Any]
    ) -> DealingContext:
        assert step.opens
        dealer = dealer_of(self.roster, question.round)
        return DealingContext(dealer=dealer, circuit=step.opens.circuit, **named)

    def _asked(
        self, question: Question, step: questions.Question | None = None
    ) -> tuple[Plan, questions.Question, dict[str, Any]]:
        """The plan, the question, and what is common to all that names its masks and its dealing."""
        seen = self.seen
        plan = Plan.from_json(seen["plan"])
        step = step or self.asked(question)
        scheme = plan.scheme(step.ring_bits)
        return (
            plan,
            step,
            {
                "study": seen["study"]["id"],
                "plan_hash": plan.hash(),
                "roster_hash": bytes.fromhex(seen["roster_hash"]),
                "round": question.round,
                "question": masking.question(question.salt, questions.encode(step), self._panel_digest),
                "scheme": scheme.label,
                "words": questions.words(step, scheme),
            },
        )

    @property
    def name(self) -> str:
        return str(self.seen["cohort"])

    def send(self, question: Question, cohort: Cohort) -> httpx.Response:
        """Answer a round; where this cohort deals, it does that first."""
        if dealing := self.dealing(question):
            assert self.put_dealing(question.round, dealing).is_success
        data, nonce = self.share(question, cohort)
        return self.put_share(question.round, data, nonce)

    def put_share(self, round_: int, data: bytes, nonce: str) -> httpx.Response:
        return self.call("PUT", f"shares/{round_}", content=data, headers={**RAW, "Unpooled-Nonce": nonce})

    def put_dealing(self, round_: int, data: bytes) -> httpx.Response:
        return self.call("PUT", f"dealings/{round_}", content=data, headers=RAW)

    def answer_all(self, cohort: Cohort | None = None, wait: float = 10) -> str:
        """Answer questions until there are none for `wait` seconds, or the study is over; its state."""
        while True:
            asked = self.questions(wait)
            if not asked.items:
                return asked.state
            if cohort is None and asked.panel_digest:
                cohort = self.cohort(asked.panel_digest)
            for question in asked.items:
                assert self.send(question, cohort).status_code == 201
