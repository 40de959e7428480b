"""Forks a process for each party on this machine, from one that has already imported what takes long.

    python -m unpooled_webapp.fork_server MODULE… SOCKET   SOCKET: number of the inherited one to ask on

Importing takes a second of a core, which each of eight parties would take; a fork takes milliseconds. Each is
a process of its own all the same, with the environment, streams, files and umask that it was given. It runs
its module as `python -m` does, and from the top of this process, to end as Python ends. starting.py asks.

A child must not inherit what a fresh process would not have. So this one starts no thread, opens no file, and
imports nothing that reads the environment (what needs Django's settings is imported by the child). And it
never reads what a party is told: that comes by a socket of the child's own, which the child alone reads.
NumPy's BLAS ends its threads before a fork, by itself; `random` seeds itself anew, and masks come from
os.urandom.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import itertools
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from unpooled_webapp import starting
from unpooled_webapp.starting import LONGEST, MOST_FILES, Program


class _Server:
    """Forks for whoever asks, and tells how the forked processes end."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._children: dict[int, tuple[int, socket.socket]] = {}
        """Number of a child and where to report its end, by the file that becomes readable then."""
        self._poll = select.poll()
        self._poll.register(asked, select.POLLIN)

    def serve(self) -> socket.socket | None:
        """Serve until nobody can ask any more, then return None; in a child, return where its request is."""
        while True:
            for file, _ in self._poll.poll():
                if file != self._asked.fileno():
                    self._tell(file)
                    continue
                message, files, *_ = socket.recv_fds(self._asked, 1, 1)
                if not message:
                    return None
                if child := self._fork(socket.socket(fileno=files[0])):
                    return child

    def _fork(self, told: socket.socket) -> socket.socket | None:
        pid = os.fork()
        if pid == 0:
            self._forget()
            return told
        child = os.pidfd_open(pid)
        with contextlib.suppress(OSError):  # whoever asked has ended meanwhile
            socket.send_fds(told, [str(pid).encode()], [child])
        self._children[child] = pid, told
        self._poll.register(child, select.POLLIN)
        return None

    def _tell(self, file: int) -> None:
        pid, told = self._children.pop(file)
        self._poll.unregister(file)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(OSError):  # nobody asks any more
            told.send(str(status).encode())
        told.close()
        os.close(file)

    def _forget(self) -> None:
        """Let a child not close, once they are collected, what will be other files by then."""
        self._asked.detach()
        for _, told in self._children.values():
            told.detach()


def run(program: Program) -> None:
    """Run a program in this process."""
    if not sys.flags.safe_path:
        sys.path[0] = str(Path.cwd())
    sys.argv = [program.module, *program.arguments]
    runpy.run_module(program.module, run_name="__main__", alter_sys=True)


def _received(told: socket.socket) -> Program:
    """Become the process that was asked for."""
    message, files, *_ = socket.recv_fds(told, LONGEST, MOST_FILES)
    told.detach()
    request = json.loads(message)
    program = Program(**request["program"])
    if program.has_own_session:
        os.setsid()
    _put(files, program.files)
    with contextlib.suppress(OSError):  # some systems have no /proc; it only helps people
        Path("/proc/self/comm").write_text(program.name)
    os.umask(request["umask"])
    os.chdir(program.folder)
    os.environ.clear()
    os.environ.update(program.environment)
    time.tzset()  # Python has read TZ already
    sys.stdout.reconfigure(line_buffering=os.isatty(1))  # type: ignore[union-attr]
    return program


def _put(files: list[int], numbers: list[int]) -> None:
    """Give these files their numbers, and close all others."""
    above = max(numbers) + 1
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD, above) for file in files]
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
    edges = [2, *sorted(numbers[3:]), os.sysconf("SC_OPEN_MAX")]
    for before, after in itertools.pairwise(edges):
        if before + 1 < after:  # an empty range would close them all
            os.closerange(before + 1, after)


def ignore_interrupts() -> Any:
    """Ignore a Ctrl-C, for this process tells how parties end at it; return what was done before."""
    return signal.signal(signal.SIGINT, signal.SIG_IGN)


def serve(asked: socket.socket, at_interrupt: Any) -> Program | None:
    """Fork until nobody can ask any more, then return None; in each child, return what it is to run.

    `at_interrupt`: what a child does at a Ctrl-C.
    """
    assert threading.active_count() == 1, threading.enumerate()  # noqa: S101  # no child would have the others
    gc.freeze()  # else the first collection of every child would copy all of it
    told = _Server(asked).serve()
    if told is None:
        return None
    signal.signal(signal.SIGINT, at_interrupt)
    gc.enable()
    return _received(told)


def main() -> None:
    at_interrupt = ignore_interrupts()
    *modules, number = sys.argv[1:]
    gc.disable()  # nothing of what is imported goes away again
    for module in modules:
        with contextlib.suppress(ImportError):  # whoever needs what is not installed says so
            importlib.import_module(module)
    from unpooled.memory import tokenizer

    tokenizer.load_kernels()  # and Numba with them; no thread is left of it
    if program := serve(socket.socket(fileno=int(number)), at_interrupt):
        if program.may_ask:
            starting.ask(socket.socket(fileno=program.files[-1]))
        run(program)


if __name__ == "__main__":
    main()
