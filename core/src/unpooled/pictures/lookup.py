"""Variants by their IDs, among ten million: a sorted index in a file, of which a search reads few pages."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.panel.chromosomes import chromosome_code
from unpooled.pictures.associations import BLOCK

_PLACE = re.compile(r"([0-9A-Za-z]+):([0-9,]{1,13})(?:-([0-9,]{1,13}))?")
_ROW_BITS = np.uint64(32)
_ROW = np.uint64((1 << 32) - 1)
_A, _Z, _TO_LOWER = ord("A"), ord("Z"), ord("a") - ord("A")
# What zlib makes of one byte, without what it begins and ends with: its table, which it does not show.
_CRC = np.array([zlib.crc32(bytes([0xFF ^ byte])) ^ 0xFF000000 for byte in range(256)], np.uint32)


def index(names: NDArray[Any]) -> NDArray[np.uint64]:
    """The index of IDs, bytes (m,): a checksum of each, of 32 bits, before its row, of 32 bits; sorted."""
    entries = np.empty(len(names), np.uint64)
    for start in range(0, len(names), BLOCK):
        keys = _keys(names[start : start + BLOCK])
        rows = np.arange(start, start + len(keys), dtype=np.uint64)
        entries[start : start + len(keys)] = keys << _ROW_BITS | rows
    entries.sort()
    return entries


def find(entries: NDArray[np.uint64], names: NDArray[Any], text: str) -> NDArray[np.int64]:
    """Rows of the variants with this ID, in any case of its letters, (k,)."""
    wanted = text.strip().encode()
    low = np.uint64(_key(wanted)) << _ROW_BITS
    # The needles are of the index's own type: of another they would have the whole index converted.
    start, stop = np.searchsorted(entries, low, "left"), np.searchsorted(entries, low | _ROW, "right")
    rows = (entries[start:stop] & _ROW).astype(np.int64)
    same = [name.lower() == wanted.lower() for name in names[rows].tolist()]
    return np.asarray(rows[np.array(same, bool)])


def _key(name: bytes) -> int:
    return zlib.crc32(name.lower())


def _keys(names: NDArray[Any]) -> NDArray[np.uint64]:
    """The keys of many IDs, (m,)."""
    letters = np.ascontiguousarray(names).view(np.uint8).reshape(len(names), names.dtype.itemsize)
    found = np.empty(len(names), np.uint64)
    _checksums(letters, _CRC, found)
    return found


@compiled
def _checksums(letters: Any, table: Any, found: Any) -> None:
    """`_key` of each row of letters, up to the zeros that fill it up: a byte at a time, by CRC-32's table."""
    for row in range(letters.shape[0]):
        crc = np.uint32(0xFFFFFFFF)
        size = letters.shape[1]
        while size and letters[row, size - 1] == 0:
            size -= 1
        for k in range(size):
            letter = letters[row, k]
            if _A <= letter <= _Z:
                letter += _TO_LOWER
            crc = table[(crc ^ letter) & 0xFF] ^ (crc >> np.uint32(8))
        found[row] = crc ^ np.uint32(0xFFFFFFFF)


def place(text: str, autosomes: int) -> tuple[int, int, int] | None:
    """Chromosome code, first and last position of `7:1234`, `chr7:1,234-5,678`; None of another text."""
    found = _PLACE.fullmatch(text.strip())
    code = chromosome_code(found[1], autosomes) if found else None
    if found is None or code is None:
        return None
    first, last = (int(word.replace(",", "") or 0) for word in (found[2], found[3] or found[2]))
    return code, first, last
