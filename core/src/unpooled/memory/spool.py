"""Columns that are made piece by piece, and arrays that are kept, lie on the disk from a size on, mapped.

The system may drop what is mapped from memory and read it again, so a list of any length needs little of it.

The files have no name: whatever ends the program, nothing of them stays behind.
"""

from __future__ import annotations

import copy
import dataclasses
import mmap
import os
import sys
import tempfile
import weakref
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike

from unpooled.errors import DataProblem
from unpooled.protocol import codec

ROOM = 1 << 22
"""Bytes of a column that are in memory before it goes to the disk."""
AT_ONCE = 1 << 19
"""Rows of a long list that are looked at at once."""
_ALIGNED = 64


class NoRoom(DataProblem):
    """The disk has no room for what does not fit into memory."""


class Spool:
    """A column that grows. `room`: bytes that are kept in memory; what comes then is written to the disk."""

    def __init__(self, dtype: DTypeLike, room: int = ROOM) -> None:
        self.dtype, self._room = np.dtype(dtype), room
        self._parts: list[np.ndarray] = []
        self._held, self._rows = 0, 0
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return self._rows

    def append(self, part: np.ndarray) -> None:
        """Add some rows. NoRoom if the disk is full."""
        part = np.ascontiguousarray(part, self.dtype)
        self._parts.append(part)
        self._rows += len(part)
        self._held += part.nbytes
        if self._held > self._room:
            self._write()

    def column(self, *, writable: bool = False) -> np.ndarray:
        """All rows; read-only if they are mapped, unless `writable`. Nothing is added afterwards."""
        if self._file is None:
            whole = np.concatenate([np.zeros(0, self.dtype), *self._parts])
            self._parts = [whole]
            return whole
        self._write()
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        return np.frombuffer(mmap.mmap(self._file.fileno(), 0, access=access), self.dtype)

    def content(self) -> bytes | mmap.mmap:
        """All rows as bytes, mapped if they are on the disk. Nothing is added afterwards."""
        if self._file is None:
            return b"".join(part.tobytes() for part in self._parts)
        self._write()
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=_folder())  # noqa: SIM115  # open as long as this is
            for part in self._parts:
                self._file.write(part.data.cast("B") if part.nbytes else b"")
            self._file.flush()
        except OSError as error:
            raise NoRoom(
                f"a long list is kept on the disk while it is used, which failed: {error.strerror}",
                remedy=f"Make room in {_folder()}, or set TMPDIR to another folder.",
            ) from error
        self._parts, self._held = [], 0


def _folder() -> str:
    """Return the folder for temporary files too large for memory, in which many systems keep /tmp."""
    on_disk = "/var/tmp"  # noqa: S108  # the file has no name there
    is_free = sys.platform != "win32" and "TMPDIR" not in os.environ and os.access(on_disk, os.W_OK)
    return on_disk if is_free else tempfile.gettempdir()


def filled(rows: int, value: int, dtype: DTypeLike, room: int = ROOM) -> np.ndarray:
    """A column of one value, to be written to in any order."""
    spool = Spool(dtype, room)
    for part in slices(rows):  # each byte is written: into a hole of a full disk nothing could be
        spool.append(np.full(part.stop - part.start, value, dtype))
    return spool.column(writable=True)


def forget(*columns: np.ndarray | None) -> None:
    """Drop from memory what is there of columns that are mapped; it is read again where it is wanted.

    Whoever went through a long column says so: its pages count as the program's own until others want them.
    """
    for column in columns:
        mapped = _mapping(column)
        if sys.platform != "win32" and mapped is not None:
            mapped.madvise(mmap.MADV_DONTNEED)


def _mapping(column: np.ndarray | None) -> mmap.mmap | None:
    """The pages of a file that a column is a view of, if it is."""
    base: object = column
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, mmap.mmap) else None


class Shelf:
    """Keeps arrays that are not looked at for long: the first in memory, what comes then mapped.

    They lie in a few large files, each of which goes when nothing refers to what is in it any more.
    """

    def __init__(self, room: int = 1 << 24, segment: int = 1 << 26, least: int = 1 << 12) -> None:
        """`room`: bytes that stay in memory; `segment`: those of a file; `least`: those of a large array."""
        self._room, self._size, self._least, self._at = room, segment, least, 0
        self._segment = np.zeros(0, np.uint8)
        self._files: list[weakref.ref[np.ndarray]] = []

    def kept(self, value: Any) -> Any:
        """The same tuple, record or array, with its large arrays on the shelf. NoRoom if the disk is full."""
        match value:
            case np.ndarray() if value.nbytes >= self._least and _mapping(value) is None:
                return self._put(value)
            case tuple():
                return tuple(map(self.kept, value))
            case _ if dataclasses.is_dataclass(value):
                # What is not sent, such as the plan, has its place elsewhere.
                fields = codec.sent(type(value))  # type: ignore[arg-type]
                found = {field.name: getattr(value, field.name) for field in fields}
                moved = {name: self.kept(part) for name, part in found.items()}
                if any(moved[name] is not part for name, part in found.items()):
                    value = copy.copy(value)
                    vars(value).update(moved)  # it may be frozen
        return value

    def forget(self) -> None:
        """Drop from memory what is mapped; it is read again where it is wanted."""
        segments = [reference() for reference in self._files]
        forget(*segments)
        self._files = [one for one, segment in zip(self._files, segments, strict=True) if segment is not None]

    def _put(self, array: np.ndarray) -> np.ndarray:
        self._room -= array.nbytes
        if self._room >= 0:
            return array
        if array.nbytes > len(self._segment) - self._at:
            self._segment, self._at = filled(max(self._size, array.nbytes), 0, np.uint8, room=0), 0
            self._files.append(weakref.ref(self._segment))
        place = self._segment[self._at : self._at + array.nbytes].view(array.dtype).reshape(array.shape)
        place[...] = array
        self._at += -(-array.nbytes // _ALIGNED) * _ALIGNED
        return place


def slices(rows: int, at_once: int = AT_ONCE) -> Iterator[slice]:
    """The rows of a long list in parts."""
    return (slice(start, min(start + at_once, rows)) for start in range(0, rows, at_once))
