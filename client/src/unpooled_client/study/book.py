"""The cohort's book: every question that was answered, on disk before its answer leaves.

A dishonest server can only learn by asking: the same variant twice with other missing calls, another
panel, more than was released. So a question is compared with all before it, and the book outlives the
program. An entry is a round and its question: the same again, as after a crash or a lost share, is answered
and counted once; another question for the round, or one that no honest study asks after those before it,
ends the run.

    file    one line with the format, 16 bytes that bind it to the mask seed, then entries
    entry   length and CRC-32, 4 bytes each, and the entry in the canonical encoding

A file is only ever appended to, with one flush for each entry. An entry that was cut off by a crash is
dropped: its answer did not leave.

A cohort that deals for a comparison enters the dealing's digest likewise: one round has one dealing.
"""

from __future__ import annotations

import hmac
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from unpooled.algorithms import questions_of
from unpooled.errors import CodecError
from unpooled.leaving import most_bytes_of
from unpooled.plan import Plan
from unpooled.protocol import codec
from unpooled.protocol.problems import Problem
from unpooled.question import Asking, Question
from unpooled.question import encode as encoded
from unpooled.sizes import Sizes
from unpooled_client.state.files import StateError, write_atomically
from unpooled_client.state.folder import Saved, StateFolder
from unpooled_client.study.trust import TELL_BOTH, Distrust

_FORMAT = b"unpooled book 3\n"
_BINDING_BYTES = 16
_PREFIX = struct.Struct("<II")


class BookLost(StateError):
    """The book is not there, or not of this seed: what was answered is not known, so nothing more is."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the book of what this cohort has answered ({path}) is lost or belongs to another study. "
            "Without it nothing is answered. Restore it from a backup; or start again with --join-anew: all "
            "cohorts then accept again, and if a sum was released before, the study fails and must be "
            "repeated."
        )


@dataclass(frozen=True, eq=False)
class Entry:
    """A question that was answered, as far as later ones are compared with it."""

    name: ClassVar[str] = "entry"

    round: int
    digest: bytes
    """Of the question, its salt and the panel."""
    kind: str
    search: str
    start: int
    items: bytes
    """Which from `start` on, a bit each, compressed; empty where it is not about single ones."""
    panel: bytes
    """Digest of the agreed variants, empty before there are any."""
    size: int
    """Bytes of the answer."""
    fills: np.ndarray
    """uint32: keyed digests of what missing calls count, of the items that were never filled before."""
    message: bytes
    """What the question stands on, if later ones are compared with that and it is new."""
    place: str
    """The place in the study, if this cohort follows it: then it is compared with nothing else."""


@dataclass(frozen=True)
class Dealt:
    """A dealing that was made for the comparison of a round."""

    name: ClassVar[str] = "dealt"

    round: int
    circuit: str
    digest: bytes
    """Of what was dealt."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A question that is about to be answered."""

    round: int
    digest: bytes
    question: Question
    panel: bytes
    size: int
    place: str = ""


