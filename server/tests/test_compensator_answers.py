"""A dishonest compensator's answers: too long, compressed, without end. None of it is taken in.

Beside each attack, the same on a caller that reads an answer as HTTP libraries do: there it succeeds.
"""

from __future__ import annotations

import contextlib
import gzip
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from unpooled.protocol.messages import ReleaseRequest
from unpooled_server import compensator_client
from unpooled_server.compensator_client import Compensator, CompensatorAway, CompensatorRefused

REQUEST = ReleaseRequest("1", 1, bytes(32), "z32", 10, tuple((name, bytes(16)) for name in "abc"))
WANT = 40  # bytes
LARGE = 32 << 20

Write = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def dishonest(write: Write) -> Iterator[Compensator]:
    """The server's way to a compensator that answers everything with what `write` writes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with contextlib.suppress(OSError):  # the server has had enough
                write(self)

        def log_message(self, *arguments: Any) -> None: ...

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.server_port}", trust_env=False) as http:
            yield Compensator(http)
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def head(handler: BaseHTTPRequestHandler, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def zeros(length: int, status: int = 200, *, is_told: bool = True) -> Write:
    def write(handler: BaseHTTPRequestHandler) -> None:
        head(handler, status, **({"Content_Length": str(length)} if is_told else {}))
        for at in range(0, length, 1 << 20):
            handler.wfile.write(bytes(min(1 << 20, length - at)))

    return write


ZEROS = gzip.compress(bytes(LARGE), 9)


def compressed(handler: BaseHTTPRequestHandler) -> None:
    head(handler, Content_Encoding="gzip", Content_Length=str(len(ZEROS)))
    handler.wfile.write(ZEROS)


def slow(handler: BaseHTTPRequestHandler) -> None:
    head(handler)
    for _ in range(WANT):
        handler.wfile.write(b"\0")
        handler.wfile.flush()
        DRIPPED.append(b"\0")
        time.sleep(0.05)


DRIPPED: list[bytes] = []
"""Parts of the last slow answer that were sent."""


def release(peer: Compensator) -> bytes:
    return peer.release(REQUEST, lambda sent, received: None)


def careless(peer: Compensator) -> bytes:
    """Read an answer as the library does by itself: all of it, decompressed, however long that takes."""
    return peer.http.post("/v1/studies/1/releases", content=b"").content


def peak(work: Callable[[], object]) -> int:
    """The most bytes that were in use at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_answer_of_the_right_length_is_taken() -> None:
    with dishonest(zeros(WANT)) as peer:
        assert release(peer) == careless(peer) == bytes(WANT)


@pytest.mark.parametrize(
    "write",
    [zeros(LARGE), zeros(LARGE, is_told=False), compressed, zeros(LARGE, 409)],
    ids=["too long", "without a length", "compressed", "a long refusal"],
)
def test_no_more_is_read_than_was_asked_for(write: Write) -> None:
    with dishonest(write) as peer:

        def refused() -> None:
            with pytest.raises(CompensatorAway, match=r"more than|encoded"):
                release(peer)

        refused()
        assert peak(refused) < 4 << 20
        assert peak(lambda: careless(peer)) > LARGE


@pytest.mark.parametrize("length", [WANT + 1, WANT - 1])
def test_another_length_is_no_sum(length: int) -> None:
    with dishonest(zeros(length)) as peer:
        with pytest.raises(CompensatorAway, match="bytes"):
            release(peer)
        assert len(careless(peer)) != WANT


def test_an_answer_may_not_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compensator_client, "PATIENCE", 0.3)
    with dishonest(slow) as peer:
        DRIPPED.clear()
        with pytest.raises(CompensatorAway, match="slowly"):
            release(peer)
        assert len(DRIPPED) < WANT, "all was waited for"
        assert len(careless(peer)) == WANT


def test_a_refusal_stays_one() -> None:
    def refuse(handler: BaseHTTPRequestHandler) -> None:
        head(handler, 409)
        handler.wfile.write(b'{"error": {"message": "another request"}}')

    with dishonest(refuse) as peer, pytest.raises(CompensatorRefused, match="another request"):
        release(peer)
