"""Rounds: something dies, stays away, is lost or damaged; several work at once, or in another order."""

from __future__ import annotations

import contextlib
import os
import threading
from functools import partial
from typing import Any

import pytest
from federation_fixtures import Federation, variants, work
from round_fixtures import Killed, Make, beside, first_round, raising, to_the_end
from test_whole_study import assert_files_as_in_process

from tests.patience import PATIENCE
from unpooled.errors import BoundError
from unpooled.methods.presence import Presence
from unpooled_server.models import Round, RowFile, Share
from unpooled_server.names import RoundState
from unpooled_server.services import branches, enrolling, guarding, results, rounds, studies, uploads
from unpooled_server.storage import store

WITH_BRANCHES = {"frequency_flags": True}
"""Has the study wait for branches that it began, and go on from them."""

_LOCKED = 3.0
"""Seconds after which those who have not come are taken to wait for a lock. Others come well within these."""


@pytest.mark.services
def test_states_are_passed_in_order_and_advancing_again_changes_nothing(answered: Federation) -> None:
    number = first_round(answered).pk
    assert first_round(answered).state == "complete"
    rounds.advance(number)
    current = first_round(answered)
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
        (enrolling, "enrol"),
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
    trial = federation(**WITH_BRANCHES)
    trial.ready()
    real, died = getattr(module, name), []

    def dying(*arguments: Any) -> Any:
        if died:
            return real(*arguments)
        died.append(True)
        if when == "after":
            real(*arguments)
        raise Killed

    monkeypatch.setattr(module, name, dying)
    for _ in range(12):
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
    answered: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_total", raising(ZeroDivisionError("oops")))
    for _ in range(guarding.MAX_ATTEMPTS):
        assert answered.study.state == "running"
        rounds.advance(first_round(answered).pk)
    assert answered.study.state == "failed"
    assert "the platform's program failed" in answered.study.reason
    assert "oops" not in answered.study.reason


