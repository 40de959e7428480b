"""The binary form of a list of variants: columns one after the other, to be streamed and to be mapped.

    magic, number of variants, bytes of alleles, bytes of IDs, autosomes (0: variants have IDs)
    variants of each chromosome code, uint32 (256,)
    the alleles that occur, sorted, a line feed after each
    position int32 (m,), first and second allele of each pair, uint8, uint16 or uint32 (m,)
    length of each ID, uint16 (m,), and the IDs; none by place: names follow from those

Numbers are little-endian, and each column begins at a multiple of eight bytes, after zeros. Nothing is
packed: whoever gets a list knows its length before its content. A list has one form only, so equal lists are
equal bytes. By place a variant takes 6 to 8 bytes.
"""

from __future__ import annotations

import hashlib
import itertools
import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.memory.spool import Spool, forget, slices
from unpooled.panel.chromosomes import MOST_AUTOSOMES

if TYPE_CHECKING:
    from unpooled.panel.panel import Panel

MOST_VARIANTS = 1 << 27
"""Maximum number of variants in a list, three times what imputation gives: no cohort can fill the server's
disk.
"""
MOST_BYTES = 1 << 33
"""Maximum size of a list: that many variants with IDs of 50 letters."""
LONGEST_ID = (1 << 16) - 1

PART_BYTES = 1 << 24
"""Maximum size of the parts in which a cohort sends its list."""

BLOCK_ROWS = 1 << 16

_MOST_PADDING, _SMALL = 64, 1 << 26

_MAGIC = b"UNPOOLED LIST 2\n"
_HEAD = struct.Struct("<16sQQQB7x")
_CODES = 256
_ALIGNED = 8
_SHORTEST_WORD = b"!"[0]


@dataclass(frozen=True, eq=False)
class Columns:
    """Content of a list of m variants; views of the bytes that were read."""

    counts: np.ndarray
    """uint32 (256,): variants of each chromosome code."""
    position: np.ndarray
    ids: np.ndarray | None
    alleles: tuple[bytes, ...]
    first: np.ndarray
    second: np.ndarray
    autosomes: int


def pieces(panels: Sequence[Panel]) -> Iterator[bytes]:
    """The form of one list that is given in parts, each of which goes on where the one before it ends."""
    alleles = sorted({panel.alleles[k] for panel in panels for k in np.flatnonzero(used(panel))})
    code = {allele: k for k, allele in enumerate(alleles)}
    kind = _code_type(len(alleles))
    numbers = [np.array([code.get(allele, 0) for allele in panel.alleles], kind) for panel in panels]
    table = b"".join(b"%b\n" % allele for allele in alleles)
    counts = sum((panel.counts for panel in panels), np.zeros(_CODES, np.int64))
    autosomes = {panel.autosomes for panel in panels if len(panel)} or {panel.autosomes for panel in panels}
    if len(autosomes) != 1:
        raise AssertionError("parts of one list are named in different ways")
    ids = [] if autosomes != {0} else [_lengths(panel) for panel in panels]
    variants, id_bytes = int(counts.sum()), sum(int(part.sum(dtype=np.int64)) for part in ids)
    yield _HEAD.pack(_MAGIC, variants, len(table), id_bytes, *autosomes)
    yield counts.astype("<u4").tobytes()
    yield from _padded(iter([table]))
    yield from _padded(_blocks([panel.position for panel in panels], "<i4"))
    for columns in ([panel.first for panel in panels], [panel.second for panel in panels]):
        yield from _padded(_coded(columns, numbers))
    if autosomes == {0}:
        yield from _padded(_blocks(ids, "<u2"))
        yield from _padded(b"".join(block.tolist()) for panel in panels for block in _parts(panel.name))


def measured(panels: Sequence[Panel]) -> tuple[bytes, int]:
    """SHA-256 and length of the form of such a list."""
    sha256, size = hashlib.sha256(), 0
    for piece in pieces(panels):
        sha256.update(piece)
        size += len(piece)
    return sha256.digest(), size


def in_parts(blocks: Iterator[bytes], size: int = PART_BYTES) -> Iterator[bytes]:
    """The same bytes in parts of `size`, the last of which may be shorter."""
    part = bytearray()
    for block in blocks:
        part += block
        while len(part) > size:
            yield bytes(part[:size])
            del part[:size]
    if part:
        yield bytes(part)


def read(data: bytes | mmap.mmap) -> Columns:
    """The columns of a list; ProtocolError for bytes that are none, or not in the one form of it.

    The order of the variants is the caller's to look at.
    """
    reader = _Reader(data)
    variants, allele_bytes, id_bytes, autosomes = reader.head()
    counts = reader.column("<u4", _CODES)
    if counts.sum(dtype=np.int64) != variants or variants > MOST_VARIANTS or autosomes > MOST_AUTOSOMES:
        raise _bad("its numbers of variants do not fit together")
    alleles = _words_of(reader.column("u1", allele_bytes).tobytes(), variants)
    position = reader.column("<i4", variants)
    code_type = _code_type(len(alleles))
    first, second = reader.column(code_type, variants), reader.column(code_type, variants)
    ids = None if autosomes else _ids(reader.column("<u2", variants), reader.column("u1", id_bytes))
    if reader.rest or (autosomes and id_bytes):
        raise _bad("it is longer than it says")
    _check_columns(position, first, second, len(alleles))
    return Columns(counts, position, ids, alleles, first, second, autosomes)


