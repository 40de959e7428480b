"""Child processes that start others, as Celery's worker starts its beat."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from tests.patience import PATIENCE
from unpooled_webapp.processes import Child

FORKS = """
import os, signal, sys
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(int(sys.argv[1]), b"forked")
while True:
    signal.pause()
"""


@pytest.fixture
def child_and_pipe() -> Iterator[tuple[Child, int]]:
    """A child that has forked. The pipe ends when neither it nor what it forked lives any more."""
    ours, theirs = os.pipe()
    child = Child("forks", [sys.executable, "-c", FORKS, str(theirs)], os.environ, (theirs,))
    child.start()
    os.close(theirs)
    assert read(ours) == b"forked"
    yield child, ours
    child.stop()
    os.close(ours)


def read(pipe: int) -> bytes:
    ready, _, _ = select.select([pipe], [], [], PATIENCE)
    assert ready, "nothing comes: somebody still holds the pipe"
    return os.read(pipe, 100)


def test_what_a_process_forked_ends_when_it_dies_alone(child_and_pipe: tuple[Child, int]) -> None:
    child, pipe = child_and_pipe
    assert child.process is not None
    os.kill(child.process.pid, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while not (said := child.keep_running()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert said is not None
    assert "forks ended with status -9" in said
    assert read(pipe) == b""


def test_what_a_process_forked_ends_when_it_is_stopped(child_and_pipe: tuple[Child, int]) -> None:
    child, pipe = child_and_pipe
    child.stop()
    assert child.process is not None
    assert child.process.returncode == -signal.SIGTERM
    assert read(pipe) == b""
