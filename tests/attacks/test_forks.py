"""A fork: the server tells the first cohort another sum than the others, and a second cohort helps it.

The helper has the witness, so the forged sum passes both checks and the first cohort believes it. From then
on its own run asks other questions than the others' runs do, and the server may name just those to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from unpooled.asking import question as questions
from unpooled.asking.driver import Place, Tree, digest
from unpooled.asking.procedure import Study
from unpooled.asking.share_check import check_of, second_check_of
from unpooled.methods import questions_of, whole, with_chunks
from unpooled.plan.plan import Plan
from unpooled.protocol import codec, masking, messages
from unpooled.protocol.messages import Question, Questions, Told
from unpooled.protocol.witness import Witnessed, unsealed
from unpooled_client.state.events import Exit
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.trust import Terms

from ..federation import Federation, Trial
from ..relay import Message, with_body
from .lying import QUESTIONS, Lying, agreed, changed_questions
from .singled_out import Pool, write
from .test_following import PLAN, TOLD

FORGED = "0"
"""The sum of the first question is forged, and this is its place."""


class Forking(Lying):
    """The server is honest to all cohorts but the first, to which it tells another first sum."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial)
        self.plan = Plan.from_json(trial.call("GET")["plan"])
        self.named: set[str] = set()
        """The first cohort's own run asks another question at these places than the others' runs do."""

    def begin(self, item: Callable[[Question], Question]) -> None:
        """Start the study, and name to the first cohort what `item` makes of each question, until it ends."""

        def change(request: Message, answer: Message) -> Message:
            if request.line.startswith(f"{TOLD}{FORGED} "):
                return with_body(answer, codec.encode(self.told(Place.of(FORGED))))
            if request.line.startswith(QUESTIONS) and answer.line == "200":
                return changed_questions(answer, lambda asked: _each(item, asked))
            return answer

        self.relays[0].change = change
        self.trial.start()
        self.trial.until(lambda: self.trial.cohorts[0].party.has_ended, "the first cohort's client ends")

    def told(self, place: Place) -> Told:
        """Read what the first cohort is told at a place; the first sum is forged."""
        home = self.trial.federation.home / "studies" / self.trial.id
        told: Told = messages.decode((home / "told" / place.label).read_bytes(), Told)
        return self._forged(told) if place == Place.of(FORGED) else told

    def as_it_asks_itself(self, item: Question) -> Question:
        """Name the question that follows from the forged sum in place of the honest one."""
        found = digest(self._run().question(Place.of(item.place)))
        if found != item.digest:
            self.named.add(item.place)
        return replace(item, digest=found)

    def _run(self) -> Tree:
        plan = with_chunks(self.plan)
        return Tree(whole(Study(plan, lambda: agreed(self.trial))), questions_of(plan), self._sums)

    def _sums(self, place: Place, question: questions.Question) -> questions.Arrays:
        told, scheme = self.told(place), self.plan.scheme(question.ring_bits)
        total = scheme.from_bytes(told.total, questions.words(question, scheme))
        return questions.unpack(question, total, scheme, self.plan.cohorts, told.salt)

    def _forged(self, told: Told) -> Told:
        """Move one person of the first sum to another group, and make both checks anew to match."""
        question = self._run().question(Place.of(FORGED))
        scheme = self.plan.scheme(question.ring_bits)
        total = scheme.from_bytes(told.total, questions.words(question, scheme)).copy()
        people = total[scheme.check_words :]
        people[[people.argmax(), np.flatnonzero(people)[-1]]] += np.array([-1, 1]).astype(people.dtype)
        named = masking.question(told.salt, questions.encode(question), agreed(self.trial).digest)
        second = second_check_of(total, scheme, Witnessed(self._witness(), told.round, named), padded=True)
        scheme.set_checks(total, check_of(total, scheme, told.salt, self.plan.cohorts), second)
        return replace(told, total=scheme.to_bytes(total))

    def _witness(self) -> bytes:
        """Open the witness as the second cohort's client does, by its own seed."""
        other, answers = self.trial.cohorts[1], self.relays[1].found(QUESTIONS)
        saved = StateFolder(other.folder / "state").load()
        assert saved.acceptance and saved.agreement
        roster = saved.agreement.roster
        terms = Terms(
            self.trial.id, other.name, self.plan, self.plan.hash(), roster, roster.hash(), one_operator=False
        )
        sealed = (messages.decode(e.answer.body, Questions).witness for e in answers if e.answer)
        return unsealed(next(filter(None, sealed)), saved.acceptance.seed, terms.purpose)


def _each(change: Callable[[Question], Question], asked: Questions) -> Questions:
    return replace(asked, items=tuple(map(change, asked.items)))


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return write(tmp_path_factory.mktemp("pool"), quantitative=True)


@pytest.fixture
def server(running: Federation, pool: Pool) -> Iterator[Forking]:
    made = Forking(running.study(pool.prefixes, **PLAN))
    yield made
    made.trial.stop()
    made.close()


def test_whoever_is_led_on_by_another_sum_refuses_what_the_others_are_asked(server: Forking) -> None:
    server.begin(lambda item: item)
    assert server.trial.cohorts[0].party.wait() == Exit.REFUSED
    assert "asks for something else than this cohort's own run" in server.trial.cohorts[0].party.said()


def test_what_only_one_is_asked_is_answered_in_vain(server: Forking) -> None:
    server.begin(server.as_it_asks_itself)
    server.trial.until_over()
    assert server.named
    assert server.trial.state == "failed"
    assert "the masks of this round do not cancel" in server.trial.reason
