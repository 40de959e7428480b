"""Strangers who open many connections to a server on this machine and are slow with them."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

from ..patience import PATIENCE

MANY = 1000
SILENCE = 10.0
"""Seconds after which a server has not answered: that is to be seen here, and a busy machine only helps."""
TIMES = 3
"""So often in a row has a server to answer."""


def _body(path: str, size: int, method: str = "POST") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {size}\r\n\r\n{{".encode()


OPENINGS = {
    "nothing": b"",
    "half a head": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "half a small body": _body("/api/v1/session", 500),
    "half a large body": _body("/api/v1/session", 1 << 20),
    "half a share": _body("/api/v1/cohort/shares/1", 100 << 20, "PUT"),
    "a head and a half": b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /health HTTP/1.1\r\nX-Slow: ",
    "half a release": _body("/v1/studies/1/releases", 1000),
}


@contextmanager
def strangers(
    address: str, opening: bytes, number: int = MANY, source: str = "", buffer: int = 0
) -> Iterator[list[socket.socket]]:
    """So many connections on which nothing but the opening is sent; given up after the block.

    `buffer`: so many bytes of an answer are taken, and no more.
    """
    where = urlsplit(address)
    opened: list[socket.socket] = []
    try:
        for _ in range(number):
            one = socket.socket()
            opened.append(one)
            if buffer:  # to be said before it connects
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            one.settimeout(PATIENCE)
            one.bind((source, 0))
            one.connect((where.hostname, where.port))
            with contextlib.suppress(OSError):  # the server may have refused it already
                one.sendall(opening)
        yield opened
    finally:
        for one in opened:
            # Reset, not ended: thousands of ports would be held for a minute that other tests may want.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()


def answers(address: str, within: float = PATIENCE) -> bool:
    """Tell whether /health keeps answering while others hold their connections."""
    try:
        return all(
            httpx.get(f"{address}/health", timeout=within, trust_env=False).is_success for _ in range(TIMES)
        )
    except httpx.TransportError:
        return False


def still_open(connections: list[socket.socket]) -> int:
    """Count the connections that the server has not closed."""
    for one in connections:
        one.setblocking(False)
    return sum(not _is_closed(one) for one in connections)


def _is_closed(one: socket.socket) -> bool:
    """Tell whether the server has closed a connection; this reads whatever it has answered."""
    try:
        while one.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def has_been_answered(one: socket.socket) -> bool:
    """Tell whether data or the end of the stream has arrived; nothing is read."""
    one.setblocking(False)
    try:
        one.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
