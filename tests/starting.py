"""Starts the programs of tests: forked from a process that has imported what they need, where there is fork.

What must start from nothing (an installed command, a test of imports) is none of these.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .fork_server import PROGRAMS
from .patience import PATIENCE

HERE = Path(__file__).parent
CAN_FORK = sys.platform == "linux"
READ_AT_START = ("PYTHON", "LANG", "LC_", "NUMBA_", "OPENBLAS_", "OMP_", "MKL_")
"""Prefixes of what Python and libraries read of the environment when they are loaded."""
_AT_FIRST = os.environ.copy()


@dataclass(frozen=True)
class Program:
    """A Python module with its arguments; `gates`: the folder that says where it is held (launch.py)."""

    module: str
    arguments: Sequence[str] = ()
    gates: Path | None = None

    @property
    def command(self) -> list[str]:
        """The same from nothing."""
        how = [HERE / "launch.py", self.gates] if self.gates else ["-m"]
        return [sys.executable, *map(str, how), self.module, *self.arguments]


class Forked:
    """A process of a fork server's, with as much of `subprocess.Popen` as tests use."""

    def __init__(self, program: Program, report: socket.socket) -> None:
        self.args, self.returncode = program.command, None
        self._report, self._lock = report, threading.Lock()
        message, files, *_ = socket.recv_fds(report, 32, 1)
        assert message, "the fork server has ended"
        self.pid, self._file = int(message), files[0]
        self.returncode: int | None = None

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        with self._lock:
            if self.returncode is None:
                self._report.settimeout(timeout)
                try:
                    self.returncode = int(self._report.recv(32))
                except (TimeoutError, BlockingIOError):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
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
Stream = int | IO[bytes]


def start(
    program: Program,
    *,
    stdout: Stream,
    stderr: Stream,
    stdin: Stream = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Process:
    """Start a program in a session of its own: a Ctrl-C is for the tests alone."""
    environment = os.environ.copy() if environment is None else dict(environment)
    folder = folder or Path.cwd()
    if (
        program.module not in PROGRAMS
        or not CAN_FORK
        or _read_at_start(environment) != _read_at_start(_AT_FIRST)
    ):
        return subprocess.Popen(
            program.command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    request = {
        "module": program.module,
        "arguments": list(program.arguments),
        "gates": str(program.gates or ""),
        "environment": environment,
        "folder": str(folder),
    }
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        streams = [nothing if each == subprocess.DEVNULL else each for each in (stdin, stdout, stderr)]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            files = [each if isinstance(each, int) else each.fileno() for each in (theirs, *streams)]
            socket.send_fds(_server(PROGRAMS[program.module]), [json.dumps(request).encode()], files)
    return Forked(program, ours)


def run(
    program: Program,
    *,
    says: str = "",
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; `says`: what it reads."""
    with (
        tempfile.TemporaryFile() as read,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
    ):
        read.write(says.encode())
        read.seek(0)
        process = start(
            program, stdin=read, stdout=out, stderr=errors, environment=environment, folder=folder
        )
        try:
            status = process.wait(PATIENCE)
        finally:
            process.kill()
        for file in (out, errors):
            file.seek(0)
        written, complained = (file.read().decode().replace("\r\n", "\n") for file in (out, errors))
        return subprocess.CompletedProcess(program.command, status, written, complained)


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


@functools.cache
def _server(program: str) -> socket.socket:
    """Return the socket on which to ask for forks; the server ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {name: value for name, value in _AT_FIRST.items() if not name.startswith("UNPOOLED_")}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, HERE / "fork_server.py", str(theirs.fileno()), program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    atexit.register(process.wait)
    atexit.register(ours.close)  # first: the last to be registered
    return ours
