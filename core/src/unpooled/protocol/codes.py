"""Codes of words under the compensator's key, through a server that cannot make one.

    cohort: x → P(x)·r      compensator: ·c, and a tag of its answer      cohort: ·1/r → P(x)·c → code

An oblivious pseudo-random function (Jarecki, Kiayias and Krawczyk 2014; RFC 9497). The points are filled up
with others to an agreed number: so nobody learns how many words there are. A cohort learns the codes of as
many words as the plan lets it ask about, and of no others.

The tag keeps cohorts from being told apart. The server carries the points, and could answer by itself, with
a key of its own for each cohort: then it could compute the code of any word that it guesses, and sums over
all who have such a code would be of one cohort alone. The tag is made under the cohort's mask seed, which
only the compensator has too, and the compensator uses one key for all cohorts.

One number r blinds all words of a column, which are different, and is drawn for this column of this study: it
is never used again. What server and compensator see is P(x)·r for several x. For each one alone that is
uniform. Together they are as good as uniform by the decisional Diffie-Hellman assumption alone, where P is a
random oracle: P(x), P(y), P(x)·r, P(y)·r, of which somebody who guesses at words may know the first two, are
exactly what it says nobody can tell from P(x), P(y) and two points that have nothing to do with each other;
of more words each further one is a random combination of the first two (Naor and Reingold 1997). It needs
that nobody knows the logarithm of one P(x) to the base of another, so a point comes of a digest and never of
a number times a known point; those that fill up come the same way, of words that only the cohort can compute.
Nothing that is multiplied by 1/r ever leaves the cohort as a point.

Points of Curve25519 are their first coordinates, and are multiplied by X25519 (RFC 7748). It makes a multiple
of 8 of every factor, so that points of small order become 0, which is refused. Points of the curve's twist
are multiplied as well, and tell as little of a key.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.errors import ProtocolError
from unpooled.protocol import codec

T = TypeVar("T")
Told = Callable[[int], None]

POINT_BYTES = 32
KEY_BYTES = 32
SECRET_BYTES = 32
TAG_BYTES = 32
MOST_BITS = 64
_FIELD = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the points that X25519 gives: a prime."""
_MASK = 2**255 - 1
_A = 486662
"""Of the curve v^2 = u^3 + A u^2 + u."""


def derive_key(seeds: Sequence[bytes], study: str) -> bytes:
    """The compensator's key from the mask seeds of all cohorts: no single one of them can compute it."""
    info = codec.encode(("unpooled/code-key", study))
    return HKDF(SHA256(), length=KEY_BYTES, salt=None, info=info).derive(b"".join(seeds))


def multiply(key: bytes, points: bytes, most: int) -> bytes:
    """Each point times the compensator's key. ProtocolError unless these are `most` points."""
    if len(points) != most * POINT_BYTES:
        raise ProtocolError(f"got {len(points)} bytes; want {most} points of {POINT_BYTES} bytes")
    private = X25519PrivateKey.from_private_bytes(key)
    return b"".join(_product(private, x) for x in _each(points))


def tagged(seed: bytes, column: int, points: bytes, multiplied: bytes) -> bytes:
    """The compensator's answer to a cohort with this seed: the multiplied points of a column, and a tag."""
    return multiplied + _tag(seed, column, points, multiplied)


def untagged(seed: bytes, column: int, points: bytes, answer: bytes) -> bytes:
    """The multiplied points of an answer. ProtocolError unless the compensator made it, of these `points`."""
    multiplied, tag = answer[:-TAG_BYTES], answer[-TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(seed, column, points, multiplied)):
        raise ProtocolError("the compensator has not made this answer")
    return multiplied


def _tag(seed: bytes, column: int, points: bytes, multiplied: bytes) -> bytes:
    info = codec.encode(("unpooled/code-answer", column))
    key = HKDF(SHA256(), length=KEY_BYTES, salt=None, info=info).derive(seed)
    return hmac.digest(key, codec.encode((points, multiplied)), "sha256")


