"""A dishonest server says what is not so of a study: who takes part, that it is done, which files it has."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled.asking import question as questions
from unpooled.methods.chi_square import CountGenotypes
from unpooled.plan.plan import Plan
from unpooled.protocol import masking, messages
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import Enrolment, Question, Questions, ReleaseRequest, Roster, Witnesses
from unpooled.protocol.sealing import Box, SigningKey, seal_seed
from unpooled_client.state.events import Exit

from ..federation import Cohort, Federation, Trial
from ..launch import Function
from ..leaks import AGREEMENT, CONSENT, NAMES, ORIGIN, SENT
from ..relay import Message, Relay, with_body
from .lying import ACCEPT, QUESTIONS, SHARES, STUDY, Caller, changed_questions
from .scripted import Scripted
from .singled_out import AUTOSOMAL, PEOPLE, Pool, write

PLAN: dict[str, Any] = {"test": "chi-square", "nonfounders": True}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return write(tmp_path_factory.mktemp("pool"))


# Another roster


@dataclass
class Impostor:
    """Once the one real cohort has accepted, it shows a roster in which all others are its own inventions.

    So the compensator would sum masks of which the server knows all but one.
    """

    trial: Trial
    relay: Relay
    keys: dict[str, SigningKey] = field(default_factory=dict)
    seeds: dict[str, bytes] = field(default_factory=dict)
    question: Question | None = None
    witness: bytes = b""
    """Sealed for the victim by the compensator, which has been told of the false roster, too."""

    @property
    def victim(self) -> Cohort:
        return self.trial.cohorts[0]

    def begin(self) -> None:
        for cohort in self.trial.cohorts[1:]:
            self.keys[cohort.name], self.seeds[cohort.name] = SigningKey.generate(), os.urandom(32)
            assert Scripted(cohort.invitation).join().is_success
        self.victim.through(self.relay.url)
        self.relay.change = self.lie

    def lie(self, request: Message, answer: Message) -> Message:
        accepted = self.relay.found(ACCEPT)
        if request.line.startswith(STUDY) and accepted:
            values = json.loads(answer.body)
            values["study"]["state"], values["cohort_state"] = "open", "joined"
            for member in values["roster"]:
                if key := self.keys.get(member["name"]):
                    member["key"] = key.public.hex()
            values["roster_hash"] = roster_in(values).hash().hex()
            return with_body(answer, json.dumps(values).encode())
        if request.line.startswith(ACCEPT):
            return Message("200", answer.headers, b'{"accepted": true}')
        if request.line.startswith(QUESTIONS) and self.question:
            return changed_questions(answer, self.ask)
        return answer

    def ask(self, asked: Questions) -> Questions:
        assert self.question
        number = f"{SHARES}{self.question.round} "
        items = () if self.relay.found(number) else (self.question,)
        return Questions("running", self.panel(), self.witness, items)

    def panel(self) -> bytes:
        """The victim's own list was agreed on."""
        (digest, *_) = self.relay.found("PUT /api/v1/cohort/panel/digest ")
        return bytes.fromhex(json.loads(digest.request.body)["digest"])

    def counts(self) -> np.ndarray:
        """The victim's, after it has accepted the second roster: int64 (variants, 3)."""
        self.trial.until(lambda: len(self.relay.found(ACCEPT)) > 1, "the victim accepts again")
        plan = Plan.from_json(self.trial.call("GET")["plan"])
        caller, enrolment = Caller(self.trial.federation), self.enrolment(plan)
        enrolled = caller.enrol(enrolment)
        assert enrolled.is_success, enrolled.text
        witnesses: Witnesses = messages.decode(enrolled.content, Witnesses)
        self.witness = dict(witnesses.sealed)[self.victim.name]
        step = CountGenotypes(0, AUTOSOMAL, (("case",), ("control",)), PEOPLE)
        self.question = Question(1, os.urandom(32), questions.encode(step))
        self.trial.until(lambda: self.relay.found(f"{SHARES}1 "), "the victim answers")
        (share,) = self.relay.found(f"{SHARES}1 ")
        nonces = {name: os.urandom(16) for name in self.seeds}
        nonces[self.victim.name] = bytes.fromhex(share.request_header("Unpooled-Nonce"))
        scheme, question = (
            plan.scheme(32),
            masking.question(self.question.salt, self.question.question, self.panel()),
        )
        words = questions.words(step, scheme)
        released = caller.release(
            ReleaseRequest(self.trial.id, 1, question, scheme.label, words, tuple(sorted(nonces.items())))
        )
        assert released.is_success, released.text
        masks = scheme.from_bytes(released.content, words)
        for name, seed in self.seeds.items():
            context = MaskContext(
                study=self.trial.id,
                plan_hash=plan.hash(),
                roster_hash=enrolment.roster.hash(),
                cohort=name,
                round=1,
                question=question,
                scheme=scheme.label,
                words=words,
                nonce=nonces[name],
            )
            masks = scheme.subtract(masks, masking.mask(seed, context))
        own = scheme.subtract(scheme.from_bytes(share.request.body, words), masks)
        return np.asarray(questions.unpack(step, own, scheme, 1, self.question.salt)["genotypes"].sum(axis=1))

    def enrolment(self, plan: Plan) -> Enrolment:
        study = self.relay.found(STUDY)[-1]
        assert study.answer
        shown = roster_in(json.loads(self.lie(study.request, study.answer).body))
        message = json.loads(self.relay.found(ACCEPT)[-1].request.body)
        given = Box(self.victim.name, bytes.fromhex(message["box"]), bytes.fromhex(message["signature"]))
        empty = Enrolment(self.trial.id, plan.hash(), shown, ())
        invented = [
            seal_seed(seed, empty.purpose(name, plan.compensator_key), self.keys[name])
            for name, seed in self.seeds.items()
        ]
        return Enrolment(self.trial.id, plan.hash(), shown, (given, *invented))


