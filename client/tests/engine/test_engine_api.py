"""Servers that misbehave: what is waited for, and what is an error with a remedy."""

from __future__ import annotations

import gzip
import json
import re
import threading
from pathlib import Path

import pytest
from client_scripted import FINGERPRINT, Scripted

from tests.patience import PATIENCE, until
from unpooled.protocol import codec
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Questions
from unpooled.protocol.problems import Problem
from unpooled_client.network.answers import Conflict, Over, Refused, ResultFile, TokenRefused
from unpooled_client.network.api import LONG_POLL, Api, Stopped
from unpooled_client.network.connection import Unanswered, Unusable


@pytest.fixture
def server(scripted: Scripted) -> Scripted:
    return scripted


def error(code: str, remedy: str = "") -> dict[str, object]:
    return {"error": {"code": code, "message": "No.", "remedy": remedy}}


def test_every_request_says_who_it_is(server: Scripted) -> None:
    server.says(200, {"list_wanted": True})
    assert server.api().put_panel_digest(b"\x01" * 32)
    ((method, path, headers, body),) = server.requests
    assert (method, path) == ("PUT", "/api/v1/cohort/panel/digest")
    assert headers["Authorization"] == f"Bearer {'t' * 43}"
    assert headers["Unpooled-Client"] == "ab" * 16
    assert json.loads(body) == {"digest": "01" * 32}


def test_a_share_is_raw_bytes_under_its_nonce(server: Scripted) -> None:
    server.says(201, {})
    server.api().put_share(7, b"\x0f" * 16, bytes(range(64)))
    ((method, path, headers, body),) = server.requests
    assert (method, path, body) == ("PUT", "/api/v1/cohort/shares/7", bytes(range(64)))
    assert headers["Unpooled-Nonce"] == "0f" * 16
    assert headers["Content-Type"] == "application/octet-stream"
    assert "Content-Encoding" not in headers


@pytest.mark.parametrize("status", [0, 408, 425, 429, 500, 502, 503, 504])
def test_trouble_passes(server: Scripted, status: int) -> None:
    server.says(status).says(status).says(200, {"list_wanted": False})
    api = server.api()
    assert api.put_panel_digest(bytes(32)) is False
    assert len({request[3] for request in server.requests}) == 1
    assert len(server.requests) == 3
    assert api.trouble is None


def test_after_trouble_a_poll_asks_for_an_answer_at_once(server: Scripted) -> None:
    server.says(503).says(410, error("study-over"))
    with pytest.raises(Over):
        server.api().questions(20, (3, 5), "running", 7)
    first, second = (request[1] for request in server.requests)
    assert "wait=20" in first
    assert "wait=0" in second
    assert "seen=3%2C5" in first and "state=running&version=7" in first


# What kept a connection alive while the client waited, and what then

OPEN = Questions("open", b"", b"", (), b"")


def asked(server: Scripted) -> list[str]:
    """The seconds for which each request wanted to wait."""
    return [re.findall(r"wait=(\d+)", path)[0] for _, path, *_ in server.requests]


def test_newlines_before_a_late_answer_are_no_part_of_it(server: Scripted) -> None:
    server.says(200, b"\n\n\n" + codec.encode(OPEN))
    assert server.api().questions(LONG_POLL, (), "", 0) == OPEN


def test_newlines_alone_mean_that_the_client_is_told_why_when_it_asks_again(server: Scripted) -> None:
    server.says(200, b"\n\n").says(410, error("study-over"))
    with pytest.raises(Over):
        server.api().questions(LONG_POLL, (), "", 0)
    assert asked(server) == ["300", "300"]


def test_where_nothing_comes_through_before_the_answer_does_a_client_waits_for_less(server: Scripted) -> None:
    """A proxy on the way keeps the bytes until it has all of them, and gives up."""
    server.says(504).says(200, codec.encode(OPEN))
    api = server.api()
    for _ in range(2):
        assert api.questions(LONG_POLL, (), "", 0) == OPEN
    assert asked(server) == ["300", "0", "20"]


def test_a_client_without_a_place_comes_again_when_the_server_says(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.says(200, codec.encode(OPEN), **{"Retry-After": "7"})
    api, paused = server.api(), list[float]()
    monkeypatch.setattr(api._stop, "wait", paused.append)
    api.questions(LONG_POLL, (), "", 0)
    assert len(paused) == 1 and 0.75 * 7 <= paused[0] <= 1.25 * 7


def test_trouble_can_be_seen_and_stopped(server: Scripted) -> None:
    server.says(503)
    api = server.api()
    stopped: list[type[BaseException]] = []

    def ask() -> None:
        try:
            api.study()
        except Stopped as reason:
            stopped.append(type(reason))

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: api.trouble, lambda: "no trouble is seen")
    assert api.trouble is not None
    assert "503" in api.trouble.reason
    api.stop()
    thread.join(PATIENCE)
    assert stopped == [Stopped]


def test_an_impatient_client_does_not_try_again(server: Scripted) -> None:
    server.says(503)
    with pytest.raises(Unanswered, match="503"):
        server.api(patient=False).study()
    assert len(server.requests) == 1


