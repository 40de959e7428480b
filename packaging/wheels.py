"""The wheels of what a hospital installs, and how they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns("build", "*.egg-info", "tests", "__pycache__")


def build(into: Path, *, window: bool) -> list[str]:
    """Build unpooled-core and unpooled-client into a folder; what pip is told to install both from there."""
    # From copies: setuptools leaves folders behind, which a later wheel would take files from.
    with tempfile.TemporaryDirectory() as copies:
        sources = [
            shutil.copytree(ROOT / name, Path(copies, name), ignore=LEFT_OUT) for name in ("core", "client")
        ]
        pip("wheel", "--no-deps", "--wheel-dir", into, *sources)
    (core,), (client,) = into.glob("unpooled_core-*.whl"), into.glob("unpooled_client-*.whl")
    # Both by their paths: no index is asked for names that somebody else may have there.
    return [f"{core}[algorithms]", f"{client}[window]" if window else str(client)]


def pip(*arguments: object, python: Path | str = sys.executable) -> None:
    """Run pip. Raises CalledProcessError."""
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def run(*command: object) -> None:
    """Run a program of our choice. Raises CalledProcessError."""
    subprocess.run([*map(str, command)], check=True)  # noqa: S603


def size(folder: Path) -> str:
    """What a folder holds, in units of a million bytes."""
    return f"{sum(path.lstat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6:.0f} MB"
