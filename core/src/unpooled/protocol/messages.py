"""The messages that travel as codec bytes; the others are small JSON bodies (docs/protocol)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

from unpooled.errors import CodecError, ProtocolError
from unpooled.protocol import codec
from unpooled.protocol.sealing import Box, Purpose
from unpooled.protocol.witness import SEALED_BYTES

MIN_COHORTS = 3
SHUFFLE_BYTES = 32


def digest(record: Any) -> bytes:
    """SHA-256 of a record's canonical encoding; its name, which comes first, separates the domains."""
    return hashlib.sha256(codec.encode(record)).digest()


@dataclass(frozen=True)
class Roster:
    """The cohorts of a study, by name and public key, sorted by name.

    That is a signing key; in a study without a compensator the digest of a sealing key follows.
    """

    name: ClassVar[str] = "unpooled/roster"

    members: tuple[tuple[str, bytes], ...]

    def __post_init__(self) -> None:
        names, keys = [name for name, _ in self.members], [key for _, key in self.members]
        if names != sorted(set(names)) or len(set(keys)) != len(keys):
            raise ProtocolError("a roster lists distinct cohorts with distinct keys, sorted by name")

    def hash(self) -> bytes:
        return digest(self)


@dataclass(frozen=True)
class SealingKeys:
    """Lists the keys to which one seals for each cohort, by name, in the order of the roster."""

    name: ClassVar[str] = "unpooled/sealing-keys"

    keys: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class Sealed:
    """Carries boxes of cohorts for cohorts (`unpooled.protocol.pairs`), in the order of the roster.

    As a cohort accepts: its own, for each of the others. As it asks for them: one of each of the others.
    """

    name: ClassVar[str] = "unpooled/sealed"

    plan_hash: bytes
    roster_hash: bytes
    boxes: tuple[Box, ...]
    key_parts: tuple[bytes, ...] = codec.came_later(())
    """Its own part of the key, where sums are encrypted too; as it asks for them, those of all cohorts."""


@dataclass(frozen=True)
class Enrolment:
    """All boxes of a study in one message, server to compensator."""

    name: ClassVar[str] = "unpooled/enrolment"

    study: str
    plan_hash: bytes
    roster: Roster
    boxes: tuple[Box, ...]
    code_key: bytes = codec.came_later(b"")
    """Is the server's public key of codes (`unpooled.protocol.codes`), where words are searched for."""

    def purpose(self, cohort: str, compensator_key: bytes) -> Purpose:
        return Purpose(self.study, self.plan_hash, self.roster.hash(), cohort, compensator_key)


@dataclass(frozen=True)
class Witnesses:
    """Answers an enrolment: each cohort's sealed witness, sorted by cohort."""

    name: ClassVar[str] = "unpooled/witnesses"

    sealed: tuple[tuple[str, bytes], ...]
    code_key: bytes = codec.came_later(b"")
    """Is the compensator's public key of codes, where the enrolment has the server's."""

    def __post_init__(self) -> None:
        names = [name for name, _ in self.sealed]
        if names != sorted(set(names)) or any(len(sealed) != SEALED_BYTES for _, sealed in self.sealed):
            raise ProtocolError("witnesses are one for each cohort, of their length, and sorted by cohort")


@dataclass(frozen=True)
class ReleaseRequest:
    """Asks for the sum of the masks of one round: one committed upload per cohort, sorted by cohort."""

    name: ClassVar[str] = "unpooled/release"

    study: str
    round: int
    question: bytes
    scheme: str
    words: int
    uploads: tuple[tuple[str, bytes], ...]  # (cohort, nonce)

    def __post_init__(self) -> None:
        if list(self.uploads) != sorted(set(self.uploads)):
            raise ProtocolError("the uploads of a release are distinct and sorted by cohort")


@dataclass(frozen=True)
class OpeningRequest(ReleaseRequest):
    """Asks to compare the sums of one round: the same, by which circuit, and in which order.

    `shuffle` is random, and drawn when the dealing is on disk: who deals cannot tell which row comes where.
    """

    name: ClassVar[str] = "unpooled/opening"

    circuit: str
    shuffle: bytes


@dataclass(frozen=True)
class CodeRequest:
    """Asks for the compensator's part of the codes of one cohort's column (`unpooled.protocol.codes`)."""

    name: ClassVar[str] = "unpooled/codes"

    study: str
    cohort: str
    column: int  # its place in the plan's schema
    points: bytes
    multiplied: bytes  # by the server, with its proof
    signature: bytes  # of the cohort, on `signed_points`


def signed_points(purpose: Purpose, column: int, points: bytes) -> bytes:
    """Return what a cohort signs, so that nobody can ask for codes in its name."""
    return codec.encode(("unpooled/codes", purpose, column, hashlib.sha256(points).digest()))


@dataclass(frozen=True)
class Question:
    """One round as a cohort receives it: its number, the server's random bytes, and what is asked.

    That is only named: each cohort finds the question at this place by itself. Sent are the questions about a
    coordinator's list, before the study.
    """

    name: ClassVar[str] = "unpooled/question"

    round: int
    salt: bytes
    question: bytes  # its encoding; empty where it is named
    place: str = ""  # the label of a `driver.Place`
    digest: bytes = b""  # SHA-256 of the encoding


@dataclass(frozen=True)
class Told:
    """The sums of one round as cohorts are told them, who follow the study."""

    name: ClassVar[str] = "unpooled/told"

    round: int
    salt: bytes
    total: bytes  # the words of the sum with its checks; where sums were compared, what came of that


@dataclass(frozen=True)
class Shown:
    """A comparison as it went on, as every cohort is shown it but the one that dealt.

    The server's side of it follows from this, and so do the bits (`unpooled.asking.compared_sums`). Whoever
    dealt would read the sums in it.
    """

    name: ClassVar[str] = "unpooled/shown"

    uploads: tuple[tuple[str, bytes], ...]  # as the compensator was asked about them
    shuffle: bytes
    total: bytes  # the words of the sum of the masked shares
    dealing: bytes
    answers: tuple[bytes, ...]  # of the compensator, the last one with its tag


@dataclass(frozen=True)
class Questions:
    """The rounds that a cohort has not answered yet, oldest first, and the state of the study."""

    name: ClassVar[str] = "unpooled/questions"

    state: str
    panel_digest: bytes
    witness: bytes
    """Is sealed for this cohort (`unpooled.protocol.witness`), and empty until the study has enrolled."""
    items: tuple[Question, ...]
    code_keys: bytes = codec.came_later(b"")
    """Are the public keys of codes, the server's and the compensator's, where words are searched for."""


RECORDS = (
    Roster,
    Enrolment,
    Witnesses,
    ReleaseRequest,
    OpeningRequest,
    CodeRequest,
    Question,
    Questions,
    Told,
    Shown,
    SealingKeys,
    Sealed,
    Box,
)


def decode(data: bytes, kind: type) -> Any:
    """The message of one kind in `data`; CodecError for any other bytes."""
    message = codec.decode(data, RECORDS)
    if type(message) is not kind:
        raise CodecError(f"got {type(message).__name__}; want {kind.__name__}")
    return message
