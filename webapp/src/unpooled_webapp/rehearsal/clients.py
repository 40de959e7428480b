"""The cohorts' clients, as processes on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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


def start_client(folder: Path, arguments: Sequence[str]) -> Process:
    """The client of the cohort whose invitation lies in this folder, where all that it writes will lie."""
    places = ["--state", str(folder / "state"), "--out", str(folder / "results"), "--yes", "--json"]
    command = ["run", str(folder / _LETTER), *places, *arguments]
    return Process("unpooled_client", command, folder / "client.log", output=folder / EVENTS)
