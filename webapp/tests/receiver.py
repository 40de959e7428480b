"""A program that gets webhooks: a real one, with TLS and a certificate of its own."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.certificates import self_signed
from tests.patience import PATIENCE
from unpooled_webapp.notices import webhooks


@dataclass
class Receiver:
    """Answers with the next of `answers`, the last one again and again; and waits while it is `held`."""

    folder: Path
    answers: list[int] = field(default_factory=lambda: [204])
    location: str = ""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    drips: bool = False
    """It never ends its answer."""
    stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.go_on.set()
        self.certificate = self_signed(self.folder)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}/hook?from=unpooled"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.go_on.set()
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                receiver.asked.set()
                receiver.go_on.wait(PATIENCE)
                if receiver.drips:
                    self._drip()
                    return
                self.send_response(receiver.answers[min(len(receiver.got), len(receiver.answers)) - 1])
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.end_headers()

            def _drip(self) -> None:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not receiver.stopped.wait(0.1):
                    self.wfile.write(b"X: y\r\n")

            def log_message(self, *_: object) -> None: ...

        return Handler


@pytest.fixture
def receiver(platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A webhook's receiver on this machine, where the operator allows it."""
    made = Receiver(tmp_path)
    made.start()
    platform.UNPOOLED_WEBHOOKS_INSIDE = True
    platform.UNPOOLED_WEBHOOK_PORTS = [httpx.URL(made.url).port]
    monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
    webhooks._trusted.cache_clear()
    yield made
    webhooks._trusted.cache_clear()
    made.stop()
