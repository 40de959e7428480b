"""The folder that PyInstaller made: `pytest tests/test_frozen.py --frozen dist/unpooled-client`.

To make it takes more than a minute, so this is run by hand: `make freeze`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unpooled.plan.common_options import ENCRYPTED
from unpooled_client.commands.cli import cli

from .federation import Federation
from .patience import until

SUFFIX = ".exe" if sys.platform == "win32" else ""


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest) -> Path:
    given = request.config.getoption("--frozen")
    if not given:
        pytest.fail("say which by --frozen FOLDER; `make freeze` makes one")
    return Path(given).resolve()


@pytest.fixture(scope="module")
def program(folder: Path) -> str:
    return str(folder / f"unpooled-client{SUFFIX}")


def output(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("command", cli.list_commands(None))  # type: ignore[arg-type]
def test_every_command_is_in_it(program: str, command: str) -> None:
    assert f"unpooled-client {command}" in output(program, command, "--help")


def test_it_reads_genotypes_and_tables(program: str, small: tuple[Path, ...], tmp_path: Path) -> None:
    assert "Ready: no errors" in output(program, "check", "--bfile", small[0])
    (tmp_path / "table.csv").write_text("a,b\n" + "".join(f"{k},{k * k}\n" for k in range(60)))
    assert "rows: 60" in output(program, "check", "--table", tmp_path / "table.csv")


@pytest.mark.parametrize("plan", [{"test": "chi-square"}, {"test": "logistic"}, {"trust": ENCRYPTED}])
def test_a_study_in_which_one_cohort_has_it(
    running: Federation, program: str, small: tuple[Path, ...], plan: dict[str, str]
) -> None:
    plain, trial = (running.study(small, **plan) for _ in range(2))
    frozen = trial.cohorts[0].party
    frozen.command = [program, *frozen.command.arguments]
    for each in (plain, trial):
        each.start()
        each.until_over()
        assert each.state == "done", each.story()
    results = trial.cohorts[0].results()
    assert len(results) > 1 and results == plain.cohorts[0].results()


def test_a_run_in_the_background(running: Federation, program: str, small: tuple[Path, ...]) -> None:
    """It starts itself anew, by a path that is not Python's."""
    trial = running.study(small)
    first, *others = trial.cohorts
    for cohort in others:
        cohort.party.spawn()
    output(program, *first.party.command.arguments, "--detach")
    until(lambda: trial.state == "done", trial.story)
    until(lambda: (first.folder / "results" / "study.assoc").exists(), trial.story)


def test_the_window_opens(folder: Path) -> None:
    window = folder / f"unpooled-window{SUFFIX}"
    if not window.exists():
        pytest.skip("made without the window")
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    with subprocess.Popen([window], stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            said = process.communicate(timeout=5)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return
    raise AssertionError(f"it has ended with status {process.returncode}: {said}")
