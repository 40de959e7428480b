"""A relay between a caller and an HTTP service: it keeps all that passes, and can lose or change messages."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .patience import PATIENCE

_HOP = {"connection", "keep-alive", "content-length", "transfer-encoding"}


@dataclass(frozen=True)
class Message:
    """A request, or an answer (then `line` is its status)."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def to_bytes(self) -> bytes:
        """Return the message as it goes over the wire."""
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers)
        return f"{self.line}\r\n{head}\r\n".encode("latin-1") + self.body


@dataclass(frozen=True)
class Exchange:
    """A request and its answer, as the service received and gave them."""

    request: Message
    answer: Message | None
    """None if there was none."""

    @property
    def status(self) -> int:
        return int(self.answer.line) if self.answer else 0

    def request_header(self, name: str) -> str:
        return next(value for header, value in self.request.headers if header.lower() == name.lower())

    def asks(self, start: str) -> bool:
        """Tell whether the request is of this kind: "PUT /api/v1/cohort/shares/"."""
        return self.request.line.startswith(start)


class Relay:
    """Listens on a port of its own and passes every request on to `target`."""

    def __init__(self, target: str) -> None:
        self.target = urlsplit(target)
        self.exchanges: list[Exchange] = []
        self.lost: list[Exchange] = []
        """Exchanges whose answer the caller did not get."""
        self.change: Callable[[Message, Message], Message] = lambda request, answer: answer
        """Function that returns what the caller gets instead of an answer."""
        self._losses: list[tuple[str, bool]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(), bind_and_activate=False)
        self._server.daemon_threads = True
        self._server.request_queue_size = 64
        self._server.server_bind()
        self._server.server_activate()
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def lose_reply(self, start: str) -> None:
        """Break the connection after the next such request was answered, instead of handing the answer on."""
        self._losses.append((start, True))

    def lose_request(self, start: str) -> None:
        """Break the connection at the next such request, and never deliver it."""
        self._losses.append((start, False))

    @contextlib.contextmanager
    def cut(self) -> Iterator[Callable[[], bool]]:
        """Break every connection without passing anything on; gives what tells whether any was broken."""
        pass_on, broken = self._pass_on, list[Message]()
        self._pass_on = broken.append  # type: ignore[method-assign,assignment]
        try:
            yield lambda: bool(broken)
        finally:
            self._pass_on = pass_on  # type: ignore[method-assign]

    def found(self, start: str) -> list[Exchange]:
        """The exchanges of one kind so far."""
        return [exchange for exchange in list(self.exchanges) if exchange.asks(start)]

    def send(self, request: Message) -> Message:
        """Send a request to the service, as it stands."""
        method, path, _ = request.line.split(" ")
        connection = http.client.HTTPConnection(self.target.netloc, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in _HOP:
                    connection.putheader(name, value)
            if request.body or method in ("PUT", "POST"):
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            answer = connection.getresponse()
            return Message(str(answer.status), tuple(answer.getheaders()), answer.read())

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _pass_on(self, request: Message) -> Message | None:
        loss = self._take_loss(request)
        if loss is False:
            self.lost.append(Exchange(request, None))
            return None
        try:
            answer = self.send(request)
        except (OSError, http.client.HTTPException):
            self.exchanges.append(Exchange(request, None))  # the service may have read it all the same
            return None
        exchange = Exchange(request, answer)
        self.exchanges.append(exchange)
        if loss:
            self.lost.append(exchange)
            return None
        return self.change(request, answer)

    def _take_loss(self, request: Message) -> bool | None:
        """Tell whether a request's reply (True) or the request itself (False) gets lost; None if neither."""
        with self._lock:
            for start, reply in self._losses:
                if request.line.startswith(start):
                    self._losses.remove((start, reply))
                    return reply
        return None

    def _handler(relay) -> type[BaseHTTPRequestHandler]:  # `self` is the handler's here
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if len(body) < length:  # the caller was killed while it sent
                    self.close_connection = True
                    return
                answer = relay._pass_on(Message(self.requestline, tuple(self.headers.items()), body))
                if answer is None:
                    self.close_connection = True
                    return
                with contextlib.suppress(OSError):
                    self._write(answer)

            def _write(self, answer: Message) -> None:
                said = {name.lower(): value for name, value in answer.headers}
                length = said.get("content-length", 0) if self.command == "HEAD" else len(answer.body)
                head = [f"HTTP/1.1 {answer.line} -\r\n", f"Content-Length: {length}\r\n"]
                kept = [(name, value) for name, value in answer.headers if name.lower() not in _HOP]
                head += [f"{name}: {value}\r\n" for name, value in kept]
                self.wfile.write("".join(head).encode("latin-1") + b"\r\n" + answer.body)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # names of the standard library

            def log_message(self, *arguments: Any) -> None: ...

        return Handler


def with_body(message: Message, body: bytes) -> Message:
    return replace(message, body=body)
