"""Files in an object store, where each name has the bytes of one whole upload: `s3://bucket/prefix`.

A path names a file of the store, and the place of its copy on this machine, below a folder of scratch.
"""

from __future__ import annotations

import errno
import io
import logging
import mmap
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qsl, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from unpooled_server.errors import StoreAway, UnfitStore
from unpooled_server.storage.files import Files, OtherBytes, digest, drafted

log = logging.getLogger(__name__)

_BLOCK = 1 << 23
"""Bytes that a request asks the store for, or brings it of a large file."""
_KEPT = 86400.0
"""Seconds without use after which this machine's copies of a study's files go."""


class Objects(Files):
    """The store that is a bucket, which processes on any number of machines share."""

    is_shared = False

    def __init__(self, address: str, key: str, root: Path) -> None:
        """`key`: `name:secret`; empty where the environment or the machine has the credentials."""
        super().__init__(root)
        parts = urlsplit(address)
        options: dict[str, Any] = dict(parse_qsl(parts.query))
        if key:
            options["access_key_id"], _, options["secret_access_key"] = key.partition(":")
        try:
            self._store = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                config=options,  # type: ignore[arg-type]  # an operator may give any of its settings
                client_options={
                    "allow_http": options.get("endpoint", "").startswith("http://"),
                    "connect_timeout": timedelta(seconds=5),
                    "timeout": timedelta(minutes=10),  # a share may have a gigabyte
                },
                retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=10)},
            )
        except (BaseError, ValueError) as error:
            raise UnfitStore(f"UNPOOLED_STORE: {_first_line(error)}") from None

    def _key(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def take(self, draft: Path, path: Path) -> None:
        with draft.open("rb") as file:
            self._put(path, file)
        draft.unlink()

    def take_once(self, draft: Path, path: Path) -> None:
        # Mapped, so that a large share is not in memory: in parts it could not be put on a condition.
        with draft.open("rb") as file:
            is_empty = not draft.stat().st_size
            data = b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._put(path, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            if digest(draft.open("rb")) != digest(self.open(path)):
                raise OtherBytes("other bytes were sent under this name before") from None

    def _put(self, path: Path, data: Any, **options: Any) -> None:
        with _answering():
            try:
                obstore.put(
                    self._store, self._key(path), data, chunk_size=_BLOCK, max_concurrency=4, **options
                )
            except FileNotFoundError:
                raise StoreAway(errno.EIO, "the store has no such bucket") from None

    def open(self, path: Path) -> BinaryIO:
        size = self.size(path)
        if size is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return io.BufferedReader(_Object(self._store, self._key(path), size), _BLOCK)

    def open_here(self, path: Path) -> BinaryIO:
        file = tempfile.TemporaryFile(dir=self.root)  # noqa: SIM115  # for the caller to close
        with _answering():
            for block in obstore.get(self._store, self._key(path)).stream(min_chunk_size=_BLOCK):
                file.write(block)
        file.flush()
        file.seek(0)
        return file

    def here(self, path: Path) -> Path:
        self.use(path)
        if not path.exists():
            with self.open_here(path) as file, drafted(path) as draft:
                with draft.open("xb") as out:
                    shutil.copyfileobj(file, out)
                draft.rename(path)
        return path

    def use(self, path: Path) -> None:
        folder = self.root.joinpath(*path.relative_to(self.root).parts[:2])
        if not folder.exists():  # a machine without a worker has no sweep
            self.tidy()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)

    def size(self, path: Path) -> int | None:
        found = self._head(path)
        return None if found is None else int(found["size"])

    def _head(self, path: Path) -> Any:
        try:
            with _answering():
                return obstore.head(self._store, self._key(path))
        except FileNotFoundError:
            return None

    def below(self, folder: Path) -> Iterator[tuple[Path, int]]:
        with _answering():
            for found in self._store.list(self._key(folder)):
                yield from ((self.root / each["path"], each["size"]) for each in found)

    def delete(self, paths: Iterable[Path]) -> None:
        if keys := [self._key(path) for path in paths]:
            with _answering():
                obstore.delete(self._store, keys)

    def delete_folder(self, folder: Path) -> None:
        self.delete(path for path, _ in self.below(folder))
        super().delete_folder(folder)

    def adopt(self, path: Path) -> None:
        for file in (path, *path.rglob("*")):
            if file.is_file():
                self.take(file, self.root / file.relative_to(path.parent))

    def touch(self, path: Path) -> None:
        self._put(path, b"")

    def age(self, path: Path) -> float | None:
        if (found := self._head(path)) is None:
            return None
        return max(0.0, time.time() - float(found["last_modified"].timestamp()))

    def tidy(self) -> None:
        for folder in self.root.glob("studies/*"):
            if time.time() - folder.stat().st_mtime > _KEPT:
                super().delete_folder(folder)

    def check(self) -> None:
        probe = self.root / f"probe-{secrets.token_hex(8)}"
        try:
            for _ in range(2):
                self._put(probe, b"?", mode="create", use_multipart=False)
        except AlreadyExistsError:
            return
        finally:
            self.delete([probe])
        raise UnfitStore(
            "The store of UNPOOLED_STORE lets a name be taken twice: two uploads could overwrite each other. "
            "Use one that keeps to `If-None-Match: *`, as Amazon S3, MinIO and Ceph do."
        )


class _Object(io.RawIOBase):
    """The bytes of an object, asked for where they are read."""

    def __init__(self, store: S3Store, key: str, size: int) -> None:
        super().__init__()
        self._store, self._key, self._size, self._at = store, key, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), self._size - self._at)
        if count > 0:
            with _answering():
                found = obstore.get_range(self._store, self._key, start=self._at, length=count)
            buffer[:count] = memoryview(found)
            self._at += count
        return max(count, 0)


@contextmanager
def _answering() -> Iterator[None]:
    """StoreAway where the store does not do what it is asked, but for a name that is taken, or not there."""
    try:
        yield
    except AlreadyExistsError:
        raise
    except BaseError as error:
        log.error("the store does not answer: %s", _first_line(error))
        raise StoreAway(errno.EIO, "the store does not answer") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]
