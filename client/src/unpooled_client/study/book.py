"""The cohort's book: every question that was answered, on disk before its answer leaves.

What is asked follows from the plan, the agreed variants and the sums so far, at one place in the study. So a
place is answered in one round, a round is of one question, the variants stay, and no more leaves than was
released. The same again, as after a crash or a lost share, is answered and counted once; anything else ends
the run. The book outlives the program.

    file    one line with the format, 16 bytes that bind it to the mask seed, then entries
    entry   length and CRC-32, 4 bytes each, and the entry in the canonical encoding

A file is only ever appended to, with one flush for each entry. An entry that was cut off by a crash is
dropped: its answer did not leave.

So it does with a share that has no nonce (`unpooled_client.study.unsent`): one round has one such share. A
cohort that deals for a comparison enters the dealing's digest likewise: one round has one dealing. So it
does with each sum that it was told and has verified: one place has one sum, and when the study is over
`unpooled_client.study.verifying` looks for it in the manifest.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeAlias, TypeVar

from unpooled.asking.question import Question
from unpooled.asking.sizes import Sizes
from unpooled.described.what_leaves import most_bytes_of
from unpooled.errors import CodecError
from unpooled.plan.plan import Plan
from unpooled.protocol import codec
from unpooled.protocol.messages import Told
from unpooled.protocol.problems import Problem
from unpooled_client.state.files import StateError, write_atomically
from unpooled_client.state.folder import Saved, StateFolder
from unpooled_client.study.trust import TELL_BOTH, Distrust

_FORMAT = b"unpooled book 4\n"
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
    """A question that was answered."""

    name: ClassVar[str] = "entry"

    round: int
    digest: bytes
    """Digest of the question, its salt and the panel."""
    kind: str
    panel: bytes
    """Digest of the agreed variants, empty before there are any."""
    size: int
    """Bytes of the answer."""
    place: str
    """The place in the study; empty where a list of variants is agreed on before it."""


@dataclass(frozen=True)
class Dealt:
    """A dealing that was made for the comparison of a round."""

    name: ClassVar[str] = "dealt"

    round: int
    circuit: str
    digest: bytes
    """Digest of what was dealt."""


@dataclass(frozen=True)
class Heard:
    """A sum that this cohort was told, and has verified."""

    name: ClassVar[str] = "heard"

    round: int
    place: str
    digest: bytes
    """Digest of the record in which the sum was told."""

    @classmethod
    def of(cls, place: str, told: Told) -> Heard:
        """Make the line of a sum from the record in which it was told."""
        return cls(told.round, place, hashlib.sha256(codec.encode(told)).digest())


@dataclass(frozen=True)
class Sent:
    """A share without a nonce that is about to be sent, or was."""

    name: ClassVar[str] = "sent"

    round: int
    digest: bytes
    """Digest of its bytes."""


@dataclass(frozen=True)
class Helped:
    """A share of a decryption that is about to be sent, or was."""

    name: ClassVar[str] = "helped"

    round: int
    shares: bytes
    """Digest of all cohorts' shares, whose sum it helps to read."""
    digest: bytes
    """Digest of its bytes."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A question that is about to be answered."""

    round: int
    digest: bytes
    question: Question
    panel: bytes
    size: int
    place: str = ""


Line: TypeAlias = Entry | Dealt | Heard | Sent | Helped
_Once = TypeVar("_Once", Dealt, Heard, Sent, Helped)
_Key = TypeVar("_Key", int, str)


