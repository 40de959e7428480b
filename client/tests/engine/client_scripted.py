"""A server that answers by a script."""

from __future__ import annotations

import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from unpooled.protocol.invitation import Invitation
from unpooled_client.network.api import Api

FINGERPRINT = " ".join(["ab12"] * 8)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client need not read to the end
            super().handle_error(request, client_address)


class Scripted:
    """Answers each request with the next (status, headers, body) of a list, the last one for ever."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                script.requests.append((self.command, self.path, dict(self.headers), body))
                status, headers, content = script.answers[0]
                if len(script.answers) > 1:
                    script.answers.pop(0)
                if status == 0:  # hang up without a word
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response_only(status)  # and no header that is not in the script
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = answer  # names that the library wants

            def log_message(self, *arguments: Any) -> None:
                return

        self.server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def api(self, **options: Any) -> Api:
        return Api(Invitation(self.url, "s1", "t" * 43, FINGERPRINT), "ab" * 16, **options)

    def says(self, status: int, body: object = None, **headers: str) -> Scripted:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.append((status, headers, content))
        return self

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
