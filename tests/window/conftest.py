"""The real window, offscreen, with a real platform behind the command line that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.starting import Process, Program, start
from unpooled.simulate import SimulationReport, simulate
from unpooled_client.state.folder import known_folders
from unpooled_client.study import background

if TYPE_CHECKING:
    from window_desk import Desk

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "client/tests/engine")]

import client_fixtures  # noqa: E402
from client_trials import Member  # noqa: E402

cable, platform = client_fixtures.cable, client_fixtures.platform
study, trial = client_fixtures.study, client_fixtures.trial


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> SimulationReport:
    """Three small cohorts with a covariate."""
    folder = tmp_path_factory.mktemp("cohorts")
    return simulate(folder, cohorts=(80, 100, 120), variants=300, seed=7)


@pytest.fixture
def desk(qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A window in a profile of its own. Whatever it left running ends with the test."""
    from window_desk import Desk

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "profile"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    made = Desk(qtbot)
    yield made
    made.window.close()
    for folder in known_folders():
        background.stop(folder)


@pytest.fixture
def beside() -> Iterator[Callable[..., None]]:
    """Starts cohorts that take part as programs of their own, and accept everything."""
    running: list[Process] = []

    def take_part(*members: Member, data: str = "--bfile", more: Sequence[str] = ()) -> None:
        for member in members:
            words = member.command("--yes", "--quiet", *more)[3:]
            program = Program("unpooled_client", [word if word != "--bfile" else data for word in words])
            running.append(start(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    yield take_part
    for process in running:
        process.kill()
        process.wait()
