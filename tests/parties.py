"""Processes that a test starts, kills and starts again, each with the same command every time."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .patience import until
from .starting import Process, Program, start

GRACE = 20.0
"""Seconds that a party is given to end when it is asked; then it is killed, and no test fails for that."""


@dataclass
class Party:
    """One program of a federation, and whatever processes it starts itself."""

    name: str
    command: Program | Sequence[str]
    log: Path
    ready: str
    """Text that it writes into its log once it is up."""
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    """User whose process it is to be, where we are root."""
    process: Process | None = None
    _began: int = 0

    def start(self) -> None:
        """Start it, and wait until it is up."""
        self.spawn()
        until(lambda: self._is_up() or self.has_ended, self._failure)
        assert self._is_up(), self._failure()

    def kill(self) -> None:
        """`kill -9` of its processes, all at once: none gets to say good-bye."""
        self._signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Have it killed meanwhile."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Have its processes stand still, as those of a machine that sleeps."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    @contextlib.contextmanager
    def without_disk(self) -> Iterator[None]:
        """Let none of its processes write anything to a file, not even to its log."""
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._limit(0, usual[1])
        try:
            yield
        finally:
            self._limit(*usual)

    def _limit(self, *limits: int) -> None:
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):  # it may have ended of it
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)

    def _signal(self, number: int) -> None:
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _pids(self) -> list[int]:
        assert self.process is not None
        return [self.process.pid, *_descendants(self.process.pid)]

    def kill_alone(self) -> Callable[[], list[int]]:
        """`kill -9` of this process only; gives what tells which of those that it started still live."""
        assert self.process is not None
        children = _descendants(self.process.pid)
        assert children
        self.process.kill()
        self.process.wait()
        return lambda: [pid for pid, _ in _parents() if pid in children]

    def restart(self) -> None:
        """Kill it and start it again with the same command."""
        self.kill()
        self.start()

    def stop(self) -> None:
        """End it, politely at first."""
        if self.process is None or self.has_ended:
            return
        self.process.send_signal(signal.SIGINT)  # PostgreSQL waits for its clients at any other
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()

    def wait(self) -> int:
        """Its exit status, once it has ended by itself."""
        assert self.process is not None
        until(lambda: self.has_ended, lambda: f"{self.name} does not end\n{self.said()}")
        return int(self.process.returncode)

    @property
    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def said(self) -> str:
        """Return what it has written into its log since its last start."""
        with self.log.open("rb") as log:
            log.seek(self._began)
            return log.read().decode("utf-8", "replace")

    def spawn(self) -> None:
        """Start it, and do not wait."""
        self._began = self.log.stat().st_size if self.log.exists() else 0
        environment = {**os.environ, **self.environment}
        as_user = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        with self.log.open("ab") as log:
            if isinstance(self.command, Program):
                streams = {"stdout": log, "stderr": log}
                self.process = start(self.command, **streams, environment=environment, folder=self.log.parent)
                return
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.log.parent,
                start_new_session=True,  # a Ctrl-C is for the tests alone
                **as_user,
            )

    def _is_up(self) -> bool:
        return self.ready in self.said()

    def _failure(self) -> str:
        return f"{self.name} is not up\n{self.said()[-3000:]}"


def _descendants(ancestor: int) -> list[int]:
    """All processes below one. Some make themselves leaders of groups, so the group alone is not enough."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(ancestor, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            pid, _, rest = entry.read_text().partition(" ")
            yield int(pid), int(rest.rpartition(")")[2].split()[1])
