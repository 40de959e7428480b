"""A program that is forked behaves as one that Python starts from nothing; each place and stub is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from . import launch, leaks
from .parties import until
from .starting import CAN_FORK, Forked, Process, Program, run, start

pytestmark = pytest.mark.without_services
CLIENT = "unpooled_client"
SHOWN = """
import json, os, signal, sys, threading
from pathlib import Path
print(json.dumps({
    "arguments": sys.argv[1:], "first": sys.path[0], "folder": os.getcwd(), "said": sys.stdin.read(),
    "environment": dict(os.environ), "leads": os.getsid(0) == os.getpid(), "name": __name__,
    "interrupts": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "files": sorted(os.listdir("/proc/self/fd"))[:3], "more": len(os.listdir("/proc/self/fd")) > 4,
    "threads": threading.active_count(), "random": os.urandom(4).hex(),
}))
print("complained", file=sys.stderr)
"""


@pytest.fixture(params=["forked", "from nothing"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Process], bool]:
    """What tells whether a process was started so; where there is no fork, all are from nothing."""
    forks = CAN_FORK and request.param == "forked"
    if not forks:
        monkeypatch.setattr("tests.starting.CAN_FORK", False)
    return lambda process: isinstance(process, Forked) == forks


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Program]:
    """Makes a program of some lines: in the place of the client's, for only ours are forked."""
    (package := tmp_path / CLIENT).mkdir()

    def make(lines: str, *arguments: str) -> Program:
        (package / "__main__.py").write_text(lines)
        return Program(CLIENT, arguments)

    return make
