"""Codes of words under two keys, of server and compensator: neither of them alone can make one.

    cohort: A = r·H(word)      server: B = k·A      compensator: C = c·B      cohort: 1/r·C → code

Twice the verifiable oblivious function of RFC 9497 (`unpooled.protocol.oprf`), one holder of a key after the
other. Each point hides its word by a number r of its own, and they are filled up with random points to an
agreed number: so nobody learns a word, nor how many there are. A cohort learns the codes of as many words as
the plan lets it ask about, and of no others.

The keys are of one study and die with it. The public ones come to every cohort with its witness
(`unpooled.protocol.witness`), and each holder proves of all points that it has used its key. So the codes are
the same function at all cohorts: with a key for each, sums over all who have a code could be of one cohort
alone.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol import codec, oprf
from unpooled.protocol.masking import derived
from unpooled.protocol.oprf import POINT_BYTES, PROOF_BYTES

T = TypeVar("T")
Told = Callable[[int], None]

SECRET_BYTES = 32
TAG_BYTES = 32
MOST_BITS = 64
_LEAST_A_SECOND = 200


def part_bytes(points: int) -> int:
    """The length of what one holder of a key answers to so many bytes of points."""
    return points + PROOF_BYTES


def answer_bytes(points: int) -> int:
    """The length of what a cohort gets for so many bytes of points: both answers, and a tag."""
    return 2 * part_bytes(points) + TAG_BYTES


def patience(points: int) -> float:
    """The seconds for which an answer to so many bytes of points is waited for: other cohorts ask as well."""
    return 60 + points / POINT_BYTES / _LEAST_A_SECOND


def compensator_key(seeds: Sequence[bytes], study: str) -> bytes:
    """The compensator's key from the mask seeds of all cohorts: no single one of them can compute it."""
    return oprf.derived_key(derived(b"".join(seeds), ("unpooled/code-key", study)), b"")


def multiplied(key: bytes, points: bytes) -> bytes:
    """Each point times a key. ProtocolError for what is none."""
    return b"".join(oprf.product(key, point) for point in _each(points))


def answered(key: bytes, about: bytes, points: bytes) -> bytes:
    """Multiply the points by the holder's key; return them with a proof.

    `about` is what the cohort has signed: it names study, cohort and column (`messages.signed_points`).
    """
    made = multiplied(key, points)
    context = _context(about, points, made)
    return made + oprf.prove(key, oprf.nonce_for(key, context), _each(points), _each(made), context)


def proven(who: str, public: bytes, about: bytes, points: bytes, part: bytes) -> bytes:
    """The points times the key that belongs to `public`. ProtocolError unless `who` has proved it."""
    made, proof = part[:-PROOF_BYTES], part[-PROOF_BYTES:]
    is_whole = len(part) == part_bytes(len(points))
    context = _context(about, points, made)
    if not is_whole or not oprf.proves(proof, public, _each(points), _each(made), context):
        raise ProtocolError(f"the {who} has not multiplied these points by its key of this study")
    return made


def tagged(seed: bytes, about: bytes, parts: bytes) -> bytes:
    """The compensator's tag of both answers, for the cohort with this mask seed."""
    key = derived(seed, "unpooled/code-answer")
    return hmac.digest(key, codec.encode((about, parts)), "sha256")


def checked(seed: bytes, keys: bytes, about: bytes, points: bytes, answer: bytes) -> bytes:
    """The points times both keys, of which `keys` has the public ones: first the server's.

    ProtocolError unless both have proved it, and the compensator has made this answer for this cohort.
    """
    parts, tag = answer[:-TAG_BYTES], answer[-TAG_BYTES:]
    if not hmac.compare_digest(tag, tagged(seed, about, parts)):
        raise ProtocolError("the compensator has not made this answer")
    size = part_bytes(len(points))
    between = proven("server", keys[:POINT_BYTES], about, points, parts[:size])
    return proven("compensator", keys[POINT_BYTES:], about, between, parts[size:])


def _context(about: bytes, points: bytes, made: bytes) -> bytes:
    """Names the one batch that a proof is about, with all of its points (`oprf` says why)."""
    return oprf.CONTEXT + hashlib.sha512(codec.encode((about, points, made))).digest()


@dataclass(frozen=True)
class Blinding:
    """A cohort's blinding of the words of one column: the same again for the same secret.

    `secret` comes from the operating system, is kept until the codes are there, and never leaves the cohort:
    with it, whoever sees the points could try words. `purpose` names study and column.
    """

    secret: bytes
    purpose: str
    words: Sequence[str]
    most: int

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES:  # of none, anybody could make the points of a word
            raise ProtocolError(f"a secret of {len(self.secret)} bytes; want {SECRET_BYTES}")
        if len(self.words) > self.most:
            raise ProtocolError(f"{len(self.words)} different words; at most {self.most} were agreed")
        if len(set(self.words)) < len(self.words):  # two equal points would tell of it
            raise ProtocolError("a word is given twice")

    def points(self, told: Told = lambda done: None) -> bytes:
        """Make as many points as were agreed: those of the words, in their order, then any others.

        `told` hears now and then how many are made.
        """
        own = (oprf.product(self._number(word), oprf.point(self._input(word))) for word in self.words)
        others = (oprf.point_of(self._random(place)) for place in range(len(self.words), self.most))
        return b"".join(_counted(itertools.chain(own, others), told))

    def codes(self, multiplied: bytes, bits: int, told: Told = lambda done: None) -> np.ndarray:
        """The code of each word from its point times the keys: uint64 below 2^bits."""
        if len(multiplied) != self.most * POINT_BYTES:
            raise ProtocolError(
                f"got {len(multiplied)} bytes; want {self.most} points of {POINT_BYTES} bytes"
            )
        found = map(self._code, self.words, _each(multiplied))
        codes = np.fromiter(_counted(found, told), np.uint64, len(self.words))
        return codes >> np.uint64(MOST_BITS - bits)

    def _code(self, word: str, multiplied: bytes) -> int:
        point = oprf.product(oprf.inverse(self._number(word)), multiplied)
        return int.from_bytes(oprf.finalized(self._input(word), point)[: MOST_BITS // 8], "big")

    def _input(self, word: str) -> bytes:
        return codec.encode(("unpooled/code", self.purpose, word))

    def _number(self, word: str) -> bytes:
        """The number that hides a word: no other word and no other column has it."""
        return oprf.number_of(self._random(word))

    def _random(self, of: str | int) -> bytes:
        """64 bytes that nobody else can compute, for a word or for a place without one."""
        return hmac.digest(self.secret, codec.encode(("unpooled/codes", self.purpose, of)), "sha512")


def _counted(made: Iterable[T], told: Told) -> Iterator[T]:
    """Pass on what is made slowly, and tell of every hundred."""
    for count, each in enumerate(made, 1):
        yield each
        if count % 100 == 0:
            told(count)


def _each(points: bytes) -> list[bytes]:
    return [points[at : at + POINT_BYTES] for at in range(0, len(points), POINT_BYTES)]
