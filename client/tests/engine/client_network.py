"""A hospital's network on this computer: a proxy that wants a password, and TLS in front of a server.

The server has a name that only the proxy resolves: what reaches it went through the proxy.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme
from client_trials import HOST
from proxy.common.types import HostPort
from proxy.http.exception import HttpRequestRejected
from proxy.http.parser import HttpParser
from proxy.http.proxy import HttpProxyBasePlugin

from tests.patience import PATIENCE, until

USER, PASSWORD = "ward-7", "p@ss/w:rd#"
QUOTED = "p%40ss%2Fw%3Ard%23"
FORBIDDEN = "forbidden.test"


class Resolver(HttpProxyBasePlugin):  # type: ignore[misc]
    """Loaded by the proxy, which asks it for addresses."""

    def resolve_dns(self, host: str, port: int) -> tuple[str | None, HostPort | None]:
        return ("127.0.0.1" if host == HOST else None), None

    def before_upstream_connection(self, request: HttpParser) -> HttpParser:
        if request.host == FORBIDDEN.encode():
            raise HttpRequestRejected(status_code=403, reason=b"Forbidden")
        return request


@dataclass
class Proxy:
    """A running proxy.py."""

    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def with_password(self) -> str:
        return f"http://{USER}:{QUOTED}@127.0.0.1:{self.port}"


@contextmanager
def running_proxy(folder: Path) -> Iterator[Proxy]:
    log, port = folder / "proxy.log", folder / "port"
    command = [sys.executable, "-m", "proxy", "--hostname", "127.0.0.1", "--port", "0", "--port-file", port]
    command += ["--num-workers", "1", "--num-acceptors", "1", "--log-file", log, "--plugins"]
    command += [f"{__name__}.Resolver", "--basic-auth", f"{USER}:{PASSWORD}", "--data-dir", folder]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.DEVNULL)
    try:
        until(
            lambda: process.poll() is not None or (port.exists() and port.read_text().strip()), log.read_text
        )
        assert process.poll() is None, log.read_text()
        yield Proxy(int(port.read_text()), log)
    finally:
        process.terminate()
        process.wait(PATIENCE)


class TlsFront:
    """Speaks TLS with the certificate given, and passes everything on to a server without."""

    def __init__(self, target: str, certificate: trustme.LeafCert) -> None:
        self._target = target.removeprefix("http://").split(":")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError):  # also of a handshake that the client breaks off
            near = self._context.wrap_socket(plain, server_side=True)
            far = socket.create_connection((self._target[0], int(self._target[1])))
            threading.Thread(target=_pass_on, args=(far, near), daemon=True).start()
            _pass_on(near, far)


Front = Callable[..., TlsFront]
"""Puts TLS before a server: (host=HOST, target=the platform, **dates of the certificate)."""


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
