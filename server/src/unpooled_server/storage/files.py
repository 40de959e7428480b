"""Files below one folder. A file is there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from unpooled.errors import ProtocolError


class OtherBytes(ProtocolError):
    """New bytes under a name that others have already: a nonce, or the round of a dealing."""


class Files:
    """The store that is a folder, which all processes of a platform share.

    `storage.objects.Objects` has the same methods over an object store.
    """

    is_shared = True
    """All processes see what lies below the root; else each machine has copies there of what they share."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def take(self, draft: Path, path: Path) -> None:
        """Give a draft its name, durably, in place of what has it now; the draft is gone then."""
        place(draft, path)

    def take_once(self, draft: Path, path: Path) -> None:
        """Give a draft a name that is never taken twice; OtherBytes if the name is of other bytes already."""
        try:
            # A link, not a rename: only a link fails if the name is taken, and that without a race.
            os.link(draft, path)
        except FileExistsError:
            is_whole = path.stat().st_size == draft.stat().st_size
            if is_whole and digest(draft.open("rb")) != digest(path.open("rb")):
                raise OtherBytes("other bytes were sent under this name before") from None
            # The same bytes again, or the rest of a file that a power failure cut short.
            draft.replace(path)
        # Flushed after it has its name: Linux's file systems then keep the name as well, and shares are
        # many. (Were it lost all the same, the cohort is asked again: see services.rounds.)
        _sync(path)

    def open(self, path: Path) -> BinaryIO:
        """Open a file to be read from its start to its end; FileNotFoundError."""
        return path.open("rb")

    def open_here(self, path: Path) -> BinaryIO:
        """Open a file, or a copy of it, that can be mapped into memory; FileNotFoundError."""
        return path.open("rb")

    def here(self, path: Path) -> Path:
        """Return where a file that never changes lies on this machine; FileNotFoundError."""
        return path

    def use(self, path: Path) -> None:
        """Note that a study's folder on this machine is in use."""

    def size(self, path: Path) -> int | None:
        """Return the bytes of a file; None if it is not there."""
        try:
            return path.stat().st_size
        except OSError:
            return None

    def below(self, folder: Path) -> Iterator[tuple[Path, int]]:
        """Give the files in a folder and its folders, with their bytes."""
        for path in sorted(folder.rglob("*")):
            if path.is_file() and (size := self.size(path)) is not None:  # a running study deletes files
                yield path, size

    def delete(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)

    def delete_folder(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def adopt(self, path: Path) -> None:
        """Move a file, or a folder with all that is in it, from elsewhere on this machine into the root."""
        shutil.move(path, self.root / path.name)

    def touch(self, path: Path) -> None:
        """Note that something was done now, under a name."""
        path.touch(0o600)

    def age(self, path: Path) -> float | None:
        """Return the seconds since a file was touched; None if it never was."""
        try:
            return max(0.0, time.time() - path.stat().st_mtime)
        except FileNotFoundError:
            return None

    def tidy(self) -> None:
        """Delete copies on this machine that nobody has used for long: here there are none."""

    def check(self) -> None:
        """Raise where this store cannot keep what it is given."""


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Give the name of a draft beside a file, which is gone at the block's end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: two workers may write the same file, and either one's is whole.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def place(draft: Path, path: Path) -> None:
    """Give a draft on this machine its name, durably."""
    _sync(draft)
    draft.replace(path)
    _sync(path.parent)


@contextmanager
def whole_file(path: Path, take: Callable[[Path, Path], None] = place) -> Iterator[BinaryIO]:
    """Write a file that appears under its name, durably, once the block has ended well."""
    with drafted(path) as draft:
        with draft.open("xb") as out:
            yield out
        take(draft, path)


def write(path: Path, blocks: Iterable[bytes | memoryview]) -> None:
    """Write a file on this machine, which nobody else sees."""
    with path.open("wb") as out:
        out.writelines(blocks)


def _sync(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to its disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(file: BinaryIO) -> bytes:
    """SHA-256 of an open file, which is closed."""
    with file:
        return hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]