class Book:
    """What one cohort has answered under one seed. May be used by several threads."""

    def __init__(
        self,
        path: Path,
        seed: bytes,
        most_bytes: Callable[[type[Question]], int | None],
        kinds: tuple[type[Question], ...],
    ) -> None:
        """Open the book of a seed; BookLost if there is none. `most_bytes` is what was released of a kind."""
        self.path, self._most_bytes = path, most_bytes
        self._kinds = {kind.name: kind for kind in kinds}
        self._keys = _fill_keys(seed)
        self._lock = threading.Lock()
        self.panel = b""
        self.rounds: dict[int, bytes] = {}
        self._places: set[str] = set()
        self.dealt: dict[int, Dealt] = {}
        self._asked: dict[tuple[str, str], np.ndarray] = {}
        self._fills: dict[str, _Fills] = {}
        self._sent: dict[str, int] = {}
        self._earlier: dict[str, list[Question]] = {}
        for entry in _lines(path, seed):
            if isinstance(entry, Dealt):
                self.dealt[entry.round] = entry
            else:
                self._take(entry)

    @staticmethod
    def begin(path: Path, seed: bytes) -> None:
        """Begin a new book for a new seed, in place of any other."""
        write_atomically(path, _FORMAT + _binding(seed), private=True)

    def enter(self, asked: Asked) -> None:
        """Write down a question that is about to be answered; Distrust if no honest study asks it now."""
        with self._lock:
            before = self.rounds.get(asked.round)
            if before == asked.digest:
                return
            if before is not None:
                raise _distrust(asked, "asks for something else in a round that was answered")
            self._check(asked)
            entry = self._entry(asked)
            self._append(entry)
            self._take(entry)

    def deal(self, question: Question, dealt: Dealt) -> None:
        """Write down a dealing that is about to be sent, for a round that was entered.

        Distrust if other bytes were dealt for the round before: beside them these would tell what they hide.
        """
        with self._lock:
            before = self.dealt.setdefault(dealt.round, dealt)
            if before is dealt:
                self._append(dealt)
            elif before != dealt:
                raise Distrust(
                    Problem.QUESTION,
                    f"in round {dealt.round} this program deals otherwise than before ({question.title}).",
                    "Nothing was sent for it. Continue with the release of this program that began it.",
                )

    def _check(self, asked: Asked) -> None:
        question, asking = asked.question, asked.question.asking()
        if asked.panel and self.panel not in (b"", asked.panel):
            raise _distrust(asked, "asks about another list of variants than before")
        most = self._most_bytes(type(question))
        if most is None or self._sent.get(question.name, 0) + asked.size > most:
            raise _distrust(asked, "asks for more than was released")
        if asked.place:
            if asked.place in self._places:
                raise _distrust(asked, "asks again what was answered")
            return  # by this cohort's own run: nobody has chosen it
        items = _items(asking.items)
        if (items < 0).any():
            raise _distrust(asked, "asks about something that does not exist")
        if len(items) and (self._times(question.name, asking.search, items) >= asking.most).any():
            raise _distrust(asked, "asks again what was answered")
        if not all(kind in self._sent for kind in question.follows()):
            raise _distrust(asked, "asks for sums before it has counted whose they are")
        if not all(question.goes_on_from(earlier) for earlier in self._before(question)):
            raise _distrust(
                asked, "asks for other values than it began with: each reveals more of single people"
            )
        if not self._fills_as_before(question):
            raise _distrust(asked, "asks again what it has asked, but counts missing calls differently")
        new, _ = self._new_fills(question)
        if len(new) and not np.array_equal(new, self._unfilled(question, np.unique(items))):
            raise _distrust(asked, "says what missing calls count before it has asked about their variants")

    def _before(self, question: Question | type[Question]) -> list[Question]:
        """What earlier questions of the same line stood on."""
        return self._earlier.setdefault(question.line or question.name, [])

    def _times(self, kind: str, search: str, items: np.ndarray) -> np.ndarray:
        """How often each item was asked about: uint8 (items,)."""
        counts = self._asked.get((kind, search), np.zeros(0, np.uint8))
        found = np.zeros(len(items), np.uint8)
        known = items < len(counts)
        found[known] = counts[items[known]]
        return found

    def _fills_as_before(self, question: Question) -> bool:
        filled = question.filled()
        if filled is None:
            return True
        fills = self._fills.get(question.fills_apart, _Fills())
        known = ~fills.is_new(filled.variants)
        before = fills.digests[filled.variants[known]]
        return np.array_equal(before, _digests(filled.values[known], self._keys))

    def _new_fills(self, question: Question) -> tuple[np.ndarray, np.ndarray]:
        """The variants whose missing calls were never taken for anything, and what they are taken for."""
        filled = question.filled()
        if filled is None:
            return np.zeros(0, np.int64), np.zeros((0, 3))
        new = np.isin(filled.variants, self._unfilled(question, filled.variants))
        return filled.variants[new], filled.values[new]

    def _unfilled(self, question: Question, variants: np.ndarray) -> np.ndarray:
        known = self._fills.get(question.fills_apart, _Fills())
        return np.asarray(variants[known.is_new(variants)])

    def _entry(self, asked: Asked) -> Entry:
        asking = Asking() if asked.place else asked.question.asking()
        start, items = 0, b""
        if asking.items is not None and len(asking.items):
            start = int(asking.items.min())
            bits = np.zeros(int(asking.items.max()) - start + 1, bool)
            bits[asking.items - start] = True
            items = zlib.compress(np.packbits(bits).tobytes())
        return Entry(
            round=asked.round,
            digest=asked.digest,
            kind=asked.question.name,
            search=asking.search,
            start=start,
            items=items,
            panel=asked.panel,
            size=asked.size,
            fills=np.zeros(0, np.uint32)
            if asked.place
            else _digests(self._new_fills(asked.question)[1], self._keys),
            message=b"" if asked.place else self._message(asked.question),
            place=asked.place,
        )

    def _message(self, question: Question) -> bytes:
        if type(question).goes_on_from is Question.goes_on_from:
            return b""
        message = encoded(question.stands_on())
        return b"" if message in map(encoded, self._before(question)) else message

    def _take(self, entry: Entry) -> None:
        """Remember an entry that is in the file."""
        self.rounds[entry.round] = entry.digest
        self.panel = entry.panel or self.panel
        self._sent[entry.kind] = self._sent.get(entry.kind, 0) + entry.size
        if entry.place:
            self._places.add(entry.place)
            return
        items = np.zeros(1, np.int64)
        if entry.items:
            bits = np.frombuffer(zlib.decompress(entry.items), np.uint8)
            items = entry.start + np.flatnonzero(np.unpackbits(bits))
        key = entry.kind, entry.search
        self._asked[key] = _grown(self._asked.get(key, np.zeros(0, np.uint8)), items)
        self._asked[key][items] += 1
        if len(entry.fills):
            self._fills.setdefault(self._kinds[entry.kind].fills_apart, _Fills()).add(items, entry.fills)
        if entry.message:
            question = codec.decode(entry.message, list(self._kinds.values()))  # one may hold another
            self._before(self._kinds[entry.kind]).append(question)

    def _append(self, entry: Entry | Dealt) -> None:
        data = codec.encode(entry)
        with self.path.open("ab") as file:
            file.write(_PREFIX.pack(len(data), zlib.crc32(data)) + data)
            file.flush()
            os.fsync(file.fileno())


