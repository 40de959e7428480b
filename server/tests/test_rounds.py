"""Rounds: what happens when something dies, lies or stays away between the shares and their sum."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from cohort_client import RAW
from federation_fixtures import Federation, variants, work
from platform_fixtures import CompensatorProcess

from unpooled.algorithms.presence import Presence
from unpooled.protocol import codec, messages
from unpooled.protocol.messages import ReleaseRequest
from unpooled_server import compensator_client, store
from unpooled_server.models import Round, RowFile, Share, Study
from unpooled_server.services import guarding, results, rounds, studies

Make = Callable[..., Federation]


@pytest.fixture
def trial(federation: Make) -> Federation:
    """A study whose first round is complete."""
    made = federation()
    made.running()
    made.answer()
    return made


def first_round(trial: Federation) -> Round:
    return Round.objects.filter(study=trial.study_id).order_by("pk")[0]


def to_the_end(trial: Federation) -> None:
    for _ in range(10):
        work()
        trial.answer()
    assert trial.study.state == "done", trial.study.reason


def test_states_are_passed_in_order(trial: Federation) -> None:
    assert first_round(trial).state == "complete"
    rounds.advance(first_round(trial).pk)
    current = first_round(trial)
    assert current.state == "aggregated"
    assert current.opened_at <= current.complete_at <= current.released_at <= current.aggregated_at


def test_advancing_again_changes_nothing(trial: Federation) -> None:
    number = first_round(trial).pk
    rounds.advance(number)
    before = list(Round.objects.values_list("pk", "state"))
    rounds.advance(number)
    rounds.advance(10**9)
    assert list(Round.objects.values_list("pk", "state")) == before


class Killed(BaseException):
    """The worker dies here."""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (rounds, "_mark_released"),
        (rounds, "_enrol"),
        (rounds, "_release"),
        (rounds, "_total"),
        (rounds, "_conclude"),
        (rounds, "open_rounds"),
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


def assert_files_as_in_process(trial: Federation) -> None:
    from test_whole_study import delivered, in_process

    files = delivered(trial)
    assert {name: files[name] for name in in_process(trial)} == in_process(trial)


def test_while_the_compensator_is_away_the_study_pauses_and_goes_on_by_itself(
    trial: Federation, compensator_process: CompensatorProcess
) -> None:
    compensator_process.kill()
    work()
    study = trial.study
    assert (study.state, study.pause_kind) == ("paused", "compensator")
    assert "does not answer" in study.reason
    assert first_round(trial).state == "released"
    compensator_process.start()
    to_the_end(trial)


def test_a_compensator_that_dies_after_its_answer_gives_the_same_one_again(
    trial: Federation, compensator_process: CompensatorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_total", _raise(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    compensator_process.kill()
    compensator_process.start()
    to_the_end(trial)


def _raise(error: BaseException) -> Callable[..., Any]:
    def raising(*arguments: Any) -> Any:
        raise error

    return raising


def test_a_share_lost_on_disk_before_the_release_is_asked_for_again(trial: Federation) -> None:
    lost = Share.objects.get(cohort__name="Oslo")
    store.share_path(trial.study_id, lost.round_id, lost.cohort_id, lost.nonce).unlink()
    work()
    assert first_round(trial).state == "open"
    assert [len(client.questions().items) for client in trial.clients] == [0, 1, 0]
    assert "asks Oslo again" in trial.study.log.last().what
    trial.answer()
    to_the_end(trial)


@pytest.mark.parametrize("damage", ["gone", "shorter"])
def test_a_share_lost_after_the_release_fails_the_study(
    trial: Federation, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(rounds, "_release", _raise(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    assert first_round(trial).state == "released"
    lost = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(trial.study_id, lost.round_id, lost.cohort_id, lost.nonce)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])
    work()
    assert trial.study.state == "failed"
    assert "lost after their release" in trial.study.reason


def test_a_damaged_share_never_becomes_a_number(trial: Federation) -> None:
    share = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(trial.study_id, share.round_id, share.cohort_id, share.nonce)
    path.write_bytes(os.urandom(share.size))
    work()
    assert trial.study.state == "failed"
    assert "masks of this round do not cancel" in trial.study.reason
    assert not RowFile.objects.exists()
    assert trial.clients[0].study()["results"] == []


def test_cohorts_that_are_asked_different_questions_yield_noise_and_a_failure(federation: Make) -> None:
    trial = federation()
    trial.running()
    asked = Round.objects.get()
    for number, client in enumerate(trial.clients):
        if number == 1:  # a server that changes its mind for one cohort
            other = Round.objects.get()
            other.salt = os.urandom(32)
            other.save()
        for question in client.questions().items:
            client.send(question, trial.cohort(client, client.questions().panel_digest))
    asked.refresh_from_db()
    work()
    assert trial.study.state == "failed"
    assert "masks of this round do not cancel" in trial.study.reason


def test_cohorts_with_different_panels_yield_noise_and_a_failure(federation: Make) -> None:
    """The same step over other variants: a server would read one cohort's where the others' do not vary."""
    trial = federation()
    trial.running()
    panel = trial.clients[0].questions().panel_digest
    cohorts = [trial.cohort(client, panel) for client in trial.clients]
    for number, (client, cohort) in enumerate(zip(trial.clients, cohorts, strict=True)):
        shown = "ab" * 32 if number == 1 else panel.hex()
        Study.objects.filter(pk=trial.study_id).update(panel_digest=shown)
        for question in client.questions().items:
            client.send(question, cohort)
    work()
    assert trial.study.state == "failed"
    assert "masks of this round do not cancel" in trial.study.reason


def test_a_release_with_another_nonce_is_refused_and_fails_the_study(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_total", _raise(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    share = Share.objects.get(cohort__name="Oslo")
    path = store.share_path(trial.study_id, share.round_id, share.cohort_id, share.nonce)
    Share.objects.filter(pk=share.pk).update(nonce="b" * 32)
    path.rename(path.with_name(path.name.replace(share.nonce, "b" * 32)))
    work()
    assert trial.study.state == "failed"
    assert "compensator refuses" in trial.study.reason


def test_an_error_that_nobody_foresaw_is_tried_again_and_then_ends_the_study(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_total", _raise(ZeroDivisionError("oops")))
    for _ in range(guarding.MAX_ATTEMPTS):
        assert trial.study.state == "running"
        rounds.advance(first_round(trial).pk)
    assert trial.study.state == "failed"
    assert "the platform's program failed" in trial.study.reason
    assert "oops" not in trial.study.reason


def test_an_error_that_passes_leaves_no_trace(trial: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_total", _raise(ZeroDivisionError("oops")))
    rounds.advance(first_round(trial).pk)
    monkeypatch.undo()
    assert trial.study.attempts == 1
    to_the_end(trial)
    assert trial.study.attempts == 0


def test_an_error_at_the_end_is_not_tried_for_ever(
    trial: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_publish", _raise(KeyError("oops")))
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
    monkeypatch.setattr(store, name, _raise(OSError(28, "No space left on device")))
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
    monkeypatch.setattr(store, "keep_share", _raise(OSError(28, "No space left on device")))
    answer = client.send(asked.items[0], cohort)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "disk")
    monkeypatch.undo()
    assert client.send(asked.items[0], cohort).status_code == 201


def test_results_of_workers_that_were_second_are_deleted(trial: Federation) -> None:
    stray = store.results_path(trial.study_id, "stray")
    stray.mkdir(parents=True)
    to_the_end(trial)
    assert not stray.exists()
    assert store.results_path(trial.study_id, trial.study.results_folder).exists()


def test_a_step_whose_sum_could_overflow_is_never_asked(trial: Federation) -> None:
    from unpooled.errors import BoundError

    class TooLarge(Presence):
        sends = (type(Presence.sends[0])("present", ("count",), 2**31, "too large"),)

    with pytest.raises(BoundError):
        rounds.open_rounds(trial.study, [TooLarge(0, 5)])


def test_nothing_is_released_of_a_study_that_was_aborted_just_now(trial: Federation) -> None:
    """Else the compensator would be told to forget first, and get the seeds then."""
    seen_before, current = trial.study, first_round(trial)
    studies.abort(trial.study, "coordinator")
    assert not rounds._mark_released(current, seen_before)
    assert trial.study.enrolled_at is None
    assert first_round(trial).state == "complete"


def test_nothing_is_released_while_the_coordinator_has_paused(trial: Federation) -> None:
    studies.pause_by_request(trial.study, "coordinator")
    work()
    assert first_round(trial).state == "complete"
    studies.resume_by_request(trial.study, "coordinator")
    to_the_end(trial)


def test_nothing_is_released_after_an_abort(trial: Federation) -> None:
    studies.abort(trial.study, "coordinator")
    work()
    rounds.advance(first_round(trial).pk)
    assert first_round(trial).state == "complete"


def test_the_compensator_gets_boxes_and_names_but_nothing_of_a_share(
    federation: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    real = httpx.Client.request

    def recording(self: httpx.Client, method: str, url: Any, **content: Any) -> httpx.Response:
        if str(url).startswith("/v1/") and method != "DELETE":
            sent.append(content["content"])
        return real(self, method, url, **content)

    monkeypatch.setattr(httpx.Client, "request", recording)
    trial = federation()
    trial.running()
    shares = []
    for client in trial.clients:
        asked = client.questions()
        for question in asked.items:
            data, nonce = client.share(question, trial.cohort(client, asked.panel_digest))
            shares.append(data)
            client.call(
                "PUT", f"shares/{question.round}", content=data, headers={**RAW, "Unpooled-Nonce": nonce}
            )
    work()
    assert [type(codec.decode(body, messages.RECORDS)).__name__ for body in sent] == [
        "Enrolment",
        "ReleaseRequest",
    ]
    request = messages.decode(sent[1], ReleaseRequest)
    assert len(shares[0]) in (4 * request.words, 8 * request.words)
    assert shares[0] not in b"".join(sent)
    for body in sent:
        for data in shares:
            assert not any(data[at : at + 8] in body for at in range(0, len(data), 4))


@pytest.mark.django_db(transaction=True)
def test_two_workers_on_one_round_have_one_winner(trial: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import connection

    meet, errors = threading.Barrier(2, timeout=20), []
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
    statuses, meet = [], threading.Barrier(6, timeout=20)

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


def test_the_caller_secret_must_be_the_compensators(trial: Federation, platform: Any) -> None:
    platform.UNPOOLED_COMPENSATOR_SECRET = "x" * 43
    work()
    study = trial.study
    assert (study.state, study.pause_kind) == ("paused", "compensator")
    assert "secret" in study.reason


def test_something_else_at_the_compensators_address_is_away(platform: Any) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=[1, 2]))
    peer = compensator_client.Compensator(httpx.Client(transport=transport, base_url="http://x"))
    with pytest.raises(compensator_client.CompensatorAway):
        peer.identity()


def test_a_key_that_the_operator_does_not_know_is_no_fault_of_the_secret(platform: Any) -> None:
    refusal = {"error": {"code": "unknown_key", "message": "The operator does not know the key of Oslo."}}
    transport = httpx.MockTransport(lambda request: httpx.Response(403, json=refusal))
    peer = compensator_client.Compensator(httpx.Client(transport=transport, base_url="http://x"))
    with pytest.raises(compensator_client.CompensatorAway, match="does not know the key of Oslo"):
        peer.identity()


@pytest.mark.parametrize("status", [301, 302, 308])
def test_an_address_that_moved_is_no_answer(platform: Any, status: int) -> None:
    headers = {"Location": "https://elsewhere.example/"}
    transport = httpx.MockTransport(lambda request: httpx.Response(status, headers=headers))
    peer = compensator_client.Compensator(httpx.Client(transport=transport, base_url="http://x"))
    with pytest.raises(compensator_client.CompensatorAway):
        peer.forget("1", lambda sent, received: None)


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
    meet, real = threading.Barrier(len(numbers), timeout=20), rounds._conclude

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
