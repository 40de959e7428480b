"""Time limits of the HTTP server. uvicorn itself waits for ever for the rest of a request's head."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# From a connection's start, or a head's first byte, to its end.
HEAD_SECONDS = 10
# For the rest of a body that was refused unread: else the answer is lost.
LINGER_SECONDS = 3
# Far more than servers need: what is above is a stranger's, and the one longest silent goes.
MAX_CONNECTIONS = 2048


class PatientProtocol(H11Protocol):
    """One connection, given up if its next request is late. Who is silent longest makes way for others."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._silent_since = time.monotonic()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._give_up_after(HEAD_SECONDS)
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering:
            self._go_on()
        elif self._deadline is None:
            self._give_up_after(HEAD_SECONDS)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._silent_since = time.monotonic()
        if self.conn.their_state is h11.SEND_BODY:
            self._give_up_after(LINGER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._go_on()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _give_up_after(self, seconds: float) -> None:
        self._go_on()
        self._deadline = self.loop.call_later(seconds, self._abort)

    def _go_on(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort(self) -> None:
        self.transport.abort()

    def _make_room(self) -> None:
        """Give up the connection that has been silent for longest."""
        ours = [other for other in self.connections if isinstance(other, PatientProtocol)]
        silent = [other for other in ours if not other._is_answering]
        min(silent, key=lambda other: other._silent_since)._abort()
