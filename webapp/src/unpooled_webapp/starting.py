"""Starts Python modules as processes: forked from one that has imported what they need, where one is asked.

A process has a fork server within `forking`, or if it was itself forked and may ask for forks. Elsewhere, and
where what Python reads at its start is to be different, modules are started from nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unpooled.method_modules import MODELS, TABLES, VARIANTS

LONGEST = 1 << 17
"""Bytes of a request; it holds an environment."""
MOST_FILES = 16
READ_AT_START = ("PYTHON", "LANG", "LC_", "NUMBA_", "OPENBLAS_", "OMP_", "MKL_")
"""Prefixes of what Python and libraries read of the environment when they are loaded."""
TOLD = ("UNPOOLED_", "DJANGO_")
"""Prefixes of what parties are told by the environment: no fork server has any of it."""
CLIENT = (
    "cryptography.hazmat.backends.openssl.backend",
    "httpcore",
    "scipy.special",
    "unpooled_client.commands.run",
    "unpooled_client.study.this_cohort_and_pool",
)
COMPENSATOR = ("unpooled_compensator.cli", "unpooled_compensator.serving", "uvicorn.protocols.http.h11_impl")
PLATFORM = (
    "celery.app.base",
    "celery.schedules",
    "django.contrib.admindocs.views",
    "django.contrib.auth.hashers",
    "django.contrib.postgres.fields",
    "django.core.management",
    "django.core.wsgi",
    "django.db.backends.sqlite3.base",
    "django.db.migrations.executor",
    "django.db.models",
    "django.middleware.gzip",
    "django.template.defaulttags",
    "django.urls",
    "django.views.debug",
    "django.views.generic",
    "gunicorn.app.wsgiapp",
    "gunicorn.http.wsgi",
    "gunicorn.workers.gthread",
    "httpcore",
    "httpx",
    "jinja2",
    "kombu",
    "requests",
    "scipy.special",
    "structlog",
    "yaml",
)
"""A fork server imports these for each party; none of them reads what parties are told by the environment."""


def methods_like(name: str) -> list[str]:
    """Return the modules that studies of a method load: its own, or those of all for variants."""
    of_tables = TABLES | MODELS
    known = VARIANTS.values() if name in VARIANTS else [of_tables[name]] if name in of_tables else []
    return [f"unpooled.methods{module}" for module in known]


@dataclass(frozen=True)
class Program:
    """A module to run as `python -m` does, and in what surroundings."""

    name: str
    """The system lists forks by this name, for they all have one command line."""
    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    pass_fds: Sequence[int] = ()
    has_own_session: bool = False
    """True if a Ctrl-C in the terminal is not for it."""
    may_ask: bool = False
    """True if it starts programs from the same fork server."""
    folder: str = "."

    @property
    def files(self) -> list[int]:
        """Numbers of the files that it has; the last is where it asks, if it may."""
        kept = [0, 1, 2, *self.pass_fds]
        return [*kept, max(kept) + 1] if self.may_ask else kept

    @property
    def command(self) -> list[str]:
        """The command that starts it from nothing."""
        return [sys.executable, "-m", self.module, *self.arguments]


class Forked:
    """A process of a fork server's, with as much of `subprocess.Popen` as is used here."""

    def __init__(self, command: Sequence[str], report: socket.socket) -> None:
        """Take the fork server's word for it; ConnectionError if that has ended."""
        self.args = command
        self._report, self._lock = report, threading.Lock()
        message, files, *_ = socket.recv_fds(report, 32, 1)
        if not message:
            raise ConnectionError("the fork server has ended")
        self.pid, self._file = int(message), files[0]
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        with self._lock:
            if self.returncode is None:
                poll = select.poll()
                poll.register(self._file, select.POLLIN)
                if not poll.poll(None if timeout is None else timeout * 1000):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                # Nothing comes of a fork server that was killed: how the process ended nobody knows then.
                self.returncode = int(self._report.recv(32) or 255)
                self._report.close()
                os.close(self._file)
            return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # never another's that has its number by now
                signal.pidfd_send_signal(self._file, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = subprocess.Popen[bytes] | Forked


@dataclass(frozen=True)
class ForkServer:
    """The other end of a fork server: one asks it for forks."""

    asked: socket.socket
    loaded_with: dict[str, str]
    """Environment of the process that it forks from."""

    @classmethod
    @contextlib.contextmanager
    def running(cls, command: Sequence[str], environment: Mapping[str, str]) -> Iterator[ForkServer]:
        """Run a fork server until the block ends; its command takes the number of its socket last."""
        loaded_with = {name: value for name, value in environment.items() if not name.startswith(TOLD)}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(  # noqa: S603  # our own commands, no shell
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=loaded_with,
                pass_fds=[theirs.fileno()],
            )
        with process, ours:  # which closes first, and so ends it
            yield cls(ours, loaded_with)

    def start(self, program: Program, streams: Sequence[int]) -> Forked | None:
        """Start a process; None if it cannot be forked, for it is to be started from nothing."""
        if _read_at_start(program.environment) != _read_at_start(self.loaded_with):
            return None
        folder = str(Path(program.folder).absolute())  # of this process, not of the fork server
        told = {**vars(program), "environment": dict(program.environment), "folder": folder}
        message = json.dumps({"program": told, "umask": _umask()}).encode()
        if len(message) > LONGEST:
            return None
        files = [*streams, *program.pass_fds, *([self.asked.fileno()] if program.may_ask else [])]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                socket.send_fds(ours, [message], files)  # for the child alone to read
                socket.send_fds(self.asked, [b"."], [theirs.fileno()])
            return Forked(program.command, ours)
        except OSError:  # the fork server has ended
            ours.close()
            return None


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


def _umask() -> int:
    os.umask(umask := os.umask(0o077))  # it can only be read by setting it
    return umask


def _can_fork() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # another system, or an old one
        return False
    return True


CAN_FORK = _can_fork()
_server: ForkServer | None = None
"""Whom this process asks."""


def ask(asked: socket.socket) -> None:
    """Have this process, which was forked, ask for forks on the socket that it was given."""
    global _server
    _server = ForkServer(asked, dict(os.environ))


@contextlib.contextmanager
def forking(*modules: str) -> Iterator[None]:
    """Start from a fork server what is started within the block; it has these modules loaded."""
    global _server
    if _server is not None or not CAN_FORK:
        yield
        return
    command = [sys.executable, "-m", "unpooled_webapp.fork_server", *modules]
    with ForkServer.running(command, os.environ) as _server:
        try:
            yield
        finally:
            _server = None


def start(program: Program, streams: Sequence[int] = (0, 1, 2)) -> Process:
    """Start a program with these streams; by default those of this process."""
    if _server is not None and (forked := _server.start(program, streams)):
        return forked
    stdin, stdout, stderr = (None if stream == k else stream for k, stream in enumerate(streams))
    return subprocess.Popen(  # noqa: S603  # our own modules, no shell
        program.command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=dict(program.environment),
        cwd=program.folder,
        pass_fds=program.pass_fds,
        start_new_session=program.has_own_session,
    )
