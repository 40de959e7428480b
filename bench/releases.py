"""Another release beside the one that is here, run by the same .venv: its sources are first on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(".cache/against")
DISTRIBUTIONS = ("core", "client", "compensator", "server", "webapp")


@dataclass(frozen=True)
class Release:
    """Sources in a folder, which the .venv here can run."""

    name: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Make the environment of a process that runs it; .venv's editable installs come after PYTHONPATH."""
        path = os.pathsep.join(str(self.folder / name / "src") for name in DISTRIBUTIONS)
        return os.environ | {"PYTHONPATH": path}

    def check(self) -> None:
        """Exit unless its own sources are what runs: else it would be measured beside itself."""
        words = [sys.executable, "-c", "import unpooled; print(unpooled.__file__)"]
        found = subprocess.run(words, env=self.environment, check=True, capture_output=True, text=True)
        if not Path(found.stdout.strip()).is_relative_to(self.folder):
            sys.exit(f"bench: {self.name} would run the sources in {found.stdout.strip()}")


def here() -> Release:
    return Release("here", Path.cwd())


def at(revision: str) -> Release:
    """Take the sources of a revision out of git, once."""
    commit = _git("rev-parse", "--verify", "--short=12", f"{revision}^{{commit}}").decode().strip()
    folder = (CACHE / commit).absolute()
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = _git("archive", commit, *(f"{name}/src" for name in DISTRIBUTIONS))
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    release = Release(revision, folder)
    release.check()
    return release


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], check=True, stdout=subprocess.PIPE).stdout
