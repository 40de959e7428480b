"""A program that is forked behaves as one that Python starts from nothing; each place and stub is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from unpooled_webapp.starting import Forked

from . import launch, leaks
from .parties import Party
from .patience import until
from .starting import CAN_FORK, Program, run, start

TOLD = "tests.told"
ROOT = Path(__file__).parents[1]


@pytest.fixture(params=["forked", "from nothing"])
def forked(request: pytest.FixtureRequest) -> Iterator[bool]:
    """True if programs are forked; where there is no fork, none is."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "from nothing":
            patch.setattr("tests.starting.CAN_FORK", False)
        yield CAN_FORK and request.param == "forked"


def test_it_has_its_own_arguments_streams_folder_environment_and_session(forked: bool) -> None:
    environment = {"PATH": os.environ["PATH"], "ONE": "1"}
    done = run(Program(TOLD, ["tells", "3"]), says="a line\n", environment=environment, folder=ROOT)
    said, end = done.stdout.splitlines()
    about = json.loads(said)
    assert about["environment"].items() >= environment.items() and "HOME" not in about["environment"]
    assert (about["name"], about["arguments"], about["read"]) == ("__main__", ["tells", "3"], "a line\n")
    assert about["path"] == about["folder"] == str(ROOT)
    assert about["leads"] and about["interrupts"]
    assert (about["threads"], about["files"]) == (1, 0)
    assert (done.returncode, done.stderr, end) == (3, "", "at exit")


def test_it_fails_as_python_fails(forked: bool) -> None:
    done = run(Program(TOLD, ["fails"]), folder=ROOT)
    assert done.returncode == 1
    assert "Traceback" in done.stderr and done.stderr.endswith("ValueError: as it should\n")
    assert done.stdout.endswith("at exit\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_is_its_status(forked: bool, number: signal.Signals, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b") as log:
        process = start(Program(TOLD, ["waits"]), stdout=log, stderr=log, folder=ROOT)
        assert isinstance(process, Forked) == forked
        until(lambda: (tmp_path / "log").read_bytes(), lambda: "it says nothing")
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.send_signal(number)
        assert process.wait() == process.poll() == -number
        process.kill()  # an end is no error, and no other process is hit
    assert (b"KeyboardInterrupt" in (tmp_path / "log").read_bytes()) == (number == signal.SIGINT)


def test_a_party_is_found_among_processes_until_it_is_killed(forked: bool, tmp_path: Path) -> None:
    command = Program("unpooled_compensator", ["serve", "--state", str(tmp_path / "state"), "--port", "0"])
    party = Party("compensator", command, tmp_path / "log", "Fingerprint")
    party.start()
    assert party.process is not None and isinstance(party.process, Forked) == forked
    os.kill(party.process.pid, 0)
    party.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(party.process.pid, 0)
    assert party.has_ended


@pytest.mark.skipif(not CAN_FORK, reason="no fork")
def test_what_python_reads_at_its_start_makes_it_start_from_nothing() -> None:
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "folder": ROOT}
    other = {**os.environ, "PYTHONPATH": "elsewhere"}
    elsewhere = {**os.environ, "TZ": "Asia/Tokyo"}  # as Django sets it, and a fork heeds it
    assert isinstance(start(Program(TOLD, ["tells"]), **streams, environment=elsewhere), Forked)
    process = start(Program(TOLD, ["tells"]), **streams, environment=other)
    assert isinstance(process, subprocess.Popen)
    process.wait()


def test_each_place_and_each_stub_is_there() -> None:
    """They are text; so a function that is renamed or moved is found here, before any party waits for it."""
    lines = [
        "import django, importlib, sys",
        "django.setup()",
        "sys.path.insert(0, sys.argv[1])",
        "import launch",
    ]
    lines += ["for place in sys.argv[2:]:"]
    lines += ["    owner, name = launch.owner_of(importlib.import_module(place.partition(':')[0]), place)"]
    lines += ["    assert callable(getattr(owner, name)), place"]
    places = sorted({*launch.PLACES, *leaks.EVERYWHERE})
    settings = {**os.environ, "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings"}
    command = [sys.executable, "-c", "\n".join(lines), str(Path(launch.__file__).parent), *places]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
