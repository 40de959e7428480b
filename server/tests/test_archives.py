"""An archive that is written while it is sent: whole, in pieces, and never in memory."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from pathlib import Path

from unpooled_server.archives import BLOCK, zipped

FILE_BYTES = 40 * BLOCK


def test_an_archive_has_every_byte_and_memory_a_few_blocks(tmp_path: Path) -> None:
    large, small = tmp_path / "a.assoc", tmp_path / "a.frq"
    large.write_bytes(os.urandom(BLOCK) * (FILE_BYTES // BLOCK))  # compresses not at all
    small.write_bytes(b"")
    kept, sizes = tmp_path / "kept.zip", []
    tracemalloc.start()
    with kept.open("wb") as out:
        for piece in zipped("a-results", [large, small]):
            sizes.append(len(piece))
            out.write(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * BLOCK < FILE_BYTES and max(sizes) < 3 * BLOCK
    assert len(sizes) > FILE_BYTES // BLOCK
    archive = zipfile.ZipFile(kept)
    assert archive.testzip() is None
    assert archive.read("a-results/a.assoc") == large.read_bytes() and archive.read("a-results/a.frq") == b""


def test_an_archive_of_no_files_is_one(tmp_path: Path) -> None:
    assert zipfile.ZipFile(io.BytesIO(b"".join(zipped("x", [])))).namelist() == []
