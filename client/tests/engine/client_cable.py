"""A TCP connection that a test can cut, or make lose replies."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import replace

from client_trials import Member


class Cable:
    """A TCP connection to the platform that can be cut, or made to lose the replies to some requests."""

    def __init__(self, target: str) -> None:
        self.host, port = target.removeprefix("http://").split(":")
        self.port = int(port)
        self.is_cut = False
        self.swap = b"", b""
        """Bytes to replace in every request, and their replacement."""
        self.lose: list[bytes] = []
        """Beginnings of requests whose reply is lost, once each."""
        self.requests: list[bytes] = []
        self.open: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def through(self, member: Member) -> Member:
        member.invitation = replace(member.invitation, server=self.url)
        return member

    def cut(self) -> None:
        self.is_cut = True
        for end in self.open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.open.clear()

    def mend(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self.listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            far = socket.create_connection((self.host, self.port))
            self.open += [near, far]
            lost = threading.Event()
            threading.Thread(target=self._requests, args=(near, far, lost), daemon=True).start()
            threading.Thread(target=self._replies, args=(near, far, lost), daemon=True).start()

    def _requests(self, near: socket.socket, far: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                if self.swap[0]:
                    data = data.replace(*self.swap)
                self.requests.append(data)
                for start in self.lose:
                    if data.startswith(start):
                        self.lose.remove(start)
                        lost.set()
                        break
                far.sendall(data)

    def _replies(self, near: socket.socket, far: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                if lost.is_set():
                    break
                near.sendall(data)
        for end in (near, far):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
