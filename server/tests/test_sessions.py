"""Rounds that are compared: the dealing, the turns, whoever dies between two of them, and whoever lies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from cohort_client import RAW, Client
from compared_fixtures import Compared, compared_round, dealer
from federation_fixtures import Federation, work
from platform_fixtures import CompensatorProcess
from round_fixtures import Killed

from unpooled.errors import ProtocolError
from unpooled.protocol import messages, two_party
from unpooled.protocol.messages import OpeningRequest, Question, Shown
from unpooled_server.compensator_client import Compensator
from unpooled_server.models import Round, RowFile, Share, Traffic
from unpooled_server.reads import selectors
from unpooled_server.services import sessions
from unpooled_server.storage import store


def to_the_end(trial: Federation) -> None:
    trial.run_on()
    found = json.loads(trial.clients[0].call("GET", "results/study.parameters.json").content)
    pool = np.concatenate(trial.extra["tables"])
    for feature, values in zip(found["features"], pool.T, strict=True):
        assert (feature["min"], feature["max"]) == (values.min(), values.max())


def settled(trial: Federation, current: Round) -> None:
    """The round that was disturbed has its bits, and the next one is asked."""
    current.refresh_from_db()
    assert current.state == "aggregated", trial.study.reason
    assert compared_round(trial).pk > current.pk


def lengths(current: Round) -> two_party.Lengths:
    return two_party.lengths(current.scheme, current.circuit, current.words)


@pytest.mark.services
def test_a_study_by_bits_ends_with_the_elements_of_the_pool(study_of_tables: Compared) -> None:
    trial = study_of_tables()
    trial.running()
    to_the_end(trial)
    compared = Round.objects.filter(study=trial.study_id).exclude(circuit="")
    assert compared.count() == 8
    for current in compared:
        assert len(current.turn_seconds) == current.turns == len(lengths(current).server)
        assert current.release_seconds == pytest.approx(sum(current.turn_seconds))
    assert not (store.study_folder(trial.study_id) / "shares").exists()
    assert_turns_are_told(trial)


def assert_turns_are_told(trial: Federation) -> None:
    (row,) = selectors.traffic(trial.study)["comparisons"]
    assert (row["rounds"], row["turns"]) == (8, 24)
    assert 0 < row["slowest"] <= row["seconds"]
    parties = selectors.traffic(trial.study)["seconds"]
    assert parties["compensator"]["comparing"] == pytest.approx(row["seconds"], abs=0.01)


@pytest.mark.services
def test_what_passes_in_a_comparison_is_counted(compared: Federation) -> None:
    """Every message in both directions, as it is declared; the headers come on top."""
    query = Traffic.objects.filter(study=compared.study_id, party="compensator", phase="rounds")
    before = query.values("received", "sent", "requests").get()
    current = compared_round(compared)
    compared.answer()
    work()
    after, declared = query.values("received", "sent", "requests").get(), lengths(current)
    requests = after["requests"] - before["requests"]
    assert requests == len(declared.server) == 3
    for way, size in (("sent", sum(declared.server)), ("received", sum(declared.compensator))):
        assert size < after[way] - before[way] < size + 1000 * requests


# What cohorts are shown


def test_the_comparison_is_shown_to_all_but_the_cohort_that_dealt(compared: Federation) -> None:
    """Whoever deals knows what masks the openings. Nothing is shown before the round has been compared."""
    current, who = compared_round(compared), dealer(compared)
    assert current.branch
    place = f"shown/{current.branch.asks_at}"
    compared.answer()
    assert {client.call("GET", place).status_code for client in compared.clients} == {404}
    work()
    settled(compared, current)
    found = {client.name: client.call("GET", place) for client in compared.clients}
    refused = found.pop(who.name)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "own-dealing")
    (shown,) = {answer.content for answer in found.values() if answer.status_code == 200}
    assert len(shown) > len(messages.decode(shown, Shown).dealing) == lengths(current).dealing


# The dealing


def dealt(trial: Federation) -> tuple[Client, Question, bytes]:
    """Whoever deals for the open round, what they are asked, and what they deal."""
    client = dealer(trial)
    (question,) = client.questions().items
    return client, question, client.dealing(question) or b""


def test_who_deals_does_so_before_it_answers(compared: Federation) -> None:
    client, question, dealing = dealt(compared)
    data, nonce = client.share(question, client.cohort(b""))
    refused = client.put_share(question.round, data, nonce)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no-dealing")
    assert client.put_dealing(question.round, dealing).status_code == 201
    assert [item.round for item in client.questions().items] == [question.round]
    assert client.put_share(question.round, data, nonce).status_code == 201
    compared.answer()
    current = compared_round(compared)
    work()
    settled(compared, current)


def test_nobody_else_deals(compared: Federation) -> None:
    client, question, dealing = dealt(compared)
    for other in compared.clients:
        if other is not client:
            refused = other.put_dealing(question.round, dealing)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not-dealer")


def test_a_round_whose_sums_are_read_takes_no_dealing(study_of_tables: Compared) -> None:
    trial = study_of_tables()
    trial.running()
    for client in trial.clients:
        (question,) = client.questions().items
        refused = client.put_dealing(question.round, b"x" * 100)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not-dealer")


@pytest.mark.parametrize(
    ("change", "status"), [(lambda d: d[:-1], 400), (lambda d: d + b"\0", 413), (lambda d: b"", 400)]
)
def test_a_dealing_has_exactly_its_length(
    compared: Federation, change: Callable[[bytes], bytes], status: int
) -> None:
    client, question, dealing = dealt(compared)
    refused = client.put_dealing(question.round, change(dealing))
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, "wrong-length")
    compressed = client.call(
        "PUT", f"dealings/{question.round}", content=dealing, headers={**RAW, "Content-Encoding": "gzip"}
    )
    assert compressed.status_code == 415
    compared.answer()
    current = compared_round(compared)
    work()
    settled(compared, current)


@pytest.mark.services
def test_the_same_dealing_again_is_fine_and_another_never(compared: Federation) -> None:
    client, question, dealing = dealt(compared)
    assert client.dealing(question) == dealing
    for _ in range(2):
        assert client.put_dealing(question.round, dealing).status_code == 201
    refused = client.put_dealing(question.round, os.urandom(len(dealing)))
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "other-dealing")
    compared.answer()
    late = client.put_dealing(question.round, dealing)  # its share is in: no more is wanted
    assert late.status_code == 200
    to_the_end(compared)


@pytest.mark.parametrize("damage", ["gone", "shorter"])
def test_a_dealing_lost_before_the_comparison_is_asked_for_again(compared: Federation, damage: str) -> None:
    client, current = dealer(compared), compared_round(compared)
    name = client.name
    compared.answer()
    path = store.dealing_path(compared.study_id, current.pk)
    path.unlink() if damage == "gone" else path.write_bytes(path.read_bytes()[:-1])
    work()
    current.refresh_from_db()
    assert current.state == "open"
    assert f"asks {name} again" in compared.study.log.last().what
    compared.answer()
    work()
    settled(compared, current)


def test_a_dealing_lost_after_the_first_turn_fails_the_study(
    compared: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = compared_round(compared)
    compared.answer()
    die_at(monkeypatch, turn=2)
    store.dealing_path(compared.study_id, current.pk).unlink()
    work()
    assert compared.study.state == "failed"
    assert "lost after their release" in compared.study.reason


# Who dies between two turns


def die_at(monkeypatch: pytest.MonkeyPatch, turn: int, when: str = "after") -> None:
    """The worker dies right before or after a turn of the next comparison."""
    name = "open" if turn == 1 else "turn"
    real = getattr(Compensator, name)

    def dying(self: Compensator, request: OpeningRequest, *arguments: Any) -> bytes:
        is_now = turn == 1 or arguments[0] == turn
        if is_now and when == "before":
            raise Killed
        answer: bytes = real(self, request, *arguments)
        if is_now:
            raise Killed
        return answer

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Compensator, name, dying)
        work()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_worker_that_dies_at_a_turn_repeats_them_all(
    compared: Federation, monkeypatch: pytest.MonkeyPatch, turn: int, when: str
) -> None:
    sent = recorded(monkeypatch)
    compared.answer()
    die_at(monkeypatch, turn, when)
    current = compared_round(compared)
    assert current.state == "released"
    first = list(sent)
    sent.clear()
    work()
    assert sent[: len(first)] == first  # byte for byte
    settled(compared, current)


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The bodies of what the compensator is sent of comparisons, from now on."""
    sent: list[bytes] = []
    real = httpx.Client.stream

    def recording(self: httpx.Client, method: str, url: Any, **content: Any) -> Any:
        if "/comparisons" in str(url):
            sent.append(content["content"])
        return real(self, method, url, **content)

    monkeypatch.setattr(httpx.Client, "stream", recording)
    return sent


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_compensator_that_dies_after_a_turn_gives_the_same_answers_again(
    compared: Federation, compensator_process: CompensatorProcess, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    """The worker lives: it begins again by itself, or waits until the compensator is back."""
    compared.answer()
    current = compared_round(compared)
    name = "open" if turn == 1 else "turn"
    real, killed = getattr(Compensator, name), []

    def killing(self: Compensator, request: OpeningRequest, *arguments: Any) -> bytes:
        answer: bytes = real(self, request, *arguments)
        if not killed and (turn == 1 or arguments[0] == turn):
            killed.append(answer)
            compensator_process.kill()
            compensator_process.start()
        return answer

    monkeypatch.setattr(Compensator, name, killing)
    work()
    assert killed
    has_begun_again = compared.study.log.filter(what__contains="lost a comparison; it begins again")
    assert has_begun_again.exists() is (turn < 3)
    settled(compared, current)


def test_a_compensator_that_forgets_always_is_away(
    compared: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgets(*_: object) -> bytes:
        raise sessions.ComparisonLost("the compensator has lost a comparison")

    compared.answer()
    current = compared_round(compared)
    with monkeypatch.context() as patch:
        patch.setattr(Compensator, "turn", forgets)
        work()
    assert (compared.study.state, compared.study.pause_kind) == ("paused", "compensator")
    assert "lost a comparison several times" in compared.study.reason
    work()
    settled(compared, current)


# Who lies


def test_the_compensator_gets_openings_and_nothing_of_a_share(
    compared: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = recorded(monkeypatch)
    compared.answer()
    shares = [
        store.share_path(share.study_id, share.round_id, share.cohort_id, share.nonce).read_bytes()
        for share in Share.objects.filter(round=compared_round(compared))
    ]
    dealing = store.dealing_path(compared.study_id, compared_round(compared).pk).read_bytes()
    current = compared_round(compared)
    work()
    size = int.from_bytes(sent[0][:4], "little")
    request = messages.decode(sent[0][4 : 4 + size], OpeningRequest)
    assert (request.circuit, request.words, request.round) == (current.circuit, current.words, current.pk)
    assert [len(sent[0]) - 4 - size, *map(len, sent[1:4])] == list(lengths(current).server)
    passed = b"".join(sent)
    for secret in (*shares, dealing):
        assert not any(secret[at : at + 8] in passed for at in range(0, len(secret), 4))


def changing(monkeypatch: pytest.MonkeyPatch, turn: int, change: Callable[[bytes], bytes]) -> None:
    """The compensator's answer to a turn is another one."""
    name = "open" if turn == 1 else "turn"
    real = getattr(Compensator, name)

    def lying(self: Compensator, request: OpeningRequest, *arguments: Any) -> bytes:
        answer: bytes = real(self, request, *arguments)
        return change(answer) if turn == 1 or arguments[0] == turn else answer

    monkeypatch.setattr(Compensator, name, lying)


def flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at:][1:]


@pytest.mark.parametrize("at", [0, 8, 31])
def test_a_wrong_mask_of_the_check_fails_the_round_before_the_second_turn(
    compared: Federation, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    sent = recorded(monkeypatch)
    compared.answer()
    changing(monkeypatch, 1, flipped(at))
    work()
    assert len(sent) == 1
    assert compared.study.state == "failed"
    assert "masks of this round do not cancel" in compared.study.reason
    assert not RowFile.objects.exists()


@pytest.mark.parametrize(
    ("turn", "reason"),
    [(2, "products that were dealt twice differ"), (3, "rows whose result is known came out wrong")],
)
def test_a_compensator_that_computes_with_noise_is_found(
    compared: Federation, monkeypatch: pytest.MonkeyPatch, turn: int, reason: str
) -> None:
    compared.answer()
    changing(monkeypatch, turn, lambda data: os.urandom(len(data)))
    work()
    assert compared.study.state == "failed"
    assert reason in compared.study.reason


def test_an_answer_without_a_true_tag_leads_no_cohort_on(
    compared: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server cannot know: it has no witness. The cohorts that are shown it stop."""
    current, who = compared_round(compared), dealer(compared)
    compared.answer()
    changing(monkeypatch, 3, flipped(-1))
    work()
    settled(compared, current)
    for client in compared.clients:
        (question,) = client.questions().items
        if client.name != who.name:
            with pytest.raises(ProtocolError, match="not what it is in this cohort's own run"):
                client.asked(question)


@pytest.mark.parametrize("turn", [1, 2, 3])
@pytest.mark.parametrize("change", [lambda a: a[:-1], lambda a: a + b"\0", lambda a: b""])
def test_an_answer_of_another_length_is_no_answer(
    compared: Federation, monkeypatch: pytest.MonkeyPatch, turn: int, change: Callable[[bytes], bytes]
) -> None:
    """It is waited out, as one to a release is."""
    compared.answer()
    current = compared_round(compared)
    real = httpx.Response.iter_raw
    path = "comparisons" if turn == 1 else f"turns/{turn}"

    def lying(self: httpx.Response, *arguments: Any) -> Any:
        parts = list(real(self, *arguments))
        return iter([change(b"".join(parts))] if str(self.request.url).endswith(path) else parts)

    with monkeypatch.context() as patch:
        patch.setattr(httpx.Response, "iter_raw", lying)
        work()
    assert (compared.study.state, compared.study.pause_kind) == ("paused", "compensator")
    work()
    settled(compared, current)