@dataclass(frozen=True)
class Blinding:
    """What a cohort does with the words of one column: the same again for the same secret.

    `secret` is of the operating system, is kept until the codes are there, and never leaves the cohort: with
    it, who sees the points could try words. `purpose` names study and column, of which there is one blinding.
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
        stream, blind = self._stream(), X25519PrivateKey.from_private_bytes(self._numbers()[0])
        own = (_point(_digests(self.purpose, word)) for word in self.words)
        others = (
            _point(stream(POINT_BYTES) for _ in itertools.count()) for _ in range(self.most - len(self.words))
        )
        return b"".join(_counted((_product(blind, point) for point in itertools.chain(own, others)), told))

    def codes(self, answered: bytes, bits: int, told: Told = lambda done: None) -> np.ndarray:
        """The code of each word from what the compensator made of the points: uint64 below 2^bits."""
        if len(answered) != self.most * POINT_BYTES:
            raise ProtocolError(f"got {len(answered)} bytes; want {self.most} points of {POINT_BYTES} bytes")
        inverse = X25519PrivateKey.from_private_bytes(self._numbers()[1])
        found = (
            _code(self.purpose, word, _product(inverse, x))
            for word, x in zip(self.words, _each(answered), strict=False)
        )
        codes = np.fromiter(_counted(found, told), np.uint64, len(self.words))
        return codes >> np.uint64(MOST_BITS - bits)

    def _numbers(self) -> tuple[bytes, bytes]:
        """The number that blinds, and its inverse, both as X25519 takes them."""
        stream = self._stream("number")
        while True:
            number = stream(KEY_BYTES)
            if (inverse := _inverse(number)) is not None:  # of every other one
                return number, inverse

    def _stream(self, of: str = "others") -> Callable[[int], bytes]:
        """Bytes that nobody else can compute, one after the other."""
        info = codec.encode(("unpooled/codes", of, self.purpose))
        key = HKDF(SHA256(), length=32, salt=None, info=info).derive(self.secret)
        stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        return lambda length: stream.update(bytes(length))


def _counted(made: Iterator[T], told: Told) -> Iterator[T]:
    """Pass on what is made slowly, and tell of every hundred."""
    for count, each in enumerate(made, 1):
        yield each
        if count % 100 == 0:
            told(count)


def _point(digests: Iterator[bytes]) -> bytes:
    """A point whose logarithm nobody knows: the first digest that is one's coordinate, as every other is.

    How long this takes depends on the word, and is seen at the cohort alone.
    """
    for digest in digests:
        u = int.from_bytes(digest, "little") & _MASK
        if u < _FIELD and _is_square(u * (u * (u + _A) + 1)):
            return u.to_bytes(POINT_BYTES, "little")
    raise AssertionError("no digest is a point")


def _digests(purpose: str, word: str) -> Iterator[bytes]:
    return (_digest(purpose, word, attempt) for attempt in itertools.count())


def _product(private: X25519PrivateKey, x: bytes) -> bytes:
    """A point times a number. ProtocolError for one that is none, or of small order."""
    if int.from_bytes(x, "little") >= _FIELD:  # each point has one form
        raise ProtocolError("not a point of the curve")
    try:
        return private.exchange(X25519PublicKey.from_public_bytes(x))
    except ValueError as error:  # the product is 0
        raise ProtocolError("a point of small order") from error


def _inverse(number: bytes) -> bytes | None:
    """What undoes a multiplication by X25519, if X25519 takes it: a multiple of 8, from 2^254 to 2^255.

    Among the numbers that are the inverse modulo the order, one below eight times the order is a multiple.
    """
    taken = int.from_bytes(number, "little") & (_MASK - 7) | 1 << 254
    inverse = pow(taken, -1, _ORDER)
    inverse += _ORDER * (-inverse * pow(_ORDER, -1, 8) % 8)
    return inverse.to_bytes(KEY_BYTES, "little") if 1 << 254 <= inverse < 1 << 255 else None


def _is_square(number: int) -> bool:
    """Whether a number is a square in the field and not 0, by Jacobi's symbol: faster than by a power."""
    a, n, sign = number % _FIELD, _FIELD, 1
    while a:
        twos = (a & -a).bit_length() - 1
        a >>= twos
        if twos & 1 and n & 7 in (3, 5):
            sign = -sign
        if a & n & 3 == 3:
            sign = -sign
        a, n = n % a, a
    return n == 1 and sign == 1


def _code(purpose: str, word: str, shared: bytes) -> int:
    return int.from_bytes(_digest(purpose, word, shared)[: MOST_BITS // 8], "big")


def _digest(*parts: str | int | bytes) -> bytes:
    return hashlib.sha256(codec.encode(("unpooled/code", *parts))).digest()


def _each(points: bytes) -> Iterator[bytes]:
    return (points[at : at + POINT_BYTES] for at in range(0, len(points), POINT_BYTES))