def test_a_server_that_has_never_answered_is_not_waited_for(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unpooled_client.network.api.FIRST_PATIENCE", 0.3)
    for _ in range(20):
        server.says(503)
    with pytest.raises(Unanswered, match=r"has never answered.*503") as caught:
        server.api(known=False).study()
    assert "doctor" in caught.value.remedy and 1 < len(server.requests) < 20


@pytest.mark.parametrize(
    "status, kind",
    [(401, TokenRefused), (409, Conflict), (410, Over), (400, Refused), (413, Refused), (415, Refused)],
)
def test_a_refusal_is_passed_on_with_its_remedy(server: Scripted, status: int, kind: type[Refused]) -> None:
    server.says(status, error("some-code", "Do this."))
    with pytest.raises(kind) as caught:
        server.api().join(bytes(32))
    assert (caught.value.status, caught.value.code, caught.value.remedy) == (status, "some-code", "Do this.")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body", [b"<html>blocked by the proxy</html>", b"", b"[]", b'{"error": "no"}', b'{"error": {"code": 5}}']
)
def test_a_refusal_by_something_else_says_where_to_look(server: Scripted, body: bytes) -> None:
    server.says(403, body)
    with pytest.raises(Refused) as caught:
        server.api().study()
    assert "proxy" in caught.value.remedy


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"{}",
        b'{"study": 5, "plan": null, "roster": null}',
        b'{"study": {}, "plan": null, "roster": null, "version": Infinity}',
        b"\xff",
        b"[" * 100_000,
    ],
    ids=["page", "list", "nothing", "number", "infinite", "bytes", "deep"],
)
def test_an_answer_that_cannot_be_read_is_no_crash(server: Scripted, body: bytes) -> None:
    server.says(200, body)
    with pytest.raises(Unusable, match="cannot be read"):
        server.api().study()
    with pytest.raises(Unusable, match="cannot be read"):
        server.api().questions(0, (), "", 0)


def test_a_moved_server_is_not_followed(server: Scripted) -> None:
    """A token goes to the address of the invitation, and to no other."""
    server.says(302, b"", Location="http://elsewhere.example.org/")
    with pytest.raises(Unusable, match="moved"):
        server.api().study()


def test_words_of_the_server_cannot_steer_a_terminal(server: Scripted) -> None:
    body = error("x")
    body["error"]["message"] = "\x1b[2Jgone\x07"  # type: ignore[index]
    server.says(400, body)
    with pytest.raises(Refused) as caught:
        server.api().study()
    assert caught.value.message == "[2Jgone"


def test_a_client_that_computes_for_long_is_still_heard(server: Scripted) -> None:
    server.says(401, error("revoked-token"))
    with pytest.raises(TokenRefused):
        server.api().keep_heard(every=0.1)
    assert [request[1] for request in server.requests] == ["/api/v1/cohort/study"]


def test_a_result_goes_into_its_file(server: Scripted, tmp_path: Path) -> None:
    content = bytes(range(256)) * 4096
    server.says(0).says(200, content)
    server.api().result(ResultFile("study.assoc", len(content), ""), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == content


@pytest.mark.parametrize("headers", [{}, {"Content-Length": str(1 << 50)}], ids=["sent", "announced"])
@pytest.mark.parametrize("status", [200, 400, 503])
def test_an_answer_is_not_read_beyond_what_it_may_have(
    server: Scripted, status: int, headers: dict[str, str]
) -> None:
    server.says(status, b" " * (1 << 16) + b"{}", **headers)
    with pytest.raises(Unusable, match="larger than the 65,536 bytes"):
        server.api().join(bytes(32))
    assert len(server.requests) == 1


@pytest.mark.parametrize("extra", [0, 1])
def test_a_result_has_the_bytes_that_were_announced(server: Scripted, extra: int, tmp_path: Path) -> None:
    """Sent in chunks, without a word of how much there is."""
    content = b"400\r\n" + bytes(1024) + b"\r\n0\r\n\r\n"
    server.says(200, content, **{"Transfer-Encoding": "chunked", "Content-Length": ""})
    part, file = tmp_path / "part", ResultFile("study.assoc", 1024 - extra, "")
    if extra:
        with pytest.raises(Unusable, match="larger than the 1,023 bytes"):
            server.api().result(file, part)
    else:
        server.api().result(file, part)
    assert part.stat().st_size <= 1024


def test_an_answer_that_would_swell_is_not_unpacked(server: Scripted, tmp_path: Path) -> None:
    server.says(200, gzip.compress(bytes(1 << 24)), **{"Content-Encoding": "gzip"})
    with pytest.raises(Unusable, match="compressed"):
        server.api().panel(tmp_path / "panel")


def test_problems_are_a_code_and_a_name(server: Scripted) -> None:
    server.says(200, {})
    server.api().report_problem(Problem.BOUND, "genotypes")
    assert json.loads(server.requests[0][3]) == {"code": "bound", "name": "genotypes"}


def test_plain_http_is_for_this_computer_only() -> None:
    far = Invitation("http://studies.example.org", "s1", "t" * 43, FINGERPRINT)
    with pytest.raises(Unusable, match="https"):
        Api(far, "ab" * 16)
    Api(far, "ab" * 16, allow_http=True).close()
    for here in ("http://localhost:1", "http://127.0.0.2", "http://[::1]:80"):
        Api(Invitation(here, "s1", "t" * 43, FINGERPRINT), "ab" * 16).close()


def test_a_file_of_certificates_that_is_none_is_named(tmp_path: Path) -> None:
    far = Invitation("https://studies.example.org", "s1", "t" * 43, FINGERPRINT)
    (tmp_path / "no.pem").write_text("nothing")
    with pytest.raises(Unusable, match=r"no\.pem"):
        Api(far, "ab" * 16, ca_bundle=tmp_path / "no.pem")
