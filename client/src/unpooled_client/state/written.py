"""Record of the files outside the state folder that this client wrote: it replaces no others.

Kept in the state folder by path and digest. So a file that somebody has changed since is theirs, and stays.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from unpooled_client.state.files import Remediable, draft_of, replace, sync_folder, write_atomically
from unpooled_client.state.folder import StateFolder

ELSEWHERE = "Move them away, or choose another folder with --out, and start again."


class NotOurs(Remediable):
    """Files that this client did not write stand where it would write."""

    def __init__(self, *paths: Path, remedy: str = ELSEWHERE) -> None:
        self.paths = paths
        names = ", ".join(path.name for path in paths)
        super().__init__(
            f"{paths[0].parent} has files that this program did not write: {names}. They were left alone, "
            "and the new files of the same names were not written.",
            remedy,
        )


class Written:
    """Record of what was written, which tells whether a place is free to be written to."""

    def __init__(self, folder: StateFolder, remedy: str = ELSEWHERE) -> None:
        """`remedy`: what to do where a place is not free."""
        self._file, self._remedy = folder.path / "written.json", remedy

    def refuse_foreign(self, path: Path) -> None:
        """NotOurs if something stands there that this client did not write, or not as it is now."""
        if os.path.lexists(path) and not self._wrote(path):
            raise NotOurs(path, remedy=self._remedy)

    def claim(self, path: Path, sha256: str) -> None:
        """Remember that a file of this digest will stand there; to be said before it does.

        The digest of a file that is replaced is kept until the next time: a crash may leave that one there.
        Raises NotOurs, unless what stands there has this digest already: then nothing is lost.
        """
        if not (_is_plain(path) and digest_of(path) == sha256):
            self.refuse_foreign(path)
        known = self._known()
        old = [digest_of(path)] if path.is_file() else []
        known[_key(path)] = sorted({*old, sha256})
        write_atomically(self._file, json.dumps(known, indent=1).encode(), private=True)

    def put(self, path: Path, data: bytes) -> None:
        """Write a file, whole or not at all. Raises NotOurs."""
        _drop_drafts(path)
        self.claim(path, hashlib.sha256(data).hexdigest())
        write_atomically(path, data)

    @contextlib.contextmanager
    def draft(self, path: Path, *, of_people: bool) -> Iterator[Path]:
        """Yield a path for the content that takes its place at `path` when the block ends, whole; not if it
        raises.

        What is `of_people` only this account may read, whatever the umask. Raises NotOurs as `claim` does.
        """
        _drop_drafts(path)
        part = draft_of(path)
        part.touch(0o600 if of_people else 0o666)
        try:
            yield part
            self.claim(path, digest_of(part))
            replace(part, path)
            sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)

    def _wrote(self, path: Path) -> bool:
        known = self._known().get(_key(path), ())
        return bool(known) and _is_plain(path) and digest_of(path) in known

    def _known(self) -> dict[str, list[str]]:
        try:
            found: dict[str, list[str]] = json.loads(self._file.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}  # then nothing is ours, and nothing is replaced
        return found


def _drop_drafts(path: Path) -> None:
    """Remove what a client that was killed had begun to write there: one at a time writes a study's files."""
    for part in path.parent.glob(draft_of(Path(glob.escape(path.name)), "*").name):
        part.unlink(missing_ok=True)


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _key(path: Path) -> str:
    # Of its folder only: a link is a file of its own.
    return str(path.parent.resolve() / path.name)
