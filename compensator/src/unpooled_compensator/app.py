"""HTTP: requests into calls of the service, refusals into JSON. No outgoing request. Routes:

    GET    /live, /ready                    200; /ready 503 without state or room
    GET    /metrics                         Prometheus' format, for whoever has the operator's own secret
    GET    /health                          status, key and fingerprint; HTML for a browser; also at /
    PUT    /v1/studies/<id>/boxes           codec Enrolment       201 new, 200 the same again; codec Witnesses
    POST   /v1/studies/<id>/releases        codec ReleaseRequest  200 and the sum of masks as raw words
    POST   /v1/studies/<id>/codes           codec CodeRequest     200 and as many points, with a tag
    POST   /v1/studies/<id>/comparisons     codec OpeningRequest  200 and openings, as raw bytes
                                            behind its length in 4 bytes, before the first openings
    POST   /v1/studies/<id>/comparisons/<round>/turns/<number>    likewise, from turn 2; the body is openings
    DELETE /v1/studies/<id>                 204

Bodies are read only after the caller is known and the announced length is within bounds; openings only if it
is the length that follows from the request. Whatever touches the disk or computes runs in a thread.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unpooled.errors import ProtocolError, UnpooledError
from unpooled.protocol import VERSION, codec, masking, messages
from unpooled.protocol.messages import CodeRequest, Enrolment, OpeningRequest, ReleaseRequest
from unpooled.protocol.sealing import fingerprint
from unpooled_compensator.bodies import Body
from unpooled_compensator.figures import CONTENT_TYPE, Figures
from unpooled_compensator.service import BLOCK_WORDS, Compensator, Refused
from unpooled_compensator.store import Replaced

# Bytes: a thousand cohorts with the longest names, or the points of the longest column, twice.
MAX_BODY = 5 * 2**20

BINARY = "application/octet-stream"

STATUS = {
    "invalid_message": 400,
    "too_few_cohorts": 400,
    "wrong_boxes": 400,
    "invalid_box": 400,
    "invalid_signature": 400,
    "wrong_study": 400,
    "incomplete_body": 400,
    "unauthenticated": 401,
    "unknown_key": 403,
    "not_found": 404,
    "unknown_study": 404,
    "method_not_allowed": 405,
    "slow_body": 408,
    "other_boxes": 409,
    "other_request": 409,
    "other_cohorts": 409,
    "other_openings": 409,
    "other_turn": 409,
    "begin_again": 409,
    "study_over": 410,
    "wrong_length": 400,
    "length_required": 411,
    "body_too_large": 413,
    "unsupported_encoding": 415,
    "unsupported_type": 415,
    "internal": 500,
    "storage": 503,
}

log = logging.getLogger("unpooled_compensator")

Kind = TypeVar("Kind", CodeRequest, Enrolment, OpeningRequest, ReleaseRequest)


class _Number(IntegerConvertor):
    """A number in an address: it is read before the caller is known, and Python refuses very long ones."""

    regex = "[0-9]{1,18}"


register_url_convertor("nth", _Number())


def create_app(compensator: Compensator, caller_hash: bytes, metrics_hash: bytes = b"") -> ASGIApp:
    """The service over HTTP, for the one caller whose secret has this SHA-256.

    Who reads its figures shows another secret; without one nobody does.
    """
    figures = Figures(compensator)
    routes = _Routes(compensator, caller_hash, figures, metrics_hash)
    app = Starlette(
        routes=[
            Route("/", routes.health, methods=["GET"]),
            Route("/health", routes.health, methods=["GET"]),
            Route("/live", routes.live, methods=["GET"]),
            Route("/ready", routes.ready, methods=["GET"]),
            Route("/metrics", routes.metrics, methods=["GET"]),
            Route("/v1/studies/{study}/boxes", routes.of_message(routes.enrol), methods=["PUT"]),
            Route("/v1/studies/{study}/releases", routes.of_message(routes.release), methods=["POST"]),
            Route("/v1/studies/{study}/codes", routes.of_message(routes.codes), methods=["POST"]),
            Route("/v1/studies/{study}/comparisons", routes.open, methods=["POST"]),
            Route(
                "/v1/studies/{study}/comparisons/{round:nth}/turns/{number:nth}",
                routes.turn,
                methods=["POST"],
            ),
            Route("/v1/studies/{study}", routes.forget, methods=["DELETE"]),
        ],
        exception_handlers={
            Refused: _refused,
            ProtocolError: _invalid,
            Replaced: _replaced,
            sqlite3.Error: _storage,
            OSError: _storage,
            # The operator's list of known keys.
            UnpooledError: _storage,
            HTTPException: _http,
            ClientDisconnect: _incomplete,
            Exception: _internal,
        },
    )
    app.router.redirect_slashes = False
    return _AccessLog(app, figures)


class _Routes:
    def __init__(
        self, compensator: Compensator, caller_hash: bytes, figures: Figures, metrics_hash: bytes
    ) -> None:
        self._compensator, self._caller_hash = compensator, caller_hash
        self._figures, self._metrics_hash = figures, metrics_hash

    async def live(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    async def ready(self, request: Request) -> Response:
        await run_in_threadpool(self._compensator.check_health)
        await run_in_threadpool(self._compensator.check_room)
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    async def metrics(self, request: Request) -> Response:
        if not _shows(request, self._metrics_hash):
            raise Refused(
                "unauthenticated",
                "The secret for figures is missing or wrong.",
                "Send the one in the file of `--metrics-secret-file`.",
            )
        content = await run_in_threadpool(self._figures.text)
        return Response(content, media_type=CONTENT_TYPE, headers=_NO_STORE)

    async def health(self, request: Request) -> Response:
        await run_in_threadpool(self._compensator.check_health)
        key = self._compensator.public_key
        if "text/html" in request.headers.get("accept", ""):
            return _page(key)
        return JSONResponse(
            {"status": "ok", "protocol": VERSION, "key": key.hex(), "fingerprint": fingerprint(key)},
            headers=_NO_STORE,
        )

    def of_message(
        self, answer: Callable[[str, bytes], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Make the answer to a study's short message, which computes, into an endpoint."""

        async def endpoint(request: Request) -> Response:
            body = self._body(request)
            if body.length > MAX_BODY:
                raise _too_large(body.length)
            message = await body.take(body.length)
            return await run_in_threadpool(answer, request.path_params["study"], message)

        return endpoint

    def enrol(self, study: str, body: bytes) -> Response:
        is_new, witnesses = self._compensator.enrol(_message(study, body, Enrolment))
        content, status = codec.encode(witnesses), 201 if is_new else 200
        return Response(content, status, media_type=BINARY, headers=_NO_STORE)

    def release(self, study: str, body: bytes) -> Response:
        request = _message(study, body, ReleaseRequest)
        sum_of_masks = self._compensator.release(request)
        if request.words <= BLOCK_WORDS:  # at once: each piece of a stream is fetched from another thread
            return Response(b"".join(sum_of_masks), media_type=BINARY, headers=_NO_STORE)
        size = request.words * masking.scheme(request.scheme).word_bytes
        headers = {**_NO_STORE, "content-length": str(size)}
        return StreamingResponse(sum_of_masks, media_type=BINARY, headers=headers)

    def codes(self, study: str, body: bytes) -> Response:
        points = self._compensator.codes(_message(study, body, CodeRequest))
        return Response(points, media_type=BINARY, headers=_NO_STORE)

    async def open(self, request: Request) -> Response:
        body = self._body(request)
        size = int.from_bytes(await body.take(_PREFIX), "little")
        if size > MAX_BODY:
            raise _too_large(size)
        asked = _message(request.path_params["study"], await body.take(size), OpeningRequest)
        openings = self._compensator.lengths(asked).server[0]
        _require_length(body.length, _PREFIX + size + openings)
        return await _answered(self._compensator.open, asked, await body.take(openings))

    async def turn(self, request: Request) -> Response:
        body, at = self._body(request), request.path_params
        place = at["study"], at["round"], at["number"]
        openings = await run_in_threadpool(self._compensator.turn_bytes, *place)
        _require_length(body.length, openings)
        return await _answered(self._compensator.turn, *place, await body.take(openings))

    async def forget(self, request: Request) -> Response:
        self._check_caller(request)
        await run_in_threadpool(self._compensator.forget, request.path_params["study"])
        return Response(status_code=204)

    def _check_caller(self, request: Request) -> None:
        if not _shows(request, self._caller_hash):
            raise Refused(
                "unauthenticated",
                "The caller's secret is missing or wrong.",
                "Send `Authorization: Bearer <caller secret>`; the operator can make a new one.",
            )

    def _body(self, request: Request) -> Body:
        """The body of a request whose caller is known, not read yet."""
        self._check_caller(request)
        return Body(request, _announced_length(request))


