"""A dishonest server asks for more than an honest study does, in the middle of one: it gets no answer.

It is the honest one with a relay before it that adds a question, or names another list of variants, once a
first sum was released. Each attack succeeds on a client that keeps no book, or agrees with every question.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from unpooled import step as steps
from unpooled.algorithms import algorithm
from unpooled.algorithms.chi_square import CountGenotypes
from unpooled.protocol import codec, messages
from unpooled.protocol.messages import Question, Questions
from unpooled.simulate import simulate
from unpooled_client.events import Exit

from . import launch
from .federation import Federation, Trial
from .relay import Message, Relay, with_body

QUESTIONS = "GET /api/v1/cohort/questions"
EXTRA = 1_000_001
"""The round of the question that no honest server asks."""

Lie = Callable[[Question, CountGenotypes], Question]


def another(item: Question, step: CountGenotypes, **changes: Any) -> Question:
    changed = steps.encode_for_cohorts(replace(step, **changes))
    return replace(item, round=EXTRA, salt=os.urandom(32), step=changed)


def the_same_again(item: Question, step: CountGenotypes) -> Question:
    return another(item, step)


def overlapping(item: Question, step: CountGenotypes) -> Question:
    return another(item, step, start=step.start + 1, stop=step.stop)


def men_apart(item: Question, step: CountGenotypes) -> Question:
    return another(item, step, groups=tuple((*group, "male") for group in step.groups))


def as_if_on_x(item: Question, step: CountGenotypes) -> Question:
    groups = tuple((*group, "male") for group in step.groups)
    return another(item, step, groups=groups, chromosome="X")


BOOK = {"unpooled_client.book:Book._check": "keeps_no_book"}
CONSENT = {
    **BOOK,
    "unpooled.algorithms.chi_square:CountGenotypes.agrees": "agrees_with_everything",
    "unpooled.algorithms.chi_square:CountGenotypes.fits_panel": "agrees_with_everything",
}
ATTACKS: dict[str, tuple[Lie, dict[str, str]]] = {
    "the same again": (the_same_again, BOOK),
    "overlapping": (overlapping, BOOK),
    "men apart": (men_apart, CONSENT),
    "as if on X": (as_if_on_x, CONSENT),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("data")
    return simulate(folder, cohorts=(120, 140, 160), variants=400, seed=11, pooled=False).cohorts


@pytest.fixture
def trial(running: Federation, data: tuple[Path, ...]) -> Iterator[Trial]:
    made = running.study(data, chunk_size=100)
    yield made
    made.stop()


@dataclass
class Lying:
    """Between the server and one cohort: it adds a question as soon as one about genotypes was answered."""

    lie: Lie
    relay: Relay
    seen: dict[int, tuple[Question, CountGenotypes]] = field(default_factory=dict)

    def __call__(self, request: Message, answer: Message) -> Message:
        if not request.line.startswith(QUESTIONS) or answer.line != "200":
            return answer
        asked: Questions = messages.decode(answer.body, Questions)
        for item in asked.items:
            step = steps.decode(item.step, algorithm("chi-square").steps)
            if isinstance(step, CountGenotypes):
                self.seen[item.round] = item, step
        done = [number for number in self.seen if self.was_answered(number)]
        if not done:
            return answer
        extra = self.lie(*self.seen[min(done)])
        return with_body(answer, codec.encode(replace(asked, items=(*asked.items, extra))))

    def was_answered(self, number: int) -> bool:
        return any(exchange.asks(f"PUT /api/v1/cohort/shares/{number} ") for exchange in self.relay.exchanges)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_question_too_many_is_not_answered(trial: Trial, attack: str) -> None:
    victim, lying = lied_to(trial, ATTACKS[attack][0])
    trial.start()
    trial.until(lambda: victim.party.has_ended, "the victim stops")
    assert victim.party.wait() == Exit.REFUSED
    assert not lying.was_answered(EXTRA)
    said = victim.party.said()
    assert f"round {EXTRA}" in said or "agreed list" in said, said
    assert "Tell the coordinator" in said
    assert trial.state == "paused" and victim.name in trial.reason, trial.story()


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_weakened_client_answers_it(trial: Trial, attack: str) -> None:
    lie, stubs = ATTACKS[attack]
    victim, lying = lied_to(trial, lie)
    trial.federation.stub(victim.party.name, stubs)
    trial.start()
    trial.until(lambda: lying.was_answered(EXTRA), "the question too many is answered")


def test_it_is_not_answered_after_a_restart_either(trial: Trial) -> None:
    """What was answered before the client was killed is in its book."""
    lie = ATTACKS["the same again"][0]
    victim, lying = lied_to(trial, lie)
    lying.relay.change = lambda request, answer: answer  # honest, at first
    trial.start()
    trial.until(lambda: lying.relay.found("PUT /api/v1/cohort/shares/"), "something was answered")
    victim.party.kill()
    lying.relay.change = lying
    victim.party.spawn()
    trial.until(lambda: victim.party.has_ended, "the victim stops")
    assert victim.party.wait() == Exit.REFUSED
    assert not lying.was_answered(EXTRA)


def lied_to(trial: Trial, lie: Lie) -> tuple[Any, Lying]:
    """The first cohort, and its way to the server. The last one is held, so that the study does not end."""
    victim = trial.cohorts[0]
    relay = Relay(trial.federation.address)
    victim.through(relay.url)
    relay.change = lying = Lying(lie, relay)
    trial.cohorts[-1].gate(launch.PUT_SHARE).close(passing=1)
    return victim, lying
