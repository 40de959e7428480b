"""Rounds: what happens when something dies or stays away between the shares and their sum."""

from __future__ import annotations

from typing import Any

import pytest
from federation_fixtures import Federation, work
from round_fixtures import Killed, Make, first_round, raising, to_the_end
from test_whole_study import assert_files_as_in_process

from unpooled_server import store
from unpooled_server.models import Round
from unpooled_server.names import RoundState
from unpooled_server.services import branches, guarding, results, rounds, studies


@pytest.mark.services
def test_states_are_passed_in_order_and_advancing_again_changes_nothing(trial: Federation) -> None:
    number = first_round(trial).pk
    assert first_round(trial).state == "complete"
    rounds.advance(number)
    current = first_round(trial)
    assert current.state == "aggregated"
    assert current.opened_at <= current.complete_at <= current.released_at <= current.aggregated_at
    before = list(Round.objects.values_list("pk", "state"))
    rounds.advance(number)
    rounds.advance(10**9)
    assert list(Round.objects.values_list("pk", "state")) == before


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (rounds, "_mark_released"),
        (rounds, "_enrol"),
        (rounds, "_release"),
        (rounds, "_total"),
        (rounds, "_conclude"),
        (branches, "gone_on"),
        (branches, "store_next"),
        (branches, "_open_rounds"),
        (branches, "_resume"),
        (store, "keep_rows"),
    ],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_that_dies_loses_nothing(
    federation: Make, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, when: str
) -> None:
    trial = federation()
    trial.running()
    trial.answer()
    real, died = getattr(module, name), []

    def dying(*arguments: Any) -> Any:
        if died:
            return real(*arguments)
        died.append(True)
        if when == "after":
            real(*arguments)
        raise Killed

    monkeypatch.setattr(module, name, dying)
    for _ in range(10):
        try:
            work()
        except Killed:
            continue
        trial.answer()
    assert died
    assert trial.study.state == "done", trial.study.reason
    assert_files_as_in_process(trial)


@pytest.mark.services
def test_an_error_that_nobody_foresaw_is_tried_again_and_then_ends_the_study(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_total", raising(ZeroDivisionError("oops")))
    for _ in range(guarding.MAX_ATTEMPTS):
        assert trial.study.state == "running"
        rounds.advance(first_round(trial).pk)
    assert trial.study.state == "failed"
    assert "the platform's program failed" in trial.study.reason
    assert "oops" not in trial.study.reason


def test_an_error_that_passes_leaves_no_trace(trial: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_total", raising(ZeroDivisionError("oops")))
    rounds.advance(first_round(trial).pk)
    monkeypatch.undo()
    assert trial.study.attempts == 1
    to_the_end(trial)
    assert trial.study.attempts == 0


def test_an_error_between_rounds_is_not_tried_for_ever(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a branch goes on from those that it began."""
    monkeypatch.setattr(branches, "_resume", raising(ZeroDivisionError("oops")))
    for _ in range(6):
        trial.answer()
        for number in Round.objects.filter(state=RoundState.COMPLETE).values_list("pk", flat=True):
            rounds.advance(number)
    assert branches.due(trial.study)
    for _ in range(guarding.MAX_ATTEMPTS):
        assert trial.study.state == "running"
        studies.advance(trial.study_id)
    assert trial.study.state == "failed"
    assert trial.study.reason.startswith("Go on from the sums: the platform's program failed")


def test_an_error_at_the_end_is_not_tried_for_ever(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_publish", raising(KeyError("oops")))
    for _ in range(6):
        work()
        trial.answer()
    for _ in range(guarding.MAX_ATTEMPTS):
        studies.advance(trial.study_id)
    assert trial.study.state == "failed"
    assert trial.study.reason.startswith("Write the results: the platform's program failed")


@pytest.mark.parametrize("name", ["keep_rows", "write_result", "load_share"])
def test_a_full_disk_pauses_the_study_until_there_is_room(
    trial: Federation, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(store, name, raising(OSError(28, "No space left on device")))
    for _ in range(8):
        work()
        trial.answer()
    assert (trial.study.state, trial.study.pause_kind) == ("paused", "disk")
    assert "No space left on device" in trial.study.reason
    monkeypatch.undo()
    to_the_end(trial)


def test_a_share_for_which_there_is_no_room_is_to_be_sent_later(
    federation: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = federation()
    trial.running()
    client = trial.clients[0]
    asked = client.questions()
    cohort = trial.cohort(client, asked.panel_digest)
    monkeypatch.setattr(store, "keep_share", raising(OSError(28, "No space left on device")))
    answer = client.send(asked.items[0], cohort)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "disk")
    monkeypatch.undo()
    assert client.send(asked.items[0], cohort).status_code == 201


@pytest.mark.services
def test_results_of_workers_that_were_second_are_deleted(trial: Federation) -> None:
    stray = store.results_path(trial.study_id, "stray")
    stray.mkdir(parents=True)
    to_the_end(trial)
    assert not stray.exists()
    assert store.results_path(trial.study_id, trial.study.results_folder).exists()


def test_nothing_is_released_of_a_study_that_was_aborted_just_now(trial: Federation) -> None:
    """Else the compensator would be told to forget first, and get the seeds then."""
    seen_before, current = trial.study, first_round(trial)
    studies.abort(trial.study, "coordinator")
    assert not rounds._mark_released(current, seen_before)
    assert trial.study.enrolled_at is None
    work()
    rounds.advance(current.pk)
    assert first_round(trial).state == "complete"


def test_nothing_is_released_while_the_coordinator_has_paused(trial: Federation) -> None:
    studies.pause_by_request(trial.study, "coordinator")
    work()
    assert first_round(trial).state == "complete"
    studies.resume_by_request(trial.study, "coordinator")
    to_the_end(trial)
