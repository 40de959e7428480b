"""A dishonest server: what it gets when it asks cohorts different things.

It is the honest one with a relay before it that changes what some cohorts are told. What it gets of the
compensator for other releases and other boxes is in compensator/tests.
"""

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

from tests import list_text
from unpooled.asking import question as questions
from unpooled.methods import algorithm
from unpooled.methods.chi_square import CountGenotypes
from unpooled.panel.panel import Panel
from unpooled.protocol import masking, messages
from unpooled.protocol.messages import Question, Questions, ReleaseRequest
from unpooled.simulate import simulate
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import DataOptions

from .attacks.lying import PANEL, QUESTIONS, STUDY, Lying, changed_questions, in_full
from .attacks.transcript import Searcher
from .federation import Federation, Trial
from .leaks import SENT, UNBOUND
from .relay import Exchange, Message, Relay, with_body

Change = Callable[[Relay, Message, Message], Message]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Cohorts with nobody who is no founder: to count such people gives zeros."""
    folder = tmp_path_factory.mktemp("data")
    return simulate(folder, cohorts=(120, 140, 160), variants=400, seed=11, pooled=False).cohorts


@pytest.fixture
def asked(running: Federation, data: tuple[Path, ...]) -> Iterator[Trial]:
    made = running.study(data, chunk_size=100)
    yield made
    made.stop()


# Different questions


class Dishonest(Lying):
    """A server that tells some cohorts something else, and sends questions: its clients follow no study."""

    def __init__(self, trial: Trial, victims: Sequence[int], change: Change) -> None:
        super().__init__(trial)
        self.sent: dict[int, bytes] = {}
        """The questions as they are, by their rounds."""
        for cohort in trial.cohorts:
            trial.federation.stub(cohort.party.name, SENT)
        for number, relay in enumerate(self.relays):
            relay.change = functools.partial(self._changed, change if number in victims else None, relay)

    def _changed(self, change: Change | None, relay: Relay, request: Message, answer: Message) -> Message:
        if request.line.startswith(QUESTIONS) and answer.line == "200":
            answer = changed_questions(answer, self._in_full)
        return change(relay, request, answer) if change else answer

    def _in_full(self, asked: Questions) -> Questions:
        self.sent |= {item.round: in_full(self.trial, item) for item in asked.items}
        items = (Question(item.round, item.salt, self.sent[item.round]) for item in asked.items)
        return replace(asked, items=tuple(items))

    def run(self) -> None:
        self.trial.start()
        self.trial.until_over()
        self.close()

    def unmasked(self, round_number: int) -> np.ndarray:
        """Compute what the server does of a round that was released, as int64."""
        scheme = masking.scheme("z32")
        (release,) = self._releases(round_number)
        assert release.answer is not None
        return scheme.decode_integers(self.sum(self.shares(round_number), release.answer.body, scheme))

    def _releases(self, round_number: int) -> list[Exchange]:
        asked = self.trial.federation.to_compensator.found(f"POST /v1/studies/{self.trial.id}/releases")
        return [
            exchange
            for exchange in asked
            if exchange.status == 200
            and messages.decode(exchange.request.body, ReleaseRequest).round == round_number
        ]

    def rounds(self) -> list[int]:
        """The rounds about genotypes that were released."""
        query = "SELECT id FROM unpooled_server_round WHERE study_id = ? AND step_name = ? ORDER BY id"
        rows = self.trial.federation.rows(query, self.trial.id, CountGenotypes.name)
        return [number for (number,) in rows if self._releases(number)]


def each_question(change: Callable[[Question, CountGenotypes], Question]) -> Change:
    """Changes each question about genotypes in what the server answers."""

    def changed(item: Question) -> Question:
        step = questions.decode(item.question, algorithm("chi-square").asks)
        return change(item, step) if isinstance(step, CountGenotypes) else item

    def on_the_way(relay: Relay, request: Message, answer: Message) -> Message:
        if not request.line.startswith(QUESTIONS) or answer.line != "200":
            return answer
        return changed_questions(answer, lambda asked: replace(asked, items=tuple(map(changed, asked.items))))

    return on_the_way


def asking(step: CountGenotypes, item: Question, **changes: Any) -> Question:
    return replace(item, question=questions.encode(replace(step, **changes)))


@each_question
def other_variants(item: Question, step: CountGenotypes) -> Question:
    """The first chunk and the second are asked for in turn: nothing is asked twice."""
    start = {0: 100, 100: 0}.get(step.start, step.start)
    return asking(step, item, start=start, stop=start + step.variants)


@each_question
def other_groups(item: Question, step: CountGenotypes) -> Question:
    return asking(step, item, groups=step.groups[::-1])


@each_question
def other_bound(item: Question, step: CountGenotypes) -> Question:
    return asking(step, item, most=step.most + 1)


@each_question
def nobody(item: Question, step: CountGenotypes) -> Question:
    """People of whom there are none: this cohort's numbers vanish from the sum."""
    return asking(step, item, groups=tuple((group[0], "nonfounder", *group[2:]) for group in step.groups))


