"""The records of a .pgen, found by its header: dosages of many people are unpacked from these as they are.

Pgenlib gives dosages as numbers of another kind, one after another. Where most people have one, that takes
several times as long as everything that is summed of them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.kernels.pgen import unpack_dosages

_HEAD, _USUAL = 12, b"\x6c\x1b\x10"
"""Bytes before the places of blocks; how a file with its header at the beginning begins."""
_OF_SEVERAL = 0x08
"""Bit of a record's kind: it has a track of alternate alleles after the first."""
_BLOCK = 1 << 16
"""Variants whose kinds and lengths stand together in the header."""
_WINDOW = 1 << 19
"""Bytes of records at once, few enough to stay in the second cache until they are unpacked."""
_FARTHEST = 1 << 62
"""Bytes: no file is as long, and what follows there can still be added to."""
_MOST_BYTES, _DIFFERENCES = 4, 1 << 10
"""Maximum length of a record that is unpacked here: bytes per person, and bytes besides. A longer one comes
from a damaged header.
"""


def take_dosages(
    path: Path, variants: int, rows: np.ndarray, places: np.ndarray, out: np.ndarray
) -> np.ndarray:
    """Unpack the dosages of some rows of a file with so many variants; gives which of them, bool (k,).

    `rows`, int64 (k,), ascend; `places` are where they belong in `out`, uint16 (m, people). What was not
    unpacked is left to Pgenlib, and so is the complaint about a damaged file. OSError if it cannot be read.
    """
    done = np.zeros(len(rows), bool)
    with path.open("rb", buffering=0) as file:
        header = _header(file, variants, out.shape[1])
        if header is None:
            return done
        edges = np.searchsorted(rows, np.arange(0, variants + _BLOCK, _BLOCK))
        for block in np.flatnonzero(np.diff(edges)).tolist():
            which = np.arange(edges[block], edges[block + 1])
            found = header.records(block, rows[which] - block * _BLOCK)
            if found is None:
                continue
            # Lengths from a damaged header would have gigabytes read.
            good = found[1] <= _MOST_BYTES * out.shape[1] + _DIFFERENCES
            which = which[good]
            starts, lengths, kinds = (of_all[good] for of_all in found)
            for some in _windows(starts, lengths):
                begin, end = int(starts[some.start]), int(starts[some.stop - 1] + lengths[some.stop - 1])
                if (data := _read(header.file, begin, end)) is not None:
                    done[which[some]] = unpack_dosages(
                        data, starts[some] - begin, lengths[some], kinds[some], places[which[some]], out
                    )
    return done


def rows_of_several(path: Path, variants: int, people: int) -> np.ndarray:
    """Find the rows in which somebody has an alternate allele after the first, int64 (k,).

    None where records are all of one kind, or the header is in another file. OSError if it cannot be read.
    """
    found = []
    with path.open("rb", buffering=0) as file:
        head = _read(file, 0, _HEAD)
        form = 8 if head is None or not _is_of(head, variants, people) else int(head[11])
        bits = 4 if form & 15 < 4 else 8  # of a record's kind, in the header
        each = (
            _BLOCK * bits // 8 + _BLOCK * (1 + (form & 3) + (form >> 4 & 3)) + (form >> 6 == 3) * _BLOCK // 8
        )
        for start in range(0, variants if form & 15 < 8 else 0, _BLOCK):
            begin = _HEAD + 8 * -(-variants // _BLOCK) + start // _BLOCK * each
            size = min(_BLOCK, variants - start)
            kinds = _read(file, begin, begin + -(-size * bits // 8))
            if kinds is None:
                break
            if bits == 4:
                kinds = np.stack([kinds & 15, kinds >> 4], axis=1).reshape(-1)[:size]
            found.append(start + np.flatnonzero(kinds & _OF_SEVERAL))
    return np.concatenate([np.zeros(0, np.int64), *found])


@dataclass(frozen=True)
class _Header:
    """Header of an open file, with the layout of its blocks."""

    file: io.FileIO
    variants: int
    width: int
    """Bytes of a record's length."""
    counts: int
    """Bytes of the number of its alleles."""
    flags: bool
    """A bit for each variant, whether REF is the reference, stands there, too."""

    def records(self, block: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the starts and lengths of records, both int64 (k,), and their kinds, uint8 (k,), by row in
        the block.

        None if the file ends before.
        """
        size = min(_BLOCK, self.variants - block * _BLOCK)
        blocks = -(-self.variants // _BLOCK)
        each = _BLOCK * (1 + self.width + self.counts) + (_BLOCK // 8 if self.flags else 0)
        begin = _HEAD + 8 * blocks + block * each
        first = _read(self.file, _HEAD + 8 * block, _HEAD + 8 * block + 8)
        data = _read(self.file, begin, begin + size * (1 + self.width))
        if first is None or data is None or not 0 <= (place := int(first.view("<i8")[0])) < _FARTHEST:
            return None
        lengths = np.zeros((size, 8), np.uint8)
        lengths[:, : self.width] = data[size:].reshape(size, self.width)
        of_all = lengths.view("<i8")[:, 0]
        ends = place + np.cumsum(of_all)
        return (ends - of_all)[rows], of_all[rows], data[:size][rows]


def _header(file: io.FileIO, variants: int, people: int) -> _Header | None:
    """None where records are of one length, without dosages, or the header is in another file."""
    head = _read(file, 0, _HEAD)
    if head is None or not _is_of(head, variants, people):
        return None
    form = int(head[11])
    if not 4 <= form & 15 <= 7:
        return None
    return _Header(file, variants, (form & 15) - 3, form >> 4 & 3, form >> 6 == 3)


def _is_of(head: np.ndarray, variants: int, people: int) -> bool:
    """Tell whether a file begins as one of this shape with its header at the beginning."""
    return head[:3].tobytes() == _USUAL and head[3:11].view("<u4").tolist() == [variants, people]


def _windows(starts: np.ndarray, lengths: np.ndarray) -> Iterator[slice]:
    """Records, in the order of the file, in stretches that are worth one read each."""
    ends, start = starts + lengths, 0
    while start < len(starts):
        stop = max(start + 1, int(np.searchsorted(ends, starts[start] + _WINDOW, "right")))
        yield slice(start, stop)
        start = stop


def _read(file: io.FileIO, start: int, stop: int) -> np.ndarray | None:
    """Bytes of a file, uint8 (stop - start,); None if it ends before."""
    file.seek(start)
    data = np.empty(stop - start, np.uint8)
    return data if file.readinto(data.data.cast("B")) == len(data) else None
