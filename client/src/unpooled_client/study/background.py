"""Runs that outlive the terminal or the window that started them."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from unpooled.errors import UnpooledError
from unpooled_client.state.events import Event, Exit, Failed, Started
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.journal import Journal, line_of

_PATIENCE = 30.0
"""Seconds for a run to begin, or to end."""


class NotStarted(UnpooledError):
    """The run in the background did not begin; `failed` is what it said, if it said anything."""

    def __init__(self, message: str, failed: Failed | None = None) -> None:
        self.failed = failed
        super().__init__(message)


class NotStopped(UnpooledError):
    """The run cannot be stopped from here."""


def program() -> list[str]:
    """Return the command that starts this program from our process: by this Python, or frozen, as the file
    beside us.
    """
    if getattr(sys, "frozen", False):
        suffix = ".exe" if os.name == "nt" else ""
        return [str(Path(sys.executable).with_name(f"unpooled-client{suffix}"))]
    return [sys.executable, "-m", "unpooled_client"]


def start(folder: StateFolder, arguments: Sequence[str]) -> int:
    """Begin `unpooled-client ARGUMENTS`, tied to no terminal and no window; its process number.

    Returns once the run has begun. Raises NotStarted.
    """
    journal = Journal(folder.log)
    journal.new()
    with folder.private_log() as log:
        process = subprocess.Popen(  # noqa: S603 - this very program
            [*program(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            **_detached(),
        )
    return _begun(process, journal)


def _detached() -> dict[str, Any]:
    """Return the options that keep a process alive when the one that started it ends."""
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        return {"creationflags": flags}
    return {"start_new_session": True}


def _begun(process: subprocess.Popen[bytes], journal: Journal) -> int:
    deadline = time.monotonic() + _PATIENCE
    told: list[Event] = []
    while time.monotonic() < deadline:
        # Asked before the journal is read, so that the last words of a run that has ended are in it.
        ended = process.poll() is not None
        told += journal.new()
        # On Windows the Python of a virtual environment runs as a child of the process that was started.
        if started := [event for event in told if isinstance(event, Started)]:
            return started[-1].pid
        if ended:
            failed = [event for event in told if isinstance(event, Failed)]
            what = f"the run ended at once, with status {process.returncode}."
            raise NotStarted(
                f"{what} Its last messages are in {journal.path}.", failed[-1] if failed else None
            )
        # No system tells of a line in another program's log, so it is looked for.
        time.sleep(0.05)
    raise NotStarted(f"the run did not begin within {_PATIENCE:.0f} s. Its log is {journal.path}.")


def is_running(folder: StateFolder) -> bool:
    """Tell whether a client is running with this folder, in whichever process."""
    return folder.is_locked()


def stop(folder: StateFolder) -> None:
    """End the run of this folder, wherever it is; it goes on when started again. NotStopped if that fails."""
    started = [event for event in Journal(folder.log).new() if isinstance(event, Started)]
    if not folder.is_locked():
        return
    if not started or started[-1].host != platform.node():
        where = started[-1].host if started else "another computer"
        raise NotStopped(f"the run is at {where}: stop it there.")
    # The number may have gone to another program since: that one must not be ended.
    if _is_client(started[-1].pid):
        with contextlib.suppress(OSError):  # it is gone; Windows has no name for that
            os.kill(started[-1].pid, signal.SIGTERM)
    deadline = time.monotonic() + _PATIENCE
    while folder.is_locked():
        if time.monotonic() > deadline:
            raise NotStopped(f"process {started[-1].pid} does not end: end it by the system's own means.")
        time.sleep(0.05)
    _tell_stopped(folder)


def _tell_stopped(folder: StateFolder) -> None:
    """Write the last event of a run that was ended before it could: whoever looks knows that it was meant."""
    stopped = Failed(
        Exit.INTERRUPTED, "the run was stopped.", "It picks up where it left off when started again."
    )
    with folder.private_log() as log:
        log.write(line_of(json.dumps(stopped.to_json())))


def _is_client(pid: int) -> bool:
    """Tell whether a process is this program: its number may be another's by now."""
    try:
        return any("unpooled" in word for word in psutil.Process(pid).cmdline())
    except psutil.Error:
        return False