def _shows(request: Request, secret_hash: bytes) -> bool:
    """Tell whether a request shows the secret with this SHA-256."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    # A digest of 256 random bits needs no salt; comparing digests in constant time tells nothing of them.
    offered = hashlib.sha256(secret.strip().encode()).digest()
    return scheme.lower() == "bearer" and hmac.compare_digest(offered, secret_hash)


_PREFIX = 4  # bytes that hold the length of a request before its openings


def _announced_length(request: Request) -> int:
    headers = request.headers
    if headers.get("content-encoding", "identity") != "identity":
        raise Refused("unsupported_encoding", "Bodies are not compressed here.", "Send the plain bytes.")
    if headers.get("content-type") != BINARY:
        raise Refused("unsupported_type", f"Want a body of type {BINARY}.", "Set Content-Type.")
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise Refused("length_required", "The body's length is not announced.", "Set Content-Length.")
    return int(length)


def _too_large(size: int) -> Refused:
    return Refused(
        "body_too_large", f"Got a message of {size} bytes; want {MAX_BODY} at most.", "Shorten the names."
    )


def _require_length(size: int, want: int) -> None:
    if size != want:
        raise Refused(
            "wrong_length", f"Got a body of {size} bytes; want {want}.", "Send all openings of this turn."
        )


async def _answered(call: Callable[..., bytes], *arguments: object) -> Response:
    content = await run_in_threadpool(call, *arguments)
    return Response(content, media_type=BINARY, headers=_NO_STORE)


def _message(study: str, body: bytes, kind: type[Kind]) -> Kind:
    message: Kind = messages.decode(body, kind)
    if message.study != study:
        raise Refused(
            "wrong_study", "The message is about another study than the address.", "Correct the address."
        )
    return message


_NO_STORE = {"cache-control": "no-store"}


def _problem(code: str, message: str, remedy: str, headers: dict[str, str] | None = None) -> Response:
    body = {"error": {"code": code, "message": message, "remedy": remedy}}
    return JSONResponse(body, STATUS[code], {**_NO_STORE, **(headers or {})})


async def _refused(request: Request, error: Exception) -> Response:
    refused = cast(Refused, error)  # by the table of handlers
    headers = {"www-authenticate": "Bearer"} if refused.code == "unauthenticated" else {}
    return _problem(refused.code, refused.message, refused.remedy, headers)


async def _invalid(request: Request, error: Exception) -> Response:
    return _problem("invalid_message", f"Not a valid message: {error}.", "Compare the protocol's version.")


async def _replaced(request: Request, error: Exception) -> Response:
    text = "This study has enrolled other boxes meanwhile."
    return _problem("other_boxes", text, "Ask the cohorts anew, with these.")


async def _storage(request: Request, error: Exception) -> Response:
    log.error("state directory: %s", error)
    return _problem(
        "storage",
        "The compensator cannot read or write its state.",
        "Its operator should look at its log and disk; then send the same request again.",
    )


async def _http(request: Request, error: Exception) -> Response:
    if getattr(error, "status_code", 404) == 405:
        headers = getattr(error, "headers", None)
        return _problem("method_not_allowed", "Not a method of this address.", "See Allow.", headers)
    return _problem("not_found", "No such address.", "See the README.")


async def _incomplete(request: Request, error: Exception) -> Response:
    return _problem("incomplete_body", "The body ended early.", "Send the request again.")


async def _internal(request: Request, error: Exception) -> Response:
    return _problem("internal", "The compensator failed.", "Its operator should look at its log.")


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Compensator</title>
<style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }}
code {{ font-size: 1.1em; overflow-wrap: anywhere }}</style>
<main>
<h1>Compensator: running</h1>
<p>This service adds masks that it cannot interpret. It sees no data, and it hands out sums only.</p>
<p>Fingerprint of its key. Compare it, by telephone, with the one that your client shows:</p>
<p><code>{fingerprint}</code></p>
<p>Protocol version: {version}</p>
</main>
"""


def _page(key: bytes) -> Response:
    page = _PAGE.format(fingerprint=html.escape(fingerprint(key)), version=VERSION)
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
    return HTMLResponse(page, headers={**_NO_STORE, "content-security-policy": policy})


OF_AN_ANSWER = ("method", "path", "status", "ms")


class _AccessLog:
    """One line for each request: no query, no header, no body, and the path without line breaks."""

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self._app, self._figures = app, figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.perf_counter(), 0

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            taken = time.perf_counter() - started
            self._figures.count(status, taken)
            path = ascii(scope.get("path", "")[:200])[1:-1]
            values = scope.get("method", "-"), path, status, round(1000 * taken, 1)
            log.info("answered", extra=dict(zip(OF_AN_ANSWER, values, strict=True)))
