"""Forked processes have what they are given, and nothing of one another."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from unpooled_webapp import starting
from unpooled_webapp.starting import Program

pytestmark = pytest.mark.skipif(not starting.CAN_FORK, reason="no fork")

TELLS = """
import os
umask = os.umask(0)
print(open("/proc/self/comm").read().strip(), oct(umask))
"""
WAITS = """
import sys, time
time.sleep(float(*sys.argv[1:] or ["600"]))
"""
ASKS = """
import os
from unpooled_webapp import starting
from unpooled_webapp.starting import Program
process = starting.start(Program("asked", "waits", ["0"], os.environ))
print(type(process).__name__, process.wait())
"""
# Memory that it may write is where anything was ever read to; what it looks for is not in its own text.
LOOKS = """
import re
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
    for line in maps:
        ends, rights, *_ = line.split()
        if rights.startswith("rw") and "[v" not in line:
            start, end = (int(word, 16) for word in ends.split("-"))
            memory.seek(start)
            found += len(re.findall(b"secret-[0-9]{6}", memory.read(end - start)))
print(found)
"""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which a fork server runs, and in which these programs are modules."""
    for name, text in {"waits": WAITS, "tells": TELLS, "asks": ASKS, "looks": LOOKS}.items():
        (tmp_path / f"{name}.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        patch.setattr(starting, "_server", None)  # another test's platform may be running
        with starting.forking():
            yield os.environ.copy()


def said(program: Program, tmp_path: Path) -> str:
    """Run a program to its end, which is good; what it prints."""
    with (tmp_path / "said").open("w+") as out:
        assert starting.start(program, (0, out.fileno(), 2)).wait() == 0
        out.seek(0)
        return out.read().strip()


def test_a_fork_has_a_name_and_the_umask_of_whoever_asks(environment: dict[str, str], tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        told = said(Program("its name", "tells", [], environment), tmp_path)
    finally:
        os.umask(before)
    assert told == "its name 0o27"


def test_one_that_may_ask_is_heard_by_the_same_server(environment: dict[str, str], tmp_path: Path) -> None:
    program = Program("asks", "asks", [], environment)
    assert said(program, tmp_path) == "Popen 0"
    assert said(replace(program, may_ask=True), tmp_path) == "Forked 0"


def test_no_party_has_anothers_secrets_in_its_memory(environment: dict[str, str], tmp_path: Path) -> None:
    secret = environment | {"UNPOOLED_SECRET": "secret-123456"}
    assert int(said(Program("knows it", "looks", [], secret), tmp_path)) > 0
    assert int(said(Program("does not", "looks", [], environment), tmp_path)) == 0


def test_without_its_server_a_program_starts_from_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    waiting = starting.start(Program("waits", "waits", [], environment))
    assert isinstance(waiting, starting.Forked)
    (server,) = re.findall(r"PPid:\t(\d+)", Path(f"/proc/{waiting.pid}/status").read_text())
    os.kill(int(server), signal.SIGKILL)
    assert isinstance(starting.start(Program("tells", "tells", [], environment)), subprocess.Popen)
    assert waiting.poll() is None  # it goes on
    waiting.kill()
    assert waiting.wait() == 255  # there was nobody to tell how


READS = """
import importlib, os, sys
from unpooled_webapp import starting
read = []
original = os._Environ.__getitem__
os._Environ.__getitem__ = lambda environment, name: read.append(name) or original(environment, name)
for name in sys.argv[1:]:
    importlib.import_module(name)
from django.conf import settings
print(settings.configured, [name for name in read if name.startswith(starting.TOLD)])
"""


def test_what_is_imported_beforehand_reads_nothing_that_a_party_is_told() -> None:
    methods = [*starting.methods_like("linear"), *starting.methods_like("z-score")]
    modules = {*starting.PLATFORM, *starting.COMPENSATOR, *starting.CLIENT, *methods}
    command = [sys.executable, "-c", READS, *sorted(modules)]
    # As a fork server's: wsgiref copies whatever environment it is imported in.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(starting.TOLD)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "False []\n"
