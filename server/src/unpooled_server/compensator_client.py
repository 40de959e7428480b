"""The server's one seam to the compensator: carries sealed boxes, asks for sums of masks and for codes.

Nothing in an answer is trusted: it is read as it travels, never decompressed, only up to the length that
follows from the question, and not for ever. Whether a sum of masks is true shows in the round's check.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from typing import Any

import httpx
from django.conf import settings

from unpooled.errors import ProtocolError, UnpooledError
from unpooled.protocol import SEALING_KEY_BYTES, VERSION, codec, masking, messages
from unpooled.protocol.codes import TAG_BYTES, part_bytes, patience
from unpooled.protocol.messages import CodeRequest, Enrolment, OpeningRequest, ReleaseRequest, Witnesses
from unpooled_server import traces

CONNECT, READ = 5.0, 60.0  # seconds until it is reached, and until its answer begins
# Seconds for an answer, besides those for its bytes at the least rate: one that trickles holds up a worker.
PATIENCE = 60
LEAST_RATE = 1 << 16  # bytes a second
# Bytes of an answer in words. What answers may be anything, so it is not read to whatever end it has.
MOST_TEXT = 1 << 16
Meter = Callable[[int, int], None]  # bytes sent to the compensator, bytes received from it


class CompensatorAway(UnpooledError):
    """It does not answer, or answers that it cannot now: asking again later is right."""


class CompensatorRefused(UnpooledError):
    """It answers, and says no: asking again would not help."""


class ComparisonLost(CompensatorAway):
    """It has forgotten how far a comparison was: the same messages again, from the first on, are right."""


def _other_version(spoken: object) -> str:
    older = "compensator" if isinstance(spoken, int) and spoken < VERSION else "server"
    return f"the compensator speaks protocol {spoken!s:.9}, and this server {VERSION}: upgrade the {older}"


class Compensator:
    """A compensator at an address, called with the caller's secret."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def key(self) -> bytes:
        """Return its public key, which identifies it."""
        content = self._send("GET", "/health", b"", None)
        try:
            values = _json(content)
            key, version = bytes.fromhex(values["key"]), values["protocol"]
        except (ValueError, KeyError, TypeError) as error:
            raise CompensatorAway("what answers at the compensator's address is not a compensator") from error
        if version != VERSION or len(key) != SEALING_KEY_BYTES:
            raise CompensatorRefused(_other_version(version))
        return key

    def enrol(self, enrolment: Enrolment, meter: Meter) -> Witnesses:
        """Hand over all boxes of a study; back comes each cohort's witness. The same set again is fine."""
        path, body = f"/v1/studies/{enrolment.study}/boxes", codec.encode(enrolment)
        content = self._send("PUT", path, body, meter, most=len(body))  # a box is longer than a witness
        try:
            found: Witnesses = messages.decode(content, Witnesses)
        except ProtocolError as error:
            raise CompensatorAway(f"the compensator answers an enrolment wrongly: {error}") from error
        if [name for name, _ in found.sealed] != [name for name, _ in enrolment.roster.members]:
            raise CompensatorAway("the compensator answers an enrolment with other cohorts")
        return found

    def release(self, request: ReleaseRequest, meter: Meter) -> bytes:
        """The sum of the masks of a round, as raw words. The same request again gets the same answer."""
        size = request.words * masking.scheme(request.scheme).word_bytes
        return self._vector(f"/v1/studies/{request.study}/releases", codec.encode(request), size, meter)

    def open(self, request: OpeningRequest, openings: bytes, size: int, meter: Meter) -> bytes:
        """Begin to compare a round: the first openings; back come `size` bytes. The same again is fine."""
        content = codec.encode(request)
        body = len(content).to_bytes(4, "little") + content + openings
        return self._vector(f"/v1/studies/{request.study}/comparisons", body, size, meter)

    def turn(self, request: OpeningRequest, number: int, openings: bytes, size: int, meter: Meter) -> bytes:
        """Continue with turn `number`, from 2. ComparisonLost where it has to begin again."""
        path = f"/v1/studies/{request.study}/comparisons/{request.round}/turns/{number}"
        return self._vector(path, openings, size, meter)

    def _vector(self, path: str, body: bytes, size: int, meter: Meter, seconds: float = READ) -> bytes:
        """An answer of exactly so many bytes, which begins within these seconds."""
        content = self._send("POST", path, body, meter, most=size, seconds=seconds)
        if len(content) != size:
            raise CompensatorAway(f"the compensator answers with {len(content)} bytes; want {size}")
        return content

    def codes(self, request: CodeRequest, meter: Meter) -> bytes:
        """Return the points times both keys, with proof and tag. The same request gets the same answer."""
        path, size = f"/v1/studies/{request.study}/codes", part_bytes(len(request.points)) + TAG_BYTES
        return self._vector(path, codec.encode(request), size, meter, patience(len(request.points)))

    def forget(self, study: str, meter: Meter) -> None:
        """Have a study's seeds deleted."""
        self._send("DELETE", f"/v1/studies/{study}", b"", meter)

    def _send(
        self,
        method: str,
        path: str,
        body: bytes,
        meter: Meter | None,
        most: int = MOST_TEXT,
        seconds: float = READ,
    ) -> bytes:
        """The body of an answer in the affirmative, of `most` bytes."""
        headers = {"Content-Type": "application/octet-stream", "Accept-Encoding": "identity"}
        try:
            timeout = httpx.Timeout(seconds, connect=CONNECT)
            with (
                traces.timed(f"{method} compensator", "CLIENT"),
                self.http.stream(method, path, content=body, headers=headers, timeout=timeout) as answer,
            ):
                content = _content(answer, most if answer.is_success else MOST_TEXT)
        except httpx.HTTPError as error:
            raise CompensatorAway(f"the compensator does not answer ({type(error).__name__})") from error
        if meter:
            meter(_request_bytes(answer.request, len(body)), _answer_bytes(answer, len(content)))
        _check_status(answer, content)
        return content


