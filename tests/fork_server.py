"""Forks a process for each start of a program, from one that has already imported what takes long.

    python fork_server.py SOCKET PROGRAM     SOCKET: the number of the inherited one by which it is asked

Importing takes a second or two of a core; a fork takes milliseconds. The child gets a session, a folder, an
environment and standard streams of its own, forgets all other files, and then runs its module as `python -m`
does: from the top of this process, so that it ends as Python ends. starting.py asks; the two are one idea.

A child must not inherit what a fresh process would not have: nothing here starts a thread, opens a file, or
imports a module that reads the environment (what needs Django's settings is imported by the child). NumPy's
BLAS ends its threads before a fork, by itself; `random` seeds itself anew, and masks come from os.urandom.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

# What is imported before a program is asked for, by program: packages with all that is in them, and modules.
_LIBRARY = ("unpooled",)
_PLATFORM = (
    *_LIBRARY,
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
    "httpx",
    "kombu",
    "redis",
    "requests",
    "yaml",
)
IMPORTED = {
    "unpooled_client": (*_LIBRARY, "unpooled_client", "httpx"),
    "unpooled_compensator": ("unpooled_compensator",),
    "unpooled_webapp": _PLATFORM,
    "gunicorn": _PLATFORM,
    "celery": _PLATFORM,
    "tests.told": (),
}
PROGRAMS = {program: next(p for p in IMPORTED if IMPORTED[p] is IMPORTED[program]) for program in IMPORTED}
"""Program whose server starts it, by module."""
_LEFT_OUT = ("unpooled.notebook", "unpooled_client.window", "unpooled_client.commands.window")
"""Have dependencies that start threads, and that few processes load."""
LONGEST = 1 << 17  # bytes of a request; it holds an environment


def _import(name: str) -> None:
    if name.startswith(_LEFT_OUT) or name.endswith("__main__"):
        return
    module = importlib.import_module(name)
    if name.startswith("unpooled") and hasattr(module, "__path__"):
        for inner in pkgutil.iter_modules(module.__path__, f"{name}."):
            _import(inner.name)


def _load_kernels() -> None:
    """Have the library's compiled functions at hand; no thread is left of it."""
    warming = importlib.import_module("unpooled_server.bells.warming")
    warming.warm_up()
    for name in [name for name in sys.modules if name.partition(".")[0] == "unpooled_server"]:
        del sys.modules[name]  # no client has them, and the server's are armed as it loads them


class _Server:
    """Answers requests, and tells how the processes end that it has forked."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._children: dict[int, tuple[int, socket.socket]] = {}
        """Number of a child and where to report its end, by the file that becomes readable then."""
        self._poll = select.poll()
        self._poll.register(asked, select.POLLIN)

    def serve(self) -> dict[str, Any] | None:
        """Serve until nobody can ask any more, then return None; in a child, return what it is to run."""
        while True:
            for file, _ in self._poll.poll():
                if file != self._asked.fileno():
                    self._tell(file)
                    continue
                message, files, *_ = socket.recv_fds(self._asked, LONGEST, 4)
                if not message:
                    return None
                if request := self._fork(json.loads(message), files):
                    return request

    def _fork(self, request: dict[str, Any], files: list[int]) -> dict[str, Any] | None:
        report, *streams = files
        pid = os.fork()
        if pid == 0:
            self._forget()
            _begin(request, streams)
            return request
        for stream in streams:
            os.close(stream)
        child, told = os.pidfd_open(pid), socket.socket(fileno=report)
        socket.send_fds(told, [str(pid).encode()], [child])
        self._children[child] = pid, told
        self._poll.register(child, select.POLLIN)
        return None

    def _tell(self, file: int) -> None:
        pid, told = self._children.pop(file)
        self._poll.unregister(file)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # nobody asks any more
            told.send(str(status).encode())
        told.close()
        os.close(file)

    def _forget(self) -> None:
        """Let a child not close, once they are collected, what will be other files by then."""
        self._asked.detach()
        for _, told in self._children.values():
            told.detach()


def _begin(request: dict[str, Any], streams: list[int]) -> None:
    os.setsid()
    for number, stream in enumerate([fcntl.fcntl(stream, fcntl.F_DUPFD, 3) for stream in streams]):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()  # Django sets TZ in the process of a test that loads it


def main() -> None:
    number, program = sys.argv[1:]
    asked = socket.socket(fileno=int(number))
    import launch  # beside this file

    armed = launch.arm()
    del sys.path[0]  # the folder of tests: none of these is to import one
    sys.path.insert(0, "")
    for name in IMPORTED[program]:
        _import(name)
    if _LIBRARY[0] in IMPORTED[program]:
        _load_kernels()
    assert threading.active_count() == 1, threading.enumerate()
    gc.collect()
    gc.freeze()  # else the first collection of every child would copy all of it
    request = _Server(asked).serve()
    if request is not None:
        if request["gates"]:
            armed.by(Path(request["gates"]))
        launch.run(request["module"], request["arguments"])


if __name__ == "__main__":
    main()
