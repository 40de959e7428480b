"""The events of a run in another process, read from the log of its state folder."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

from unpooled_client.state.events import Event, Started


class Journal:
    """Follows one log (`StateFolder.log`) as it grows. A log that is not there yet has no events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new(self) -> list[Event]:
        """The events since the last call. Where another run began meanwhile, only that run's."""
        events: list[Event] = []
        for line in self._lines():
            event = _event(line)
            if isinstance(event, Started):
                events.clear()
            if event is not None:
                events.append(event)
        return events

    def _lines(self) -> list[bytes]:
        """The lines that were ended since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        # A line that is being written is left for the next time.
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()


def line_of(text: str) -> str:
    """A line of the log: an event as JSON, or details of a failure, with its time."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n"


def _event(line: bytes) -> Event | None:
    """The event of a line `TIME JSON`; None for others: details of failures, or events of another version."""
    _, _, text = line.partition(b" ")
    with contextlib.suppress(ValueError):
        values = json.loads(text)
        if isinstance(values, dict):
            return Event.from_json(values)
    return None
