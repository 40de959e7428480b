"""Child processes that are kept running: one that dies is started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unpooled_webapp.starting import Process, Program, start

# Seconds between asking a process to end and killing it: what it does is safe from kills, so no longer.
GRACE = 15.0
# A process that lived this long died by accident: start it again at once.
_STEADY = 30.0
RUNNER = "unpooled_webapp.child"
# Seconds between starts of one that dies at each: its operator's repair is noticed soon.
_SLOWEST = 15.0


_LOADS = 3.0
"""Seconds of a core that a command takes on a usual machine until it waits for others."""


def patience(seconds: float) -> float:
    """Return how long to wait for what usually starts within these seconds.

    It is longer where this program itself was slow to load, or where many compete for the cores.
    """
    busy = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return seconds * max(1.0, busy, time.process_time() / _LOADS)


@dataclass
class Child:
    """One process, and how to start it."""

    name: str
    command: Sequence[str]
    """A module and its arguments, which runs for no longer than this process lives."""
    environment: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()
    process: Process | None = None
    _started: float = 0.0
    _not_before: float = 0.0
    _pause: float = field(default=0.5)
    _group: int | None = None
    _held: int | None = None

    def start(self) -> None:
        self._started = time.monotonic()
        # A session of its own: Ctrl-C in the terminal reaches the parent alone, which ends them in order.
        program = Program(
            self.name, RUNNER, self.command, self.environment, self.pass_fds, has_own_session=True
        )
        self._let_go()
        read, self._held = os.pipe()  # it ends when this closes: with this process, however that ends
        self.process = start(program, (read, 1, 2))
        os.close(read)
        self._group = self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def keep_running(self) -> str | None:
        """Start the process again if it has died; what there is to say about it."""
        if self.process is None or self.is_running:
            return None
        now = time.monotonic()
        if self._not_before <= self._started:  # seen dead for the first time
            self._kill_group()
            self._pause = 0.5 if now - self._started > _STEADY else min(2 * self._pause, _SLOWEST)
            self._not_before = now + self._pause
            status = self.process.returncode
            return f"{self.name} ended with status {status}; starts again in {self._pause:.0f} s"
        if now >= self._not_before:
            self.start()
            self._not_before = 0.0
        return None

    def ask_to_end(self) -> None:
        if self.process is not None and self.is_running:
            self.process.terminate()

    def stop(self) -> None:
        """Ask it to end, wait, and kill it if it does not."""
        self.ask_to_end()
        if self.process is None:
            return
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._kill_group()
        self._let_go()

    def _let_go(self) -> None:
        if self._held is not None:
            os.close(self._held)
        self._held = None

    def _kill_group(self) -> None:
        """End what a process that is dead has left: Celery's beat goes on without its worker.

        Once only: afterwards the number may be another group's.
        """
        if self._group is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGKILL)
        self._group = None