def test_an_error_that_passes_leaves_no_trace(answered: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_total", raising(ZeroDivisionError("oops")))
    rounds.advance(first_round(answered).pk)
    monkeypatch.undo()
    assert answered.study.attempts == 1
    to_the_end(answered)
    assert answered.study.attempts == 0


def test_an_error_between_rounds_is_not_tried_for_ever(
    federation: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes where a branch goes on from those that it began."""
    answered = federation(**WITH_BRANCHES)
    answered.running()
    monkeypatch.setattr(branches, "_resume", raising(ZeroDivisionError("oops")))
    for _ in range(6):
        answered.answer()
        for number in Round.objects.filter(state=RoundState.COMPLETE).values_list("pk", flat=True):
            rounds.advance(number)
    assert branches.due(answered.study)
    for _ in range(guarding.MAX_ATTEMPTS):
        assert answered.study.state == "running"
        studies.advance(answered.study_id)
    assert answered.study.state == "failed"
    assert answered.study.reason.startswith("Go on from the sums: the platform's program failed")


def test_an_error_at_the_end_is_not_tried_for_ever(
    answered: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_publish", raising(KeyError("oops")))
    for _ in range(6):
        work()
        answered.answer()
    for _ in range(guarding.MAX_ATTEMPTS):
        studies.advance(answered.study_id)
    assert answered.study.state == "failed"
    assert answered.study.reason.startswith("Write the results: the platform's program failed")


@pytest.mark.parametrize("name", ["keep_rows", "write_result", "load_share"])
def test_a_full_disk_pauses_the_study_until_there_is_room(
    answered: Federation, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(store, name, raising(OSError(28, "No space left on device")))
    for _ in range(8):
        work()
        answered.answer()
    assert (answered.study.state, answered.study.pause_kind) == ("paused", "disk")
    assert "No space left on device" in answered.study.reason
    monkeypatch.undo()
    to_the_end(answered)


@pytest.mark.services
def test_results_of_workers_that_were_second_are_deleted(answered: Federation) -> None:
    stray = store.results_path(answered.study_id, "stray")
    stray.mkdir(parents=True)
    (stray / "study.tsv").touch()
    to_the_end(answered)
    assert not stray.exists()
    assert store.results_path(answered.study_id, answered.study.results_folder).exists()


def test_nothing_is_released_of_a_study_that_was_aborted_just_now(answered: Federation) -> None:
    """Else the compensator would be told to forget first, and get the seeds then."""
    seen_before, current = answered.study, first_round(answered)
    studies.abort(answered.study, "coordinator")
    assert not rounds._mark_released(current, seen_before)
    assert answered.study.enrolled_at is None
    work()
    rounds.advance(current.pk)
    assert first_round(answered).state == "complete"


def test_nothing_is_released_while_the_coordinator_has_paused(answered: Federation) -> None:
    studies.pause_by_request(answered.study, "coordinator")
    work()
    assert first_round(answered).state == "complete"
    studies.resume_by_request(answered.study, "coordinator")
    to_the_end(answered)


def conclude_together(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """Let nobody conclude a round before so many workers are about to."""
    meet, real = threading.Barrier(workers, timeout=PATIENCE), rounds._conclude

    def together(*arguments: Any) -> None:
        meet.wait()
        real(*arguments)

    monkeypatch.setattr(rounds, "_conclude", together)


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_two_workers_on_one_round_have_one_winner(
    answered: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    conclude_together(monkeypatch, 2)
    number = first_round(answered).pk
    beside(*[lambda: rounds.advance(number)] * 2)
    following = Round.objects.filter(study=answered.study_id).exclude(pk=number)
    assert len(following) == len(set(following.values_list("asked__message", flat=True))) == 3
    monkeypatch.undo()
    answered.answer()
    to_the_end(answered)


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_shares_that_arrive_together_complete_the_round(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each counts while the others have not committed theirs, unless the lock of the round keeps it."""
    meet, count = threading.Barrier(3), uploads._shares

    def together(*arguments: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            meet.wait(_LOCKED)
        return count(*arguments)

    monkeypatch.setattr(uploads, "_shares", together)
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


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_the_last_two_rounds_may_end_together(federation: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = federation(chunk_size=6, lists=[variants(12)] * 3, names=("Graz", "Oslo", "Tartu"))
    trial.running()
    trial.answer()
    work()
    trial.answer()
    numbers = list(Round.objects.filter(state="complete").values_list("pk", flat=True))
    assert len(numbers) >= 2
    conclude_together(monkeypatch, len(numbers))
    beside(*[partial(rounds.advance, number) for number in numbers])
    monkeypatch.undo()
    assert trial.study.last_sum_at is not None or Round.objects.exclude(state="aggregated").exists()
    trial.run_on()
    assert trial.study.last_sum_at is not None


@pytest.mark.services
def test_sums_do_not_depend_on_who_answered_first(trial: Federation) -> None:
    trial.running()
    trial.clients.reverse()
    trial.run_on()
    trial.clients.reverse()
    assert_files_as_in_process(trial)


def test_a_share_lost_on_disk_before_the_release_is_asked_for_again(answered: Federation) -> None:
    lost = Share.objects.get(cohort__name="Oslo")
    store.share_path(answered.study_id, lost.round_id, lost.cohort_id, lost.nonce).unlink()
    work()
    assert first_round(answered).state == "open"
    assert [len(client.questions().items) for client in answered.clients] == [0, 1, 0]
    assert "asks Oslo again" in answered.study.log.last().what
    answered.answer()
    to_the_end(answered)


@pytest.mark.parametrize("damage", ["gone", "shorter"])
def test_a_share_lost_after_the_release_fails_the_study(
    answered: Federation, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(rounds, "_release", raising(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    assert first_round(answered).state == "released"
    lost = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(answered.study_id, lost.round_id, lost.cohort_id, lost.nonce)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])
    work()
    assert answered.study.state == "failed"
    assert "lost after their release" in answered.study.reason


def test_a_damaged_share_never_becomes_a_number(answered: Federation) -> None:
    share = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(answered.study_id, share.round_id, share.cohort_id, share.nonce)
    path.write_bytes(os.urandom(share.size))
    work()
    assert answered.study.state == "failed"
    assert "masks of this round do not cancel" in answered.study.reason
    assert not RowFile.objects.exists()
    assert answered.clients[0].study()["results"] == []


def test_a_release_with_another_nonce_is_refused_and_fails_the_study(
    answered: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_total", raising(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    share = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(answered.study_id, share.round_id, share.cohort_id, share.nonce)
    Share.objects.filter(pk=share.pk).update(nonce="b" * 32)
    path.rename(path.with_name(path.name.replace(share.nonce, "b" * 32)))
    work()
    assert answered.study.state == "failed"
    assert "compensator refuses" in answered.study.reason


def test_a_question_whose_sum_could_overflow_is_never_asked(answered: Federation) -> None:
    class TooLarge(Presence):
        sends = (type(Presence.sends[0])("present", ("count",), 2**31, "too large", "nothing"),)

    asked = Round.objects.count()
    with pytest.raises(BoundError):
        asks = first_round(answered).branch, TooLarge(0, 5), branches.Content(b"")
        branches._open_rounds(answered.study, [asks])
    assert Round.objects.count() == asked
