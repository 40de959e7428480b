"""The cohorts' clients, as processes on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unpooled_webapp.rehearsal.processes import Process

EVENTS = "events.jsonl"  # what a client tells
_LETTER = "invitation.txt"


def hand_over(folder: Path, invitation: str) -> None:
    """Put an invitation into a new folder of its cohort.

    In a file, not among the arguments, where everybody on this machine could read it.
    """
    folder.mkdir(parents=True, mode=0o700)
    letter = folder / _LETTER
    letter.touch(0o600)
    letter.write_text(invitation)


class Client(Process):
    """The client of the cohort whose invitation lies in this folder, where all that it writes will lie."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        super().__init__("unpooled_client", command, folder / "client.log", output=folder / EVENTS)
        self._folder = folder

    @property
    def findings(self) -> list[dict[str, Any]] | None:
        """The findings in its data files; None before they are read."""
        checked = [event for event in events(self._folder) if event["event"] == "checked"]
        return checked[-1]["report"]["findings"] if checked else None

    def last_words(self, lines: int = 12) -> str:
        """Why it says that it has ended; the end of its log if it does not say."""
        failed = [event for event in events(self._folder) if event["event"] == "failed"]
        return f"{failed[-1]['message']} {failed[-1]['remedy']}" if failed else super().last_words(lines)


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """The events that the client of this folder has told, without a line that it is just writing."""
    text = (folder / EVENTS).read_text("utf-8")
    return map(json.loads, text[: text.rfind("\n") + 1].splitlines())


def start_client(folder: Path, arguments: Sequence[str]) -> Client:
    """Start a client, which accepts whatever it is asked."""
    places = ["--state", str(folder / "state"), "--out", str(folder / "results"), "--yes", "--json"]
    command = ["run", str(folder / _LETTER), *places, *arguments]
    return Client(folder, command)