@each_question
def other_salt(item: Question, step: CountGenotypes) -> Question:
    return replace(item, salt=os.urandom(32))


@pytest.mark.parametrize(
    "change",
    [other_variants, other_groups, other_bound, nobody, other_salt],
    ids=["variants", "groups", "bound", "nobody", "salt"],
)
def test_cohorts_that_are_asked_different_things_yield_no_number(asked: Trial, change: Change) -> None:
    Dishonest(asked, [1], change).run()
    assert_failed_without_a_number(asked, "Count genotypes")


def other_panel(relay: Relay, request: Message, answer: Message) -> Message:
    """The agreed panel, but one variant is another one of those that this cohort alone has."""
    if answer.line != "200":
        return answer
    if request.line.startswith(PANEL):
        return with_body(answer, with_own_variant(Panel.from_canonical(answer.body), relay).canonical)
    if request.line.startswith(STUDY):
        values = json.loads(answer.body)
        if values["panel_digest"]:
            values["panel_digest"] = own_panel(relay, request).digest.hex()
        return with_body(answer, json.dumps(values).encode())
    if request.line.startswith(QUESTIONS):

        def as_if_agreed(asked: Questions) -> Questions:
            digest = own_panel(relay, request).digest if asked.panel_digest else b""
            return replace(asked, panel_digest=digest)

        return changed_questions(answer, as_if_agreed)
    return answer


def own_panel(relay: Relay, request: Message) -> Panel:
    line = "GET /api/v1/cohort/panel HTTP/1.1"
    agreed = relay.send(replace(request, line=line))
    return with_own_variant(Panel.from_canonical(agreed.body), relay)


def with_own_variant(agreed: Panel, relay: Relay) -> Panel:
    (sent,) = relay.found("PUT /api/v1/cohort/panel/list")
    own = list_text.write(Panel.from_canonical(sent.request.body)).splitlines()
    lines = list_text.write(agreed).splitlines()
    shared = {line.split(b"\t")[2] for line in lines}
    extra = next(line for line in own if line.split(b"\t")[2] not in shared)
    rows = [line.split(b"\t") for line in [*lines[1:], extra]]
    return Panel.of([(int(chromosome), int(position), *words) for chromosome, position, *words in rows])


def test_a_cohort_that_is_given_another_panel_yields_no_number(trial: Trial) -> None:
    Dishonest(trial, [0], other_panel).run()
    assert_failed_without_a_number(trial, "Count people")


def assert_failed_without_a_number(trial: Trial, step: str) -> None:
    assert trial.state == "failed", trial.story()
    assert trial.reason.startswith(f"{step}: the masks of this round do not cancel")
    assert "not asked the same question" in trial.reason
    assert f"failed: {trial.reason}" in trial.log()
    assert trial.call("GET", "results") == []
    stored = trial.federation.home / "studies" / trial.id
    trial.until(lambda: not (stored / "rows").exists(), "partial results are deleted")
    assert not list(stored.glob("results-*"))
    for cohort in trial.cohorts:
        assert cohort.party.wait() == 4
        assert "do not cancel" in cohort.party.said()
        assert not cohort.results()


def test_to_ask_all_others_for_nobody_does_not_tell_one_cohorts_numbers(
    asked: Trial, data: tuple[Path, ...]
) -> None:
    server = Dishonest(asked, [1, 2], nobody)
    server.run()
    assert_failed_without_a_number(asked, "Count genotypes")
    rounds = server.rounds()
    assert rounds
    target = Searcher({"cohort1": counts_of(server, data[0])})
    assert not target.search({str(number): server.unmasked(number).tobytes() for number in rounds})


def test_without_the_question_in_the_mask_it_would_tell_them(
    asked: Trial, running: Federation, data: tuple[Path, ...]
) -> None:
    """The attack of the test above is a real one: here it succeeds, on parties that leave the binding out."""
    server = Dishonest(asked, [1, 2], nobody)
    for cohort in asked.cohorts:
        running.stub(cohort.party.name, UNBOUND | SENT)
    for name in ("web", "worker"):
        running.stub(name, UNBOUND)
    for party in (running.web, running.worker):
        party.restart()
    try:
        server.run()
    finally:
        for party in (running.web, running.worker):
            running.stub(party.name, {})
            party.restart()
    assert asked.state == "done", asked.story()
    target = Searcher({"cohort1": counts_of(server, data[0])})
    for number in server.rounds():
        assert target.search({str(number): server.unmasked(number).tobytes()})


def counts_of(server: Dishonest, prefix: Path) -> np.ndarray:
    """The genotype counts that a cohort sends, over all rounds that it was asked."""
    opened, report = open_cohort(DataOptions(bfile=prefix))
    assert opened is not None, report
    panel = Panel.of_file(server.trial.federation.home / "studies" / server.trial.id / "panel.bin")
    aligned = opened.align(panel)
    steps = (questions.decode(sent, algorithm("chi-square").asks) for sent in server.sent.values())
    asked = {step.start: step for step in steps if isinstance(step, CountGenotypes)}
    return np.concatenate([step.local(aligned)["genotypes"].ravel() for step in asked.values()])
