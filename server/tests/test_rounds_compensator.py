"""Rounds and the compensator: what it is sent, and what happens where it is away or another."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from cohort_client import RAW
from federation_fixtures import Federation, work
from platform_fixtures import CompensatorProcess
from round_fixtures import Killed, Make, first_round, raising, to_the_end

from unpooled.protocol import codec, messages
from unpooled.protocol.messages import ReleaseRequest
from unpooled_server import compensator_client
from unpooled_server.services import rounds


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
    monkeypatch.setattr(rounds, "_total", raising(Killed()))
    with pytest.raises(Killed):
        work()
    monkeypatch.undo()
    compensator_process.kill()
    compensator_process.start()
    to_the_end(trial)


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