class Book:
    """Record of one cohort's answers under one seed. May be used by several threads."""

    def __init__(self, path: Path, seed: bytes, most_bytes: Callable[[type[Question]], int | None]) -> None:
        """Open the book of a seed; BookLost if there is none. `most_bytes` is what was released of a kind."""
        self.path, self._most_bytes = path, most_bytes
        self._lock = threading.Lock()
        self.panel = b""
        self.rounds: dict[int, bytes] = {}
        self._places: set[str] = set()
        self.dealt: dict[int, Dealt] = {}
        self._heard: dict[str, Heard] = {}
        self.sent: dict[int, Sent] = {}
        self.helped: dict[int, Helped] = {}
        self._sizes: dict[str, int] = {}
        for entry in lines_of(path, seed):
            match entry:
                case Dealt():
                    self.dealt[entry.round] = entry
                case Heard():
                    self._heard[entry.place] = entry
                case Sent():
                    self.sent[entry.round] = entry
                case Helped():
                    self.helped[entry.round] = entry
                case Entry():
                    self._take(entry)

    @staticmethod
    def begin(path: Path, seed: bytes) -> None:
        """Begin a new book for a new seed, in place of any other."""
        write_atomically(path, _FORMAT + _binding(seed), private=True)

    def enter(self, asked: Asked) -> None:
        """Write down a question that is about to be answered; Distrust if that must not be."""
        # Two threads must not enter two questions for one round or place, each unseen by the other.
        with self._lock:
            before = self.rounds.get(asked.round)
            if before == asked.digest:
                return
            if before is not None:
                raise _distrust(asked, "asks for something else in a round that was answered")
            self._require_allowed(asked)
            entry = Entry(
                asked.round, asked.digest, asked.question.name, asked.panel, asked.size, asked.place
            )
            self._append(entry)
            self._take(entry)

    def deal(self, question: Question, dealt: Dealt) -> None:
        """Write down a dealing that is about to be sent, for a round that was entered.

        Distrust if other bytes were dealt for the round before: beside them these would tell what they hide.
        """
        if not self._is_only(dealt, self.dealt, dealt.round):
            raise Distrust(
                Problem.QUESTION,
                f"in round {dealt.round} this program deals otherwise than before ({question.title}).",
                "Nothing was sent for it. Continue with the release of this program that began it.",
            )

    def hear(self, question: Question, heard: Heard) -> None:
        """Write down a sum that was told and verified, once; Distrust if another one was before."""
        if not self._is_only(heard, self._heard, heard.place):
            raise Distrust(
                Problem.QUESTION,
                f"the server tells another sum of the place {heard.place} in the study than before "
                f"({question.title}).",
                TELL_BOTH,
            )

    def send(self, sent: Sent) -> bool:
        """Write down a share that is about to be sent; False if it is another one than before."""
        return self._is_only(sent, self.sent, sent.round)

    def help(self, helped: Helped) -> bool:
        """Write down a share of a decryption that is about to be sent; False if another one was before."""
        return self._is_only(helped, self.helped, helped.round)

    def _is_only(self, line: _Once, known: dict[_Key, _Once], key: _Key) -> bool:
        """Write down a line unless it is there already; False if another one has its key."""
        with self._lock:
            if key not in known:
                self._append(line)  # first: a line that a full disk refuses is not known
                known[key] = line
            return known[key] == line

    def _require_allowed(self, asked: Asked) -> None:
        question = asked.question
        if asked.panel and self.panel not in (b"", asked.panel):
            raise _distrust(asked, "asks about another list of variants than before")
        most = self._most_bytes(type(question))
        if most is None or self._sizes.get(question.name, 0) + asked.size > most:
            raise _distrust(asked, "asks for more than was released")
        if asked.place in self._places:
            raise _distrust(asked, "asks again what was answered")

    def _take(self, entry: Entry) -> None:
        """Remember an entry that is in the file."""
        self.rounds[entry.round] = entry.digest
        self.panel = entry.panel or self.panel
        self._sizes[entry.kind] = self._sizes.get(entry.kind, 0) + entry.size
        self._places |= {entry.place} - {""}

    def _append(self, entry: Line) -> None:
        data = codec.encode(entry)
        with self.path.open("ab") as file:
            file.write(_PREFIX.pack(len(data), zlib.crc32(data)) + data)
            file.flush()
            # On disk before the answer leaves: after a loss of power the book must know of all that was sent.
            os.fsync(file.fileno())


def knows_of_a_release(path: Path, seed: bytes) -> bool:
    """Tell whether questions were answered that follow only from a released sum; BookLost if unknown."""
    return len({entry.kind for entry in _entries(path, seed)}) > 1


def has_answered(folder: StateFolder, saved: Saved) -> bool:
    """Tell whether anything was answered under the seed at hand; True if its book is lost, since that is then
    unknown.
    """
    if saved.acceptance is None:
        return False
    try:
        return next(_entries(folder.book, saved.acceptance.seed), None) is not None
    except BookLost:
        return True


def _entries(path: Path, seed: bytes) -> Iterator[Entry]:
    """The questions in a book."""
    return (entry for entry in lines_of(path, seed) if isinstance(entry, Entry))


def lines_of(path: Path, seed: bytes) -> Iterator[Line]:
    """Yield the lines of a book, and drop one cut off at its end. BookLost if it is not of this seed."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise BookLost(path) from error
    at = len(head := _FORMAT + _binding(seed))
    if not hmac.compare_digest(data[:at], head):
        raise BookLost(path)
    while at < len(data):
        # A prefix that was cut off is filled up: its entry is then too short, and dropped.
        length, checksum = _PREFIX.unpack(data[at : at + _PREFIX.size].ljust(_PREFIX.size, b"\0"))
        body = data[at + _PREFIX.size : at + _PREFIX.size + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            # Half an entry at the end is what a crash leaves; anywhere else, bytes were changed.
            if at + _PREFIX.size + length < len(data):
                raise BookLost(path)  # others follow: it is damaged
            os.truncate(path, at)
            return
        try:
            yield codec.decode(body, [Entry, Dealt, Heard, Sent, Helped])
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

    return Book(folder.book, seed, released)


def _binding(seed: bytes) -> bytes:
    return hmac.digest(seed, _FORMAT, "sha256")[:_BINDING_BYTES]


def _distrust(asked: Asked, what: str) -> Distrust:
    return Distrust(
        Problem.QUESTION, f"in round {asked.round} the server {what} ({asked.question.title}).", TELL_BOTH
    )
