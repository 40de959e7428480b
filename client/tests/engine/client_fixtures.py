"""A platform, studies on it and a cable to it, for the tests of the engine and those of the window."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from client_cable import Cable
from client_trials import Platform, Trial, make_trial

from unpooled.simulate import SimulationReport


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Run a real platform with a compensator, as processes; one for all tests that need it."""
    running = Platform(tmp_path_factory.mktemp("platform") / "home")
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def study(platform: Platform, files: SimulationReport, tmp_path: Path) -> Callable[..., Trial]:
    """Make a study of three cohorts, whose `files` each folder has of its own, with changes to its plan."""
    return functools.partial(make_trial, platform, files.cohorts, tmp_path)


@pytest.fixture
def trial(study: Callable[..., Trial]) -> Trial:
    """The usual study."""
    return study()


@pytest.fixture
def cable(platform: Platform) -> Iterator[Cable]:
    laid = Cable(platform.url)
    yield laid
    laid.close()
