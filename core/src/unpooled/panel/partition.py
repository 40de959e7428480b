"""Long lists taken apart into parts that fit into memory, in which stands together what is to be compared.

The number of each row's part is worked out once, and is all that is gone through again for each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from unpooled.memory.spool import AT_ONCE, Spool, forget, slices

MOST_PARTS = 1 << 16
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose bits look random: 2^64 divided by the golden ratio (Knuth, volume 3, section 6.4)."""


def members(numbers: Iterable[np.ndarray], parts: int, at_once: int = AT_ONCE) -> Iterator[np.ndarray]:
    """The rows of each part, ascending, int64; `numbers` are those of their parts, uint16, piece by piece."""
    if parts == 1:
        yield np.arange(sum(map(len, numbers)))
        return
    spool = Spool(np.uint16)
    for piece in numbers:
        spool.append(piece)
    column = spool.column()
    for part in range(parts):
        here = [rows.start + np.flatnonzero(column[rows] == part) for rows in slices(len(column), at_once)]
        forget(column)
        yield np.concatenate([np.zeros(0, np.int64), *here])


def number_of_parts(rows: int, at_once: int = AT_ONCE) -> int:
    """Return the number of parts that so many rows are split into."""
    return min(MOST_PARTS, max(1, -(-rows // at_once)))


def by_name(name: np.ndarray, parts: int, at_once: int = AT_ONCE) -> Iterator[np.ndarray]:
    """The parts of names, dtype S, piece by piece: of equal names the same, however wide the column is."""
    for rows in slices(len(name), at_once):
        yield (hashes(name[rows]) >> np.uint64(32)) % np.uint64(parts)  # the upper bits are mixed best


def hashes(name: np.ndarray) -> np.ndarray:
    """A number for each name, uint64 (m,): the sum of its words of eight bytes, each times a constant.

    Zeros after a name add nothing to it.
    """
    width = name.dtype.itemsize
    padded = np.zeros((len(name), -(-width // 8) * 8), np.uint8)
    padded[:, :width] = np.ascontiguousarray(name).view(np.uint8).reshape(len(name), width)
    total, factor = np.zeros(len(name), np.uint64), _SPREAD
    with np.errstate(over="ignore"):
        for word in padded.view("<u8").T:
            total += word * factor
            factor = factor * _SPREAD * _SPREAD
        total ^= total >> np.uint64(29)
        return total * _SPREAD


def by_cuts(pieces: Iterable[np.ndarray], cuts: np.ndarray) -> Iterator[np.ndarray]:
    """The parts of numbers, piece by piece, that ascending `cuts` divide: each cut begins a part."""
    return (np.searchsorted(cuts, piece, "right") for piece in pieces)