@dataclass
class _Fills:
    """What missing calls of each variant were taken for."""

    digests: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))
    filled: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    def is_new(self, variants: np.ndarray) -> np.ndarray:
        """Which of these have never been filled: bool (m,)."""
        new = np.ones(len(variants), bool)
        known = variants < len(self.filled)
        new[known] = ~self.filled[variants[known]]
        return new

    def add(self, variants: np.ndarray, digests: np.ndarray) -> None:
        """Those of them that are new, with as many digests."""
        new = variants[self.is_new(variants)]
        self.digests, self.filled = _grown(self.digests, variants), _grown(self.filled, variants)
        self.digests[new], self.filled[new] = digests, True


def knows_of_a_release(path: Path, seed: bytes) -> bool:
    """Whether questions were answered that follow only from a sum that was released; or BookLost."""
    return len({entry.kind for entry in _entries(path, seed)}) > 1


def has_answered(folder: StateFolder, saved: Saved) -> bool:
    """Whether anything was answered under the seed at hand. Without its book that is not known: then True."""
    if saved.acceptance is None:
        return False
    try:
        return next(_entries(folder.book, saved.acceptance.seed), None) is not None
    except BookLost:
        return True


def _entries(path: Path, seed: bytes) -> Iterator[Entry]:
    """The questions in a book."""
    return (entry for entry in _lines(path, seed) if isinstance(entry, Entry))


def _lines(path: Path, seed: bytes) -> Iterator[Entry | Dealt]:
    """What is in a book; what was cut off at its end is taken off. BookLost if it is not of this seed."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise BookLost(path) from error
    at = len(head := _FORMAT + _binding(seed))
    if not hmac.compare_digest(data[:at], head):
        raise BookLost(path)
    while at < len(data):
        length, checksum = _PREFIX.unpack(data[at : at + _PREFIX.size].ljust(_PREFIX.size, b"\0"))
        body = data[at + _PREFIX.size : at + _PREFIX.size + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            if at + _PREFIX.size + length < len(data):
                raise BookLost(path)  # others follow: it is damaged
            os.truncate(path, at)
            return
        try:
            yield codec.decode(body, [Entry, Dealt])
        except CodecError as error:
            raise BookLost(path) from error
        at += _PREFIX.size + length


def open_book(folder: StateFolder, seed: bytes, plan: Plan, sizes: Sizes | None) -> Book:
    """The book of a study that is under way, in which no more is answered than was released."""
    known: dict[type[Question], int | None] = {}

    def released(kind: type[Question]) -> int | None:
        if kind not in known:
            known[kind] = most_bytes_of(kind, plan, sizes)
        return known[kind]

    return Book(folder.book, seed, released, questions_of(plan))


def _items(items: np.ndarray | None) -> np.ndarray:
    """What is counted: a question that is about no single ones is itself one."""
    return np.zeros(1, np.int64) if items is None else items


def _grown(values: np.ndarray, items: np.ndarray) -> np.ndarray:
    """With places for these items."""
    more = int(items.max(initial=-1)) + 1 - len(values)
    return np.concatenate([values, np.zeros(more, values.dtype)]) if more > 0 else values


def _binding(seed: bytes) -> bytes:
    return hmac.digest(seed, _FORMAT, "sha256")[:_BINDING_BYTES]


def _fill_keys(seed: bytes) -> np.ndarray:
    """Secret odd multipliers, uint64 (7,)."""
    derived = HKDFExpand(SHA256(), 7 * 8, b"unpooled book: fills").derive(seed)
    return np.frombuffer(derived, "<u8") | np.uint64(1)


def _digests(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """32 bits for each row of three float64, by a multilinear hash with secret keys.

    Two rows that differ have the same digest with a probability of 2^-32 (Carter and Wegman 1979), and the
    server never sees one: it learns only that it was refused.
    """
    halves = np.ascontiguousarray(values, "<f8").view("<u4").astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (halves * keys[:6]).sum(axis=1, dtype=np.uint64) + keys[6]
    return np.asarray(mixed >> np.uint64(32), np.uint32)


def _distrust(asked: Asked, what: str) -> Distrust:
    return Distrust(
        Problem.QUESTION, f"in round {asked.round} the server {what} ({asked.question.title}).", TELL_BOTH
    )
