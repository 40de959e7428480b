"""Rounds at which several work at once, or in another order."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from cohort_client import RAW
from federation_fixtures import Federation, variants, work
from round_fixtures import Make, assert_files_as_in_process, first_round, to_the_end

from tests.patience import PATIENCE
from unpooled_server.models import Round, Share
from unpooled_server.services import rounds

pytestmark = pytest.mark.services


@pytest.mark.django_db(transaction=True)
def test_two_workers_on_one_round_have_one_winner(trial: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import connection

    meet, errors = threading.Barrier(2, timeout=PATIENCE), []
    real = rounds._conclude

    def together(*arguments: Any) -> None:
        meet.wait()
        real(*arguments)

    monkeypatch.setattr(rounds, "_conclude", together)
    number = first_round(trial).pk

    def advance() -> None:
        try:
            rounds.advance(number)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=advance) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    following = Round.objects.filter(study=trial.study_id).exclude(pk=number)
    assert len(following) == len(set(following.values_list("asked__message", flat=True))) == 3
    monkeypatch.undo()
    trial.answer()
    to_the_end(trial)


@pytest.mark.django_db(transaction=True)
def test_shares_that_arrive_together_complete_the_round(federation: Make) -> None:
    from django.db import connection

    trial = federation()
    trial.running()
    question = trial.clients[0].questions().items[0]
    cohorts = [trial.cohort(client, client.questions().panel_digest) for client in trial.clients]
    bodies = [client.share(question, cohort) for client, cohort in zip(trial.clients, cohorts, strict=True)]
    statuses, meet = [], threading.Barrier(6, timeout=PATIENCE)

    def send(number: int) -> None:
        data, nonce = bodies[number % 3]
        meet.wait()
        answer = trial.clients[number % 3].call(
            "PUT", f"shares/{question.round}", content=data, headers={**RAW, "Unpooled-Nonce": nonce}
        )
        statuses.append(answer.status_code)
        connection.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 200, 200, 201, 201, 201]
    assert Round.objects.get(pk=question.round).state == "complete"
    assert Share.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_the_last_two_rounds_may_end_together(federation: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import connection

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

    def advance(number: int) -> None:
        rounds.advance(number)
        connection.close()

    threads = [threading.Thread(target=advance, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    assert trial.study.last_sum_at is not None or Round.objects.exclude(state="aggregated").exists()
    for _ in range(4):
        trial.answer()
        work()
    assert trial.study.state == "done"
    assert trial.study.last_sum_at is not None


def test_sums_do_not_depend_on_who_answered_first(federation: Make) -> None:
    trial = federation()
    trial.running()
    trial.clients.reverse()
    for _ in range(6):
        trial.answer()
        work()
    assert trial.study.state == "done"
    trial.clients.reverse()
    assert_files_as_in_process(trial)
