"""The HTTP around the rules: who may call, which bodies are read, what an answer looks like."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from unpooled.protocol import VERSION, codec
from unpooled.protocol.sealing import SealingKey, fingerprint
from unpooled_compensator import app, bodies, service

from .conftest import HEADERS, Caller, Federation
from .test_enrolment import refusal


def test_the_readme_lists_every_route(caller: Caller) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    listed = {
        (method, re.sub("<.*?>", "*", path))
        for method, path in re.findall(r"^\| `([A-Z]+) (/\S+)` \|", readme, re.MULTILINE)
    }
    routes: list[Route] = caller.client.app._app.routes  # type: ignore[attr-defined]
    there_are = {
        (method, re.sub("{.*?}", "*", route.path))
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert listed == there_are - {("GET", "/")}


def test_the_caller_is_checked_before_anything_else_is_said(caller: Caller) -> None:
    headers = {"content-encoding": "gzip", "content-length": str(10**12)}
    response = caller.client.post("/v1/studies/nothing/releases", content=b"x", headers=headers)
    assert refusal(response) == (401, "unauthenticated")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "kind", [None, "application/json", "application/octet-stream; charset=x", "text/plain"]
)
def test_another_content_type_is_refused(caller: Caller, enrolled: Federation, kind: str | None) -> None:
    headers = {"authorization": HEADERS["authorization"]} | ({"content-type": kind} if kind else {})
    body = codec.encode(enrolled.request())
    response = caller.client.post("/v1/studies/study-1/releases", content=body, headers=headers)
    assert refusal(response) == (415, "unsupported_type")


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "identity, gzip", "br"])
def test_another_content_encoding_is_refused(caller: Caller, enrolled: Federation, encoding: str) -> None:
    body = codec.encode(enrolled.request())
    headers = HEADERS | {"content-encoding": encoding}
    response = caller.client.post("/v1/studies/study-1/releases", content=body, headers=headers)
    assert refusal(response) == (415, "unsupported_encoding")


@pytest.mark.parametrize("length", ["-1", "+1", "1.5", "٣", "0x10"])
def test_a_length_is_a_number(caller: Caller, length: str) -> None:
    headers: Any = HEADERS | {"content-length": length.encode()}
    response = caller.client.post("/v1/studies/study-1/releases", content=b"x", headers=headers)
    assert refusal(response) == (411, "length_required")


def test_the_largest_study_fits_a_body(key: SealingKey) -> None:
    federation = Federation(key.public, names=tuple(f"{k:04}" + "東" * 196 for k in range(20)))
    size = len(codec.encode(federation.enrolment())) / 20 * service.MAX_COHORTS
    assert size < app.MAX_BODY


def test_every_truncation_of_a_message_is_refused(caller: Caller, federation: Federation) -> None:
    whole = codec.encode(federation.enrolment())
    for end in range(0, len(whole), 7):
        assert refusal(caller.put("study-1", whole[:end])) == (400, "invalid_message")
    assert refusal(caller.put("study-1", whole + b"\0")) == (400, "invalid_message")


@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/studies",
        "/v1/studies/a/b/c",
        "/v1/studies/a/masks",
        "/health/",
        f"/v1/studies/a/comparisons/{'1' * 4301}/turns/2",  # more digits than Python reads
        f"/v1/studies/a/comparisons/1/turns/{'1' * 4301}",
    ],
    ids=lambda path: path[:60],
)
def test_there_is_no_other_address(caller: Caller, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE"):
        response = caller.client.request(method, path, headers=HEADERS, follow_redirects=False)
        assert refusal(response) == (404, "not_found")


def test_health_is_json_for_programs(caller: Caller, key: SealingKey) -> None:
    for path in ("/health", "/"):
        response = caller.client.get(path, headers={"accept": "*/*"})
        assert response.json() == {
            "status": "ok",
            "protocol": VERSION,
            "key": key.public.hex(),
            "fingerprint": fingerprint(key.public),
        }


def test_health_is_a_page_for_people_that_loads_nothing(caller: Caller, key: SealingKey) -> None:
    response = caller.client.get("/health", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert response.headers["content-type"].startswith("text/html")
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert fingerprint(key.public) in response.text
    assert '<html lang="en">' in response.text and "<title>" in response.text
    assert not re.search(r"https?:|src=|href=", response.text)


def test_answers_are_not_cached(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.request()
    for response in (
        caller.release(request),
        caller.release(enrolled.request()),
        caller.client.get("/health"),
    ):
        assert response.headers["cache-control"] == "no-store"


def asgi(caller: Caller, receive: Any) -> tuple[int, str]:
    """Status and code of the answer to a request whose body comes from `receive`."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in (HEADERS | {"content-length": "9"}).items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/studies/study-1/releases",
        "query_string": b"",
        "headers": headers,
    }
    with ThreadPoolExecutor(1) as pool:  # in this thread another test may have left a loop that runs
        pool.submit(asyncio.run, caller.client.app(scope, receive, send)).result()  # type: ignore[attr-defined]
    return sent[0]["status"], json.loads(sent[1]["body"])["error"]["code"]


def test_a_body_that_does_not_come_is_given_up(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr(bodies, "SECONDS", 0.05)
    assert asgi(caller, never) == (408, "slow_body")


def test_a_caller_that_goes_away_is_no_error(caller: Caller) -> None:
    async def gone() -> Any:
        return {"type": "http.disconnect"}

    assert asgi(caller, gone) == (400, "incomplete_body")


def test_it_is_ready_while_there_is_room(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert caller.client.get("/live").status_code == caller.client.get("/ready").status_code == 200
    monkeypatch.setattr(service, "LEAST_FREE", 1 << 62)
    assert caller.client.get("/live").status_code == 200
    answer = caller.client.get("/ready")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage")
