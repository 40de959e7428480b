"""Does a captured transcript contain a cohort's counts?

A `Searcher` is built from count vectors that must stay at a cohort; `search` goes through captured bytes and
reports every place where 16 consecutive counts stand, whatever surrounds them:

- words of 1, 2, 4 or 8 bytes of either byte order (numbers too large for a word by their low bits),
  float32 and float64 of either order, at any byte offset;
- text: decimal or hexadecimal numbers, whatever stands between them, and every second or third number;
- any of these in hex (also with blanks or colons between) or in base64 (either alphabet, also wrapped), at
  any offset.

Runs of fewer than `distinct` different values say too little to be told from chance (16 zeros are in every
file), so they are passed over.

Bytes, and the numbers of a text, are hashed in windows as long as 16 counts, and looked up among the vectors'
own.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

RUN = 16
_PIECE, _OVERLAP = 1 << 20, 64 << 10  # bytes looked at at once; a leak's 16 numbers fit the overlap
_BINARY = ("u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "<f4", ">f4", "<f8", ">f8")
_TEXT = {10: "decimal text", 16: "hexadecimal text"}
_STRIDES = (1, 2, 3)
_FACTOR = 0xD1342543DE82EF95  # odd, so that it has an inverse modulo 2^64
_LONGEST_NUMBER = 10  # digits
_MOST_FINDINGS = 100
_FILTER_BITS = 22


@dataclass(frozen=True)
class Finding:
    """A run of counts in a captured blob."""

    blob: str
    view: str  # "as it stands", "from hex" or "from base64"
    position: int  # of the run's first byte in the blob or, in another view, of the piece that it is in
    encoding: str  # a NumPy type, "decimal text" or "hexadecimal text"
    vector: str
    first: int  # index of the first count
    length: int  # in counts, at least 16


class Searcher:
    """Looks for runs of 16 counts of any of the vectors; `vectors` maps names to non-negative integers."""

    def __init__(self, vectors: Mapping[str, np.ndarray], distinct: int = 8) -> None:
        whole = {name: np.asarray(v).ravel().astype(np.int64) for name, v in vectors.items()}
        telling = {name: _telling(v, distinct) for name, v in whole.items() if len(v) >= RUN}
        self._words = {
            size: _Index(
                RUN * size,
                {
                    (kind, name): (_bytes_of(whole[name], kind), size * first)
                    for kind in _BINARY
                    for name, first in telling.items()
                    if np.dtype(kind).itemsize == size
                },
            )
            for size in (1, 2, 4, 8)
        }
        self._numbers = _Index(RUN, {("", name): (whole[name], first) for name, first in telling.items()})

    def search(self, blobs: Mapping[str, bytes]) -> list[Finding]:
        """All runs found, in the order of the blobs; at most 100 per blob."""
        findings: list[Finding] = []
        for name, blob in blobs.items():
            found = self._search_blob(name, blob)
            findings += [finding for finding, _ in zip(found, range(_MOST_FINDINGS), strict=False)]
        return findings

    def _search_blob(self, name: str, blob: bytes) -> Iterator[Finding]:
        """A run that two pieces have is told once."""
        seen = set[Finding]()
        for found in self._search_pieces(name, blob):
            if found not in seen:
                seen.add(found)
                yield found

    def _search_pieces(self, name: str, blob: bytes) -> Iterator[Finding]:
        for start in range(0, max(1, len(blob)), _PIECE):
            for view, content in _views(blob[start : start + _PIECE + _OVERLAP]):
                for encoding, vector, at, first, length in self._search_view(content):
                    yield Finding(
                        name, view, start + at if view == _PLAIN else start, encoding, vector, first, length
                    )

    def _search_view(self, content: bytes) -> Iterator[tuple[str, str, int, int, int]]:
        """Encoding, vector, place in the content, first count and length of each run."""
        data = np.frombuffer(content, np.uint8)
        for size, index in self._words.items():
            for (kind, vector), at, first, length in index.runs(data):
                yield kind, vector, at, first // size, length // size
        for base, encoding in _TEXT.items():
            numbers, places = _numbers(data, base)
            for stride in _STRIDES:
                for phase in range(stride):
                    for (_, vector), at, first, length in self._numbers.runs(numbers[phase::stride]):
                        yield encoding, vector, int(places[phase + at * stride]), first, length


def _telling(vector: np.ndarray, distinct: int) -> np.ndarray:
    """Return where runs of 16 begin that have enough different values."""
    runs = np.sort(np.lib.stride_tricks.sliding_window_view(vector, RUN), axis=1)
    return np.flatnonzero((np.diff(runs, axis=1) != 0).sum(axis=1) + 1 >= distinct)


def _bytes_of(counts: np.ndarray, kind: str) -> np.ndarray:
    dtype = np.dtype(kind)
    limited = counts if dtype.kind == "f" else counts & ((1 << min(63, 8 * dtype.itemsize)) - 1)
    return np.frombuffer(limited.astype(dtype).tobytes(), np.uint8)


class _Index:
    """The hashes of windows of some sequences of symbols, each from where they begin on."""

    def __init__(
        self, length: int, sequences: Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]]
    ) -> None:
        self._length, self._names = length, list(sequences)
        found = [_hashes(symbols, length)[first] for symbols, first in sequences.values()]
        hashes = np.concatenate([np.zeros(0, np.uint64), *found])
        order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[order]
        self._first = np.concatenate([np.zeros(0, int), *(first for _, first in sequences.values())])[order]
        self._which = np.repeat(np.arange(len(found)), list(map(len, found)))[order]
        self._maybe = np.zeros(1 << _FILTER_BITS, bool)  # turns most windows away at once
        self._maybe[_slots(hashes)] = True

    def runs(self, symbols: np.ndarray) -> list[tuple[tuple[str, str], int, int, int]]:
        """Name, place in the symbols, place in the sequence and length: windows that overlap are one run."""
        hashes = _hashes(symbols, self._length)
        places = np.flatnonzero(self._maybe[_slots(hashes)])
        left, right = (np.searchsorted(self._sorted, hashes[places], side) for side in ("left", "right"))
        found = [
            (int(self._which[entry]), at - int(self._first[entry]), at)
            for at, *entries in zip(places.tolist(), left.tolist(), right.tolist(), strict=True)
            for entry in range(*entries)
        ]
        runs: list[tuple[tuple[str, str], int, int, int]] = []
        ends: dict[
            tuple[int, int], tuple[int, int]
        ] = {}  # of each alignment: its last run, and that one's end
        for which, offset, at in found:
            number, end = ends.get((which, offset), (0, -1))
            if at <= end:
                name, begin, first, _ = runs[number]
                runs[number] = name, begin, first, at + self._length - begin
            else:
                number = len(runs)
                runs.append((self._names[which], at, at - offset, self._length))
            ends[which, offset] = number, at + self._length
        return runs


@functools.cache
def _powers(factor: int) -> np.ndarray:
    """Powers modulo 2^64 from the 0th on: one for each symbol of a piece."""
    factors = np.full(_PIECE + _OVERLAP, factor, np.uint64)
    factors[0] = 1
    return np.cumprod(factors)


def _hashes(symbols: np.ndarray, length: int) -> np.ndarray:
    """A polynomial of each so many symbols in a row, modulo 2^64."""
    if len(symbols) < length:
        return np.zeros(0, np.uint64)
    terms = symbols.astype(np.uint64) * _powers(_FACTOR)[: len(symbols)]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
    windows = sums[length:] - sums[:-length]
    return np.asarray(windows * _powers(pow(_FACTOR, -1, 1 << 64))[: len(windows)])


def _slots(hashes: np.ndarray) -> np.ndarray:
    return hashes >> np.uint64(64 - _FILTER_BITS)


# Views: what the bytes may stand for.

_PLAIN = "as it stands"
_HEX = re.compile(rb"[0-9A-Fa-f]{%d,}" % (2 * RUN))
_SPACED_HEX = re.compile(rb"[0-9A-Fa-f](?:[ \t\r\n:]*[0-9A-Fa-f]){%d,}" % (2 * RUN - 1))
_BASE64 = re.compile(rb"[\w+/-](?:[\r\n]*[\w+/-]){%d,}" % (RUN * 8 // 6 - 1))


def _views(piece: bytes) -> Iterator[tuple[str, bytes]]:
    """Runs of an alphabet are put together with a 0 between; zeros at the end complete the last group."""
    yield _PLAIN, piece
    for digits in {b"0".join(pattern.findall(piece)) for pattern in (_HEX, _SPACED_HEX)} - {b""}:
        plain = digits.translate(None, b" \t\r\n:") + b"0"
        for offset in range(2):
            whole = plain[offset:]
            yield "from hex", binascii.unhexlify(whole[: len(whole) // 2 * 2])
    letters = b"A".join(_BASE64.findall(piece)).translate(bytes.maketrans(b"-_", b"+/"), b"\r\n")
    for offset in range(4) if letters else ():
        whole = letters[offset:] + b"AAA"
        yield "from base64", base64.b64decode(whole[: len(whole) // 4 * 4])


# Numbers in text.

_DIGITS = np.full(256, 255, np.uint8)
for _alphabet in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _DIGITS[list(_alphabet)] = np.arange(16)


def _numbers(data: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in a text, uint64, and where they begin. Too long ones become a number that no count is."""
    digits = _DIGITS[data]
    edges = np.diff(np.concatenate([[False], digits < base, [False]]).astype(np.int8))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    numbers = np.zeros(len(starts), np.uint64)
    for place in range(_LONGEST_NUMBER):
        has = ends - place > starts
        numbers[has] += digits[ends[has] - 1 - place] * np.uint64(base**place)
    numbers[ends - starts > _LONGEST_NUMBER] = ~np.uint64(0)
    return numbers, starts
