"""The wheels of our distributions, and how pip is run.

python packaging/wheels.py FOLDER core client    builds two of them into a folder
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns("build", "*.egg-info", "tests", "__pycache__")


def build(into: Path, *names: str) -> None:
    """Build distributions into a folder, by their folders' names, with the locked setuptools."""
    # From copies: setuptools leaves folders behind, which a later wheel would take files from.
    with tempfile.TemporaryDirectory() as folder:
        tools, copies = Path(folder, "tools"), Path(folder, "copies")
        sources = [shutil.copytree(ROOT / name, copies / name, ignore=LEFT_OUT) for name in names]
        pip("download", *locked("build"), "--dest", tools)
        pip("wheel", "--no-deps", "--no-index", "--find-links", tools, "--wheel-dir", into, *sources)


def locked(*locks: str) -> list[object]:
    """Return the words that have pip take what these files of constraints/ list, with their hashes."""
    files = [word for name in locks for word in ("-r", ROOT / "constraints" / f"{name}.txt")]
    return ["--only-binary=:all:", "--require-hashes", *files]


def pip(*arguments: object, python: Path | str = sys.executable) -> None:
    """Run pip. Raises CalledProcessError."""
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def run(*command: object) -> None:
    """Run a program of our choice. Raises CalledProcessError."""
    subprocess.run([*map(str, command)], check=True)  # noqa: S603


def sums(folder: Path) -> str:
    """Return the lines of SHA256SUMS: the digest of each file of a folder, as sha256sum has it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "".join(f"{sha256(file)}  {file.relative_to(folder).as_posix()}\n" for file in files)


def sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def size(folder: Path) -> str:
    """Say how much a folder holds, in units of a million bytes."""
    return f"{sum(path.lstat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6:.0f} MB"


if __name__ == "__main__":
    build(Path(sys.argv[1]), *sys.argv[2:])
