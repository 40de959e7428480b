"""Ports that nobody else can take before or between the starts of the program that is to listen there."""

from __future__ import annotations

import socket
import sys

LOCAL = "127.0.0.1"


class Port:
    """A port of this machine, kept by a socket that is bound to it and does not listen.

    Linux gives such a port to nobody who asks for a free one, and lets a program bind it that says
    SO_REUSEADDR, as all servers do. While none listens, whoever connects is refused.
    """

    def __init__(self) -> None:
        self._kept = socket.socket()
        self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._kept.bind((LOCAL, 0))
        self.number = int(self._kept.getsockname()[1])
        if sys.platform != "linux":  # elsewhere two sockets cannot be bound to one port
            self._kept.close()

    @property
    def address(self) -> str:
        return f"{LOCAL}:{self.number}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def close(self) -> None:
        """Let others have it: nothing will listen there any more."""
        self._kept.close()
