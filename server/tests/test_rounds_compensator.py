"""Rounds and the compensator: what it is sent, and what happens where it is away or another."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from federation_fixtures import Federation, work
from round_fixtures import Make

from unpooled.protocol import codec, messages
from unpooled.protocol.messages import ReleaseRequest
from unpooled_server import compensator_client


def test_the_compensator_gets_boxes_and_names_but_nothing_of_a_share(
    federation: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    real = httpx.Client.stream

    def recording(self: httpx.Client, method: str, url: Any, **content: Any) -> Any:
        if str(url).startswith("/v1/") and method != "DELETE":
            sent.append(content["content"])
        return real(self, method, url, **content)

    monkeypatch.setattr(httpx.Client, "stream", recording)
    trial = federation()
    trial.running()
    shares = []
    for client in trial.clients:
        asked = client.questions()
        for question in asked.items:
            data, nonce = client.share(question, trial.cohort(client, asked.panel_digest))
            shares.append(data)
            client.put_share(question.round, data, nonce)
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


def test_the_caller_secret_must_be_the_compensators(answered: Federation, platform: Any) -> None:
    platform.UNPOOLED_COMPENSATOR_SECRET = "x" * 43
    work()
    study = answered.study
    assert (study.state, study.pause_kind) == ("paused", "compensator")
    assert "secret" in study.reason


def answering(status: int, content: bytes = b"", **headers: str) -> compensator_client.Compensator:
    """Return a client of a compensator that gives this answer, whatever it is asked."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))

    http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://x")
    return compensator_client.Compensator(http)


@pytest.mark.parametrize(
    "content",
    [b"[1, 2]", b"{}", b'{"key": 1, "protocol": 1}', b'{"key": "zz", "protocol": 1}', b"\xff", b"[" * 60_000],
)
def test_something_else_at_the_compensators_address_is_away(platform: Any, content: bytes) -> None:
    with pytest.raises(compensator_client.CompensatorAway):
        answering(200, content).key()


def refusal(message: str) -> bytes:
    return json.dumps({"error": {"code": "unknown_key", "message": message}}).encode()


def test_a_key_that_the_operator_does_not_know_is_no_fault_of_the_secret(platform: Any) -> None:
    peer = answering(403, refusal("The operator does not know the key of Oslo."))
    with pytest.raises(compensator_client.CompensatorAway, match="does not know the key of Oslo"):
        peer.key()


def test_a_compensator_that_does_not_know_an_address_yet_is_waited_for(platform: Any) -> None:
    content = b'{"error": {"code": "not_found", "message": "No such address.", "remedy": ""}}'
    with pytest.raises(compensator_client.CompensatorAway, match="of an older release"):
        answering(404, content).forget("1", lambda sent, received: None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            refusal("No\x1b[2J\ud800!\n"),
            "No[2J!",
        ),  # no signs for a terminal, and nothing that no database holds
        (refusal("x" * 5000), "x" * 300),
        (b"[" * 60_000, "status 409"),
        (b"no JSON", "status 409"),
    ],
)
def test_a_refusal_is_told_as_text(platform: Any, content: bytes, said: str) -> None:
    with pytest.raises(compensator_client.CompensatorRefused) as caught:
        answering(409, content).forget("1", lambda sent, received: None)
    assert str(caught.value) == f"the compensator refuses: {said}"


@pytest.mark.parametrize("status", [301, 302, 308])
def test_an_address_that_moved_is_no_answer(platform: Any, status: int) -> None:
    with pytest.raises(compensator_client.CompensatorAway):
        answering(status, Location="https://elsewhere.example/").forget("1", lambda sent, received: None)
