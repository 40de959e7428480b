"""Files that are complete or absent, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from unpooled.errors import UnpooledError


class Remediable(UnpooledError):
    """A problem that has a remedy: what is wrong and where, and what the person can do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message, self.remedy = message, remedy
        super().__init__(f"{message} {remedy}".strip())


class StateError(UnpooledError):
    """The state folder cannot be used; says which and what to do."""


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Replace a file so that after a crash either the old or the new content is there, whole."""
    with replacing(path, private=private) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """The new content of a file, which takes its place when the block ends, whole; not if it raises.

    Only this account may read it, whatever the umask: it holds people, or what belongs to this cohort alone.
    """
    make_private_folder(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)
    part = draft_of(path)
    try:
        # Private from the first byte: a chmod after it would leave a moment in which others can read.
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            # Before the rename: else a loss of power may leave the new name with an empty file.
            os.fsync(file.fileno())
        replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def draft_of(path: Path, process: int | str | None = None) -> Path:
    """Return the path at which a process, by default this one, writes the replacement of `path`."""
    return path.with_name(f".{path.name}.{os.getpid() if process is None else process}.part")


def replace(part: Path, path: Path) -> None:
    """Put a finished file in place. On Windows a virus scanner may hold the old one for a moment."""
    for _ in range(20 if os.name == "nt" else 0):
        with contextlib.suppress(PermissionError):
            part.replace(path)
            return
        time.sleep(0.05)
    part.replace(path)


_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends


def sync_folder(path: Path) -> None:
    """Make a rename durable, where folders can be opened (not on Windows, which needs no such thing)."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_folder(path: Path) -> None:
    """A folder that only this account may read; StateError if it cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StateError(
            f"the folder {path} cannot be made: {error.strerror}. Choose another with --state DIR."
        ) from error
