"""Files as one zip archive, written while it is sent: no copy lies anywhere, and memory holds a block."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from io import SEEK_END, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

# Bytes that are in memory of each download.
BLOCK = 1 << 20


class _Pipe(RawIOBase):
    """Stream whose written bytes can be taken once. It cannot be wound back, so sizes follow the files."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        found, self._written = b"".join(self._written), []
        return found


def zipped(
    folder: str, files: Iterable[Path], made: datetime, opened: Callable[[Path], BinaryIO]
) -> Iterator[bytes]:
    """The archive of files that were `made` then, which it has within `folder`, piece by piece."""
    pipe = _Pipe()
    with ZipFile(pipe, "w", ZIP_DEFLATED, compresslevel=zlib.Z_BEST_SPEED) as archive:
        for path in files:
            entry = ZipInfo(f"{folder}/{path.name}", made.timetuple()[:6])
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o600 << 16
            with opened(path) as content:
                entry.file_size = content.seek(0, SEEK_END)  # the format depends on it
                content.seek(0)
                with archive.open(entry, "w") as out:
                    while block := content.read(BLOCK):
                        out.write(block)
                        yield pipe.taken()
    yield pipe.taken()