def _content(answer: httpx.Response, most: int) -> bytes:
    """The body as it travels; CompensatorAway if it is longer, encoded, or takes too long."""
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise CompensatorAway("the compensator's answer is encoded, which none may be")
    until = time.monotonic() + PATIENCE + most / LEAST_RATE
    content = bytearray()
    for part in answer.iter_raw():
        content += part
        if len(content) > most:
            raise CompensatorAway(f"the compensator answers with more than {most} bytes")
        if time.monotonic() > until:
            raise CompensatorAway("the compensator answers too slowly")
    return bytes(content)


def _check_status(answer: httpx.Response, content: bytes) -> None:
    if answer.status_code == 401:
        raise CompensatorAway("the compensator does not accept the server's secret; set it again on both")
    if answer.status_code == 403:  # its operator can admit the cohorts' keys at any time
        raise CompensatorAway(f"the compensator refuses: {_text(answer, content)}")
    if answer.status_code >= 500 or answer.is_redirect or answer.status_code in (408, 425, 429):
        raise CompensatorAway(f"the compensator answers {answer.status_code}")
    if _code(answer, content) == "begin_again":
        raise ComparisonLost("the compensator has lost a comparison")
    if _code(answer, content) == "not_found":  # an address that it does not know yet
        raise CompensatorAway("the compensator is of an older release, which cannot do this: upgrade it")
    if not answer.is_success:
        raise CompensatorRefused(f"the compensator refuses: {_text(answer, content)}")


def _request_bytes(request: httpx.Request, body: int) -> int:
    line = len(request.method) + len(request.url.raw_path) + 12
    return line + sum(len(name) + len(value) + 4 for name, value in request.headers.raw) + 2 + body


def _answer_bytes(answer: httpx.Response, body: int) -> int:
    head = 17 + sum(len(name) + len(value) + 4 for name, value in answer.headers.raw) + 2
    return head + body


def _code(answer: httpx.Response, content: bytes) -> str:
    """Return the code of a refusal; empty for any other answer."""
    try:
        return "" if answer.is_success else str(_json(content)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def _text(answer: httpx.Response, content: bytes) -> str:
    try:
        text = str(_json(content)["error"]["message"])[:300]
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"
    return "".join(c for c in text if c.isprintable())  # it is stored, and shown to people


def _json(content: bytes) -> Any:
    """ValueError for what is no JSON, brackets without end included."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("too deep") from error


@functools.cache
def _http(url: str, secret: str) -> httpx.Client:
    # No proxy from the environment: the compensator's address is the operator's own setting.
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {secret}"}, trust_env=False)


def compensator() -> Compensator:
    """The compensator that this server is set up with."""
    if not settings.UNPOOLED_COMPENSATOR_URL:
        raise CompensatorAway("no compensator is set up: set UNPOOLED_COMPENSATOR_URL and its secret")
    return Compensator(_http(settings.UNPOOLED_COMPENSATOR_URL, settings.UNPOOLED_COMPENSATOR_SECRET))