def roster_in(values: dict[str, Any]) -> Roster:
    return Roster(tuple((member["name"], bytes.fromhex(member["key"])) for member in values["roster"]))


@pytest.fixture
def impostor(running: Federation, pool: Pool) -> Iterator[Impostor]:
    relay, trial = Relay(running.address), running.study(pool.prefixes, **PLAN)
    made = Impostor(trial, relay)
    made.begin()
    yield made
    trial.stop()
    relay.close()


def test_a_roster_that_changed_is_not_accepted_by_yes(impostor: Impostor) -> None:
    victim = impostor.victim
    victim.party.spawn()
    assert victim.party.wait() == Exit.USAGE
    assert len(impostor.relay.found(ACCEPT)) == 1
    assert not impostor.relay.found(SHARES)
    last = victim.events()[-1]
    assert "the roster changed and must be accepted again" in last["message"]
    assert "--yes does not answer this" in last["remedy"]


def test_a_client_that_says_yes_to_all_gives_its_own_counts(impostor: Impostor, pool: Pool) -> None:
    impostor.trial.federation.stub(impostor.victim.party.name, CONSENT | SENT)
    impostor.victim.party.spawn()
    own = [(pool.copies[:AUTOSOMAL, :PEOPLE] == k).sum(axis=1) for k in (2, 1, 0)]
    np.testing.assert_array_equal(impostor.counts(), np.stack(own, axis=1))


# Other files

LIE, OWN = b"from the server\n", b"family of one\n"
FILES: dict[str, tuple[str, dict[str, Function], str]] = {
    "a data file of that name": ("mine.fam", NAMES | ORIGIN, "does not follow from the plan"),
    "a program": ("setup.exe", NAMES, "does not follow from the plan"),
    "a device": ("aux.txt", NAMES, "does not follow from the plan"),
    "a report that the person has changed": ("study.assoc", ORIGIN, "were left alone"),
    "before any agreement": ("study.frq", AGREEMENT, "were not accepted here"),
}


@pytest.fixture(scope="module")
def done(running: Federation, pool: Pool) -> Iterator[tuple[Trial, Relay]]:
    """A study that is done, and a relay before the server of its first cohort."""
    relay, trial = Relay(running.address), running.study(pool.prefixes, **PLAN)
    trial.cohorts[0].through(relay.url)
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()
    yield trial, relay
    relay.close()


@pytest.fixture
def offered(done: tuple[Trial, Relay], request: pytest.FixtureRequest) -> Iterator[tuple[Cohort, Path]]:
    """The first cohort, whose server offers one false file; where it would lie."""
    trial, relay = done
    cohort, name = trial.cohorts[0], FILES[request.param][0]
    state, results = cohort.folder / "state", cohort.folder / "results"
    before = cohort.folder / "before"
    if not before.exists():
        shutil.copytree(state, before / "state")
        shutil.copytree(results, before / "results")
    for folder in (state, results):
        shutil.rmtree(folder)
        shutil.copytree(before / folder.name, folder)
    target = results / name
    target.unlink(missing_ok=True)
    if name in ("mine.fam", "study.assoc"):
        target.write_bytes(OWN)
    if request.param == "before any agreement":
        forget_the_agreement(state)
    relay.change = lambda asked, answer: offering(name, asked, answer)
    yield cohort, target
    relay.change = lambda asked, answer: answer


def offering(name: str, request: Message, answer: Message) -> Message:
    if request.line.startswith(f"GET /api/v1/cohort/results/{name} "):
        return Message("200", (), LIE)
    if request.line.startswith(STUDY):
        values = json.loads(answer.body)
        file = {"name": name, "bytes": len(LIE), "sha256": hashlib.sha256(LIE).hexdigest()}
        return with_body(answer, json.dumps(values | {"results": [file]}).encode())
    return answer


def forget_the_agreement(state: Path) -> None:
    """Remove the agreement from a client's state, as if it had just joined."""
    file = state / "state.json"
    values = json.loads(file.read_bytes())
    file.write_text(json.dumps(values | {"agreement": None}))


@pytest.mark.parametrize("offered", FILES, indirect=True)
@pytest.mark.parametrize("is_checked", [True, False], ids=["as it is", "weakened"])
def test_a_file_that_the_server_makes_up_is_stored_by_a_weakened_client_only(
    offered: tuple[Cohort, Path], running: Federation, is_checked: bool, request: pytest.FixtureRequest
) -> None:
    cohort, target = offered
    _, stubs, said = FILES[request.node.callspec.params["offered"]]
    before = target.read_bytes() if target.exists() else None
    running.stub(cohort.party.name, {} if is_checked else stubs)
    cohort.party.spawn()
    code = cohort.party.wait()
    if is_checked:
        assert code == Exit.REFUSED
        assert said in cohort.events()[-1]["message"]
        assert (target.read_bytes() if target.exists() else None) == before
    else:
        assert target.read_bytes() == LIE