class _Reader:
    """Takes one column after the other from the bytes of a list."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data, self._at = data, 0

    @property
    def rest(self) -> int:
        return len(self._data) - self._at

    def head(self) -> tuple[int, int, int, int]:
        if self.rest < _HEAD.size or self._data[: len(_MAGIC)] != _MAGIC:
            raise _bad("it does not begin as one")
        self._at = _HEAD.size
        head = self._data[: _HEAD.size]
        _, variants, allele_bytes, id_bytes, autosomes = _HEAD.unpack(head)
        if head != _HEAD.pack(_MAGIC, variants, allele_bytes, id_bytes, autosomes):  # what stands between
            raise _bad("it does not begin as one")
        return variants, allele_bytes, id_bytes, autosomes

    def column(self, dtype: str, length: int) -> np.ndarray:
        size = np.dtype(dtype).itemsize * length
        padding = -size % _ALIGNED
        if size + padding > self.rest:
            raise _bad("it ends early")
        column = np.frombuffer(self._data, dtype, length, self._at)
        self._at += size + padding
        if any(self._data[self._at - padding : self._at]):
            raise _bad("there is something between its columns")
        return column


def is_too_wide(ids: int, longest: int, letters: int) -> bool:
    """Tell whether a column of IDs, each padded to the longest, is far larger than their letters.

    Such a list is refused: a short one with a single very long ID would fill the memory and the disk.
    """
    return ids * longest > _MOST_PADDING * letters + _SMALL


def _bad(what: str) -> ProtocolError:
    return ProtocolError(f"this is no list of variants in binary form: {what}")


def _words_of(table: bytes, variants: int) -> tuple[bytes, ...]:
    alleles = table.split(b"\n")
    if alleles.pop() or len(alleles) > 2 * variants:
        raise _bad("its table of alleles is damaged")
    if any(not allele or min(allele) < _SHORTEST_WORD for allele in alleles):
        raise _bad("an allele is no word")
    if any(one >= other for one, other in itertools.pairwise(alleles)):
        raise _bad("its alleles are not sorted")
    return tuple(alleles)


def _ids(lengths: np.ndarray, letters: np.ndarray) -> np.ndarray:
    if int(lengths.sum(dtype=np.int64)) != len(letters):
        raise _bad("its IDs are not as long as it says")
    if np.any(lengths == 0) or any((part < _SHORTEST_WORD).any() for part in _parts(letters)):
        raise _bad("an ID is no word")
    longest = int(lengths.max(initial=0))
    if is_too_wide(len(lengths), longest, len(letters)):
        raise _bad("one ID is far longer than the others")
    width, start = max(1, longest), 0
    names = Spool(f"S{width}")
    for part in _parts(lengths):
        end = start + int(part.sum(dtype=np.int64))
        padded = np.zeros((len(part), width), np.uint8)
        padded[np.arange(width) < part[:, None]] = letters[start:end]  # in the order of the mask
        names.append(padded.view(names.dtype)[:, 0])
        start = end
        forget(letters)
    return names.column()


def _check_columns(position: np.ndarray, first: np.ndarray, second: np.ndarray, alleles: int) -> None:
    used = np.zeros(alleles, bool)
    for place, low, high in zip(_parts(position), _parts(first), _parts(second), strict=True):
        if max(low.max(), high.max()) >= alleles or (low > high).any() or (place < 0).any():
            raise _bad("a position is below 0, or a pair of alleles is not sorted")
        used[low] = used[high] = True
    if not used.all():
        raise _bad("it names an allele that no variant has")


def used(panel: Panel) -> np.ndarray:
    """Mark the alleles of a panel that occur in it, bool (alleles,)."""
    found = np.zeros(len(panel.alleles), bool)
    for column in (panel.first, panel.second):
        for part in _parts(column):
            found[part] = True
    return found


def _code_type(alleles: int) -> str:
    return "u1" if alleles <= 1 << 8 else "<u2" if alleles <= 1 << 16 else "<u4"


def _lengths(panel: Panel) -> np.ndarray:
    lengths = Spool(np.uint16)
    for part in _parts(panel.name):
        found = np.strings.str_len(part)
        if found.max() > LONGEST_ID:
            raise ProtocolError(f"an ID has more than {LONGEST_ID:,} letters")
        lengths.append(found)
    return lengths.column()


def _parts(column: np.ndarray) -> Iterator[np.ndarray]:
    """A column in pieces: what is made of a whole one would take several times its room."""
    for rows in slices(len(column), BLOCK_ROWS):
        yield column[rows]
        forget(column)


def _blocks(columns: Sequence[np.ndarray], dtype: str) -> Iterator[bytes]:
    return (part.astype(dtype).tobytes() for column in columns for part in _parts(column))


def _coded(columns: Sequence[np.ndarray], numbers: Sequence[np.ndarray]) -> Iterator[bytes]:
    """The alleles of all parts by one table's numbers."""
    return (
        new[part].tobytes() for column, new in zip(columns, numbers, strict=True) for part in _parts(column)
    )


def _padded(blocks: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for block in blocks:
        size += len(block)
        yield block
    yield bytes(-size % _ALIGNED)
