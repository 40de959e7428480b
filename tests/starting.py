"""Starts the programs of tests: forked from a process that has imported what they need, where there is fork.

What must start from nothing (an installed command, a test of imports) is none of these.
"""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from unpooled_webapp import starting
from unpooled_webapp.starting import CAN_FORK, ForkServer, Process

from .fork_server import PROGRAMS
from .patience import PATIENCE

HERE = Path(__file__).parent
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
    if program.module in PROGRAMS and CAN_FORK:
        arguments = [str(program.gates or ""), *program.arguments]
        forked = starting.Program(
            program.module, program.module, arguments, environment, has_own_session=True, folder=str(folder)
        )
        with Path(os.devnull).open("r+b", buffering=0) as nothing:
            files = [nothing if each == subprocess.DEVNULL else each for each in (stdin, stdout, stderr)]
            streams = [each if isinstance(each, int) else each.fileno() for each in files]
            if process := _server(PROGRAMS[program.module]).start(forked, streams):
                return process
    return subprocess.Popen(
        program.command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        cwd=folder,
        start_new_session=True,
    )


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


@functools.cache
def _server(program: str) -> ForkServer:
    """Return a program's fork server, which ends with this process."""
    running = ForkServer.running([sys.executable, str(HERE / "fork_server.py"), program], _AT_FIRST)
    atexit.register(running.__exit__, None, None, None)
    return running.__enter__()
