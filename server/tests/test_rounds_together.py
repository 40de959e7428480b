"""Rounds at which several work at once, or in another order."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from federation_fixtures import Federation, variants, work
from round_fixtures import Make, beside, first_round, to_the_end
from test_whole_study import assert_files_as_in_process

from tests.patience import PATIENCE
from unpooled_server.models import Round, Share
from unpooled_server.services import rounds

pytestmark = pytest.mark.services


@pytest.mark.django_db(transaction=True)
def test_two_workers_on_one_round_have_one_winner(trial: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    meet, real = threading.Barrier(2, timeout=PATIENCE), rounds._conclude

    def together(*arguments: Any) -> None:
        meet.wait()
        real(*arguments)

    monkeypatch.setattr(rounds, "_conclude", together)
    number = first_round(trial).pk
    beside(*[lambda: rounds.advance(number)] * 2)
    following = Round.objects.filter(study=trial.study_id).exclude(pk=number)
    assert len(following) == len(set(following.values_list("asked__message", flat=True))) == 3
    monkeypatch.undo()
    trial.answer()
    to_the_end(trial)


@pytest.mark.django_db(transaction=True)
def test_shares_that_arrive_together_complete_the_round(federation: Make) -> None:
    trial = federation()
    trial.running()
    question = trial.clients[0].questions().items[0]
    cohorts = [trial.cohort(client, client.questions().panel_digest) for client in trial.clients]
    bodies = [client.share(question, cohort) for client, cohort in zip(trial.clients, cohorts, strict=True)]
    statuses: list[int] = []

    def send(number: int) -> None:
        answer = trial.clients[number].put_share(question.round, *bodies[number])
        statuses.append(answer.status_code)

    beside(*[partial(send, number) for number in (0, 1, 2)] * 2)
    assert sorted(statuses) == [200, 200, 200, 201, 201, 201]
    assert Round.objects.get(pk=question.round).state == "complete"
    assert Share.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_the_last_two_rounds_may_end_together(federation: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = federation(chunk_size=6, lists=[variants(12)] * 3, names=("Graz", "Oslo", "Tartu"))
    trial.running()
    trial.answer()
    work()
    trial.answer()
    numbers = list(Round.objects.filter(state="complete").values_list("pk", flat=True))
    assert len(numbers) >= 2
    meet, real = threading.Barrier(len(numbers), timeout=PATIENCE), rounds._conclude

    def together(*arguments: Any) -> None:
        meet.wait()
        real(*arguments)

    monkeypatch.setattr(rounds, "_conclude", together)
    beside(*[partial(rounds.advance, number) for number in numbers])
    monkeypatch.undo()
    assert trial.study.last_sum_at is not None or Round.objects.exclude(state="aggregated").exists()
    trial.run_on()
    assert trial.study.last_sum_at is not None


def test_sums_do_not_depend_on_who_answered_first(federation: Make) -> None:
    trial = federation()
    trial.running()
    trial.clients.reverse()
    trial.run_on()
    trial.clients.reverse()
    assert_files_as_in_process(trial)
