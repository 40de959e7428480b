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

How it stays fast: any 16 words of s bytes, wherever they begin, cover 2s - 1 whole words of eight bytes on
the transcript's own grid, so windows of that many grid words are hashed, and looked up among the hashes of
all such windows of the vectors. (For s = 1 a window of two words is hashed at every byte.) What matches is
compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit  # compiled anew in each process: a cache would tie it to one module name

RUN = 16
_PIECE, _OVERLAP = 8 << 20, 64 << 10  # bytes looked at at once; a leak's 16 numbers fit the overlap
_BINARY = ("u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "<f4", ">f4", "<f8", ">f8")
_STRIDES = (1, 2, 3)
_HASH_FACTORS = np.random.default_rng(16).integers(0, 2**63, size=RUN).astype(np.uint64) * np.uint64(
    2
) + np.uint64(1)
_LONGEST_NUMBER = 10  # digits
_MOST_FINDINGS = 100

_ALL = np.full(1, 255, dtype=np.uint8)  # a table that turns nothing away, of 3 bits of a hash


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
        whole = {name: v for name, v in whole.items() if len(v) >= RUN}
        telling = {name: _telling(v, distinct) for name, v in whole.items()}
        self._words = [
            _WordIndex(
                size, [_Encoded(name, kind, v, telling[name]) for name, v in whole.items() for kind in kinds]
            )
            for size, kinds in _kinds_by_size().items()
        ]
        self._numbers = _NumberIndex(whole, telling)

    def search(self, blobs: Mapping[str, bytes]) -> list[Finding]:
        """All runs found, in the order of the blobs; at most 100 per blob."""
        findings: list[Finding] = []
        for name, blob in blobs.items():
            found = self._search_blob(name, blob)
            findings += [finding for finding, _ in zip(found, range(_MOST_FINDINGS), strict=False)]
        return findings

    def _search_blob(self, name: str, blob: bytes) -> Iterator[Finding]:
        everything = np.frombuffer(blob, dtype=np.uint8)
        for start in range(0, max(1, len(everything)), _PIECE):
            piece = everything[start : start + _PIECE + _OVERLAP]
            for view, content in _views(piece):
                for encoding, vector, at, first, length in self._search_piece(content):
                    position = start + at if view == _PLAIN else start
                    yield Finding(name, view, position, encoding, vector, first, length)

    def _search_piece(self, piece: np.ndarray) -> Iterator[_Match]:
        for index in self._words:
            yield from index.matches(piece)
        yield from self._numbers.matches(piece)


_Match = tuple[str, str, int, int, int]  # encoding, vector, position, first count, length


def _telling(vector: np.ndarray, distinct: int) -> np.ndarray:
    """bool (runs,): the run of 16 that begins here has enough different values."""
    runs = np.sort(np.lib.stride_tricks.sliding_window_view(vector, RUN), axis=1)
    enough: np.ndarray = (np.diff(runs, axis=1) != 0).sum(axis=1) + 1 >= distinct
    return enough


def _kinds_by_size() -> dict[int, list[str]]:
    sizes: dict[int, list[str]] = {}
    for kind in _BINARY:
        sizes.setdefault(np.dtype(kind).itemsize, []).append(kind)
    return sizes


# Views: what the bytes may stand for.

_PLAIN = "as it stands"


def _table(alphabets: tuple[bytes, ...]) -> np.ndarray:
    """Value of each byte in the alphabets, 255 for the others."""
    table = np.full(256, 255, dtype=np.uint8)
    for alphabet in alphabets:
        table[np.frombuffer(alphabet, dtype=np.uint8)] = np.arange(len(alphabet))
    return table


_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_HEX = _table((b"0123456789abcdef", b"0123456789ABCDEF"))
_BASE64 = _table((_LETTERS + b"+/", _LETTERS + b"-_"))


def _views(piece: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield _PLAIN, piece
    digits = _long_runs(piece, _HEX, b"", at_least=2 * RUN)
    spaced = _long_runs(piece, _HEX, b" \t\r\n:", at_least=2 * RUN)
    for nibbles in (digits, spaced) if not np.array_equal(digits, spaced) else (digits,):
        for offset in range(2) if nibbles.size else ():
            pairs = _groups(nibbles[offset:], 2)
            yield "from hex", (pairs[:, 0] << 4) | pairs[:, 1]
    sextets = _long_runs(piece, _BASE64, b"\r\n", at_least=RUN * 8 // 6)
    for offset in range(4) if sextets.size else ():
        four = _groups(sextets[offset:], 4)
        first = (four[:, 0] << 2) | (four[:, 1] >> 4)
        second = (four[:, 1] << 4) | (four[:, 2] >> 2)
        third = (four[:, 2] << 6) | four[:, 3]
        yield "from base64", np.stack([first, second, third], axis=1).ravel()


def _long_runs(piece: np.ndarray, table: np.ndarray, skipped: bytes, at_least: int) -> np.ndarray:
    """Values of the bytes that stand in long runs of the alphabet, one run after the other with a 0 between.

    Skipped bytes do not end a run. Three zeros at the end complete the last group.
    """
    passed = np.zeros(256, dtype=bool)
    passed[list(skipped)] = True
    kept = np.zeros(len(piece) + 4, dtype=np.uint8)
    count = _copy_long_runs(piece, table, passed, at_least, kept)
    return kept[: count + 3] if count else kept[:0]


@njit
def _copy_long_runs(piece, table, passed, at_least, kept):  # type: ignore[no-untyped-def]
    start = at = 0  # of the current run, and of the next value, in `kept`
    for byte in piece:
        value = table[byte]
        if value != 255:
            kept[at] = value
            at += 1
        elif not passed[byte]:
            if at - start < at_least:
                at = start
            else:
                kept[at] = 0
                at += 1
                start = at
    if at - start < at_least:
        at = start
    kept[at:] = 0
    return at


def _groups(values: np.ndarray, size: int) -> np.ndarray:
    return values[: len(values) // size * size].reshape(-1, size)


# Words.


class _Encoded:
    """One vector in one binary encoding, and which of its bytes begin a window worth looking for."""

    def __init__(self, vector: str, kind: str, counts: np.ndarray, telling: np.ndarray) -> None:
        dtype = np.dtype(kind)
        self.vector, self.kind, self.telling, self.size = vector, kind, telling, dtype.itemsize
        limited = counts if dtype.kind == "f" else counts & ((1 << min(63, 8 * self.size)) - 1)
        self.bytes = np.frombuffer(limited.astype(dtype).tobytes(), dtype=np.uint8)

    def windows(self, grid_words: int) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of all windows that lie in a telling run, and their byte positions."""
        position, hashed = (
            np.empty(len(self.bytes), dtype=np.int64),
            np.empty(len(self.bytes), dtype=np.uint64),
        )
        count = _candidates_at_each_byte(self.bytes, grid_words, _HASH_FACTORS, _ALL, 61, position, hashed)
        position, hashed = position[:count], hashed[:count]
        inside = self._inside_telling_run(position, position + 8 * grid_words)
        return hashed[inside], position[inside]

    def _inside_telling_run(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """bool: some telling run of 16 words covers the bytes from `start` to `end`."""
        before = np.concatenate([[0], np.cumsum(self.telling)])
        first = np.maximum(-(-end // self.size) - RUN, 0)
        last = np.minimum(start // self.size, len(self.telling) - 1)
        covered: np.ndarray = (last >= first) & (before[np.maximum(last, first - 1) + 1] > before[first])
        return covered

    def extend(self, piece: np.ndarray, at: int, position: int) -> tuple[int, int, int] | None:
        """The longest run of whole words around a match of piece[at] and bytes[position]: if it has a
        telling run of 16 words, its place in the piece, its first word and the number of its words."""
        back = _equal(piece[:at][::-1], self.bytes[:position][::-1])
        forth = _equal(piece[at:], self.bytes[position:])
        first, last = -(-(position - back) // self.size), (position + forth) // self.size
        if last - first < RUN or not self.telling[first : last - RUN + 1].any():
            return None
        return at - (position - first * self.size), first, last - first


class _WordIndex:
    """All windows of the vectors in the encodings of one word size."""

    def __init__(self, size: int, encoded: list[_Encoded]) -> None:
        self._encoded = encoded
        self._every_byte = size == 1
        self._grid_words = 2 if size == 1 else 2 * size - 1
        found = [e.windows(self._grid_words) for e in encoded]
        hashes = np.concatenate([np.zeros(0, np.uint64), *(h for h, _ in found)])
        order = np.argsort(hashes, kind="stable")
        self._lookup = _Lookup(hashes[order])
        self._position = np.concatenate([np.zeros(0, np.int64), *(p for _, p in found)])[order]
        self._which = np.repeat(np.arange(len(encoded)), [len(h) for h, _ in found])[order]

    def matches(self, piece: np.ndarray) -> Iterator[_Match]:
        if self._every_byte:
            found = self._lookup.find_at_each_byte(piece, self._grid_words)
        else:
            found = self._lookup.find(_as_words(piece), self._grid_words)
        reported: dict[tuple[int, int], int] = {}  # ends of runs: a long leak matches in many windows
        for place, entries in found:
            at = place if self._every_byte else 8 * place
            for entry in entries:
                which, position = int(self._which[entry]), int(self._position[entry])
                if at < reported.get((which, at - position), 0):
                    continue
                encoded = self._encoded[which]
                if run := encoded.extend(piece, at, position):
                    reported[which, at - position] = run[0] + run[2] * encoded.size
                    yield encoded.kind, encoded.vector, *run


class _Lookup:
    """Finds windows whose hash is among those of an index."""

    def __init__(self, hashes: np.ndarray) -> None:
        """`hashes` are sorted."""
        self._sorted = hashes
        # A table of bits of hashes, thinly filled, turns most windows away at once.
        bits = min(max(10, int(16 * len(hashes)).bit_length()), 26)
        self._shift = 64 - bits
        self._maybe = np.zeros(1 << (bits - 3), dtype=np.uint8)
        slots = hashes >> np.uint64(self._shift)
        np.bitwise_or.at(
            self._maybe, slots >> np.uint64(3), np.left_shift(1, slots & np.uint64(7)).astype(np.uint8)
        )

    def find(self, words: np.ndarray, size: int, stride: int = 1) -> Iterator[tuple[int, range]]:
        """Find where `size` words, each `stride` from the last, are in the index, and the equal entries."""
        places = np.empty(len(words), dtype=np.int64)
        hashes = np.empty(len(words), dtype=np.uint64)
        count = _candidates(words, size, stride, _HASH_FACTORS, self._maybe, self._shift, places, hashes)
        yield from self._entries(places[:count], hashes[:count])

    def find_at_each_byte(self, data: np.ndarray, size: int) -> Iterator[tuple[int, range]]:
        """The same for words of eight bytes from every byte on."""
        places = np.empty(len(data), dtype=np.int64)
        hashes = np.empty(len(data), dtype=np.uint64)
        count = _candidates_at_each_byte(data, size, _HASH_FACTORS, self._maybe, self._shift, places, hashes)
        yield from self._entries(places[:count], hashes[:count])

    def _entries(self, places: np.ndarray, hashes: np.ndarray) -> Iterator[tuple[int, range]]:
        left = np.searchsorted(self._sorted, hashes, side="left")
        right = np.searchsorted(self._sorted, hashes, side="right")
        for k in np.flatnonzero(left < right).tolist():
            yield int(places[k]), range(int(left[k]), int(right[k]))


def _as_words(data: np.ndarray) -> np.ndarray:
    """uint64: whole words of eight bytes from the first byte on."""
    return np.frombuffer(data[: len(data) // 8 * 8].tobytes(), dtype="<u8")


@njit
def _mixed(word):  # type: ignore[no-untyped-def]
    """High bits matter as low ones do: equal low bits of words must not mean equal bits of the hash."""
    return word ^ (word >> np.uint64(32))


@njit
def _is_maybe(maybe, total, shift):  # type: ignore[no-untyped-def]
    slot = total >> np.uint64(shift)
    return (maybe[slot >> np.uint64(3)] >> (slot & np.uint64(7))) & 1


@njit
def _candidates(words, size, stride, factors, maybe, shift, places, hashes):  # type: ignore[no-untyped-def]
    count = 0
    for i in range(len(words) - (size - 1) * stride):
        total = np.uint64(0)
        for j in range(size):
            total += _mixed(words[i + j * stride]) * factors[j]
        if _is_maybe(maybe, total, shift):
            places[count], hashes[count] = i, total
            count += 1
    return count


@njit
def _candidates_at_each_byte(data, size, factors, maybe, shift, places, hashes):  # type: ignore[no-untyped-def]
    count = 0
    words = np.zeros(size, dtype=np.uint64)
    for i in range(8 * size if len(data) >= 8 * size else 0):
        if i % 8 < 7:  # each word one byte short: the loop below begins with a shift
            words[i // 8] |= np.uint64(data[i]) << np.uint64(8 * (i % 8 + 1))
    for i in range(len(data) - 8 * size + 1):
        total = np.uint64(0)
        for j in range(size):
            words[j] = (words[j] >> np.uint64(8)) | (np.uint64(data[i + 8 * j + 7]) << np.uint64(56))
            total += _mixed(words[j]) * factors[j]
        if _is_maybe(maybe, total, shift):
            places[count], hashes[count] = i, total
            count += 1
    return count


def _equal(one: np.ndarray, other: np.ndarray) -> int:
    """Count the equal elements before the first difference."""
    done, step, length = 0, 256, min(len(one), len(other))
    while done < length:
        different = one[done : min(done + step, length)] != other[done : min(done + step, length)]
        if different.any():
            return done + int(different.argmax())
        done, step = done + step, 2 * step
    return length


# Numbers in text.


class _NumberIndex:
    """All runs of 16 counts as numbers."""

    def __init__(self, vectors: Mapping[str, np.ndarray], telling: Mapping[str, np.ndarray]) -> None:
        self._vectors = dict(vectors)
        self._telling = dict(telling)
        parts = [
            (_run_hashes(v)[telling[name]], np.flatnonzero(telling[name]), k)
            for k, (name, v) in enumerate(vectors.items())
        ]
        hashes = np.concatenate([np.zeros(0, np.uint64), *(h for h, _, _ in parts)])
        order = np.argsort(hashes, kind="stable")
        self._lookup = _Lookup(hashes[order])
        self._first = np.concatenate([np.zeros(0, np.int64), *(first for _, first, _ in parts)])[order]
        self._which = np.concatenate([np.zeros(0, np.int64), *(np.full(len(h), k) for h, _, k in parts)])[
            order
        ]
        self._names = list(vectors)

    def matches(self, piece: np.ndarray) -> Iterator[_Match]:
        for base, encoding in ((10, "decimal text"), (16, "hexadecimal text")):
            numbers, positions = _numbers(piece, base)
            for stride in _STRIDES:
                yield from self._runs(numbers, positions, stride, encoding)

    def _runs(
        self, numbers: np.ndarray, positions: np.ndarray, stride: int, encoding: str
    ) -> Iterator[_Match]:
        reported: dict[tuple[int, int, int], int] = {}
        for i, entries in self._lookup.find(numbers, RUN, stride):
            phase, here = i % stride, i // stride
            every = numbers[phase::stride]
            for entry in entries:
                which, first = int(self._which[entry]), int(self._first[entry])
                if here < reported.get((which, phase, here - first), 0):
                    continue
                counts = self._vectors[self._names[which]].astype(np.uint64)
                back = _equal(every[:here][::-1], counts[:first][::-1])
                forth = _equal(every[here:], counts[first:])
                if forth >= RUN:
                    reported[which, phase, here - first] = here + forth
                    at = int(positions[phase + (here - back) * stride])
                    yield encoding, self._names[which], at, first - back, back + forth


def _numbers(piece: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in a text, uint64, and where they begin. Too long ones become a number that no count is."""
    numbers = np.empty(len(piece) // 2 + 1, dtype=np.uint64)
    starts = np.empty(len(numbers), dtype=np.int64)
    count = _read_numbers(piece, _HEX, base, numbers, starts)
    return numbers[:count], starts[:count]


@njit
def _read_numbers(piece, table, base, numbers, starts):  # type: ignore[no-untyped-def]
    count = length = 0
    value = np.uint64(0)
    for i in range(len(piece) + 1):
        digit = table[piece[i]] if i < len(piece) else 255
        if digit < base:
            value = value * np.uint64(base) + np.uint64(digit)
            length += 1
        elif length:
            numbers[count] = value if length <= _LONGEST_NUMBER else ~np.uint64(0)
            starts[count] = i - length
            count += 1
            value, length = np.uint64(0), 0
    return count


def _run_hashes(vector: np.ndarray) -> np.ndarray:
    """The hashes of all runs of 16 counts."""
    places, hashes = np.empty(len(vector), dtype=np.int64), np.empty(len(vector), dtype=np.uint64)
    count = _candidates(vector.astype(np.uint64), RUN, 1, _HASH_FACTORS, _ALL, 61, places, hashes)
    return hashes[:count]
