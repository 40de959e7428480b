"""Child processes that start others, and where those of the web ring."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from unpooled_webapp import starting
from unpooled_webapp.processes import Child
from unpooled_webapp.starting import CAN_FORK, Forked, forking

FORKS = """
import os, signal, sys
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(int(sys.argv[1]), b"forked")
while True:
    signal.pause()
"""


@pytest.fixture(params=["forked", "from nothing"])
def child_and_pipe(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Child, int]]:
    """A child that has forked. The pipe ends when neither it nor what it forked lives any more."""
    (tmp_path / "forks.py").write_text(FORKS)
    ours, theirs = os.pipe()
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setenv("PYTHONPATH", str(tmp_path))
        patch.setattr(starting, "_server", None)  # another test's platform may be running
        if request.param == "forked":
            stack.enter_context(forking())
        child = Child("forks", ["forks", str(theirs)], os.environ, (theirs,))
        child.start()
        os.close(theirs)
        assert isinstance(child.process, Forked) == (CAN_FORK and request.param == "forked")
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


SCRIPT = """
import threading
import unpooled_webapp.wsgi
from unpooled_server import tasks

def show():
    print(tasks.advance_round.app.conf.broker_url)

thread = threading.Thread(target=show)  # requests are answered by other threads than the first
thread.start()
thread.join()
show()
"""


@pytest.mark.parametrize("broker", ["redis://127.0.0.1:1/5", "redis://:word@127.0.0.1:1/0"])
def test_every_thread_of_a_web_process_rings_at_the_set_broker(broker: str, tmp_path: Path) -> None:
    environment = {**os.environ, "UNPOOLED_HOME": str(tmp_path), "UNPOOLED_BROKER_URL": broker}
    environment["DJANGO_SETTINGS_MODULE"] = "unpooled_webapp.settings"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout.split() == [broker, broker]
