"""Codes of words under two keys, of server and compensator: with one of them alone nobody computes a code.

    cohort: x → P(x)·r      compensator: ·c      server: ·s      cohort: ·1/r → P(x)·c·s → code

An oblivious pseudo-random function (Jarecki, Kiayias and Krawczyk 2014; RFC 9497) whose key is a product. The
blinded points are uniform whatever the words are, and filled up with others to an agreed number: so neither
key holder learns a word, nor how many there are. A cohort learns the codes of as many words as the plan lets
it ask about, and of no others.

Points of the curve P-256 travel as their first coordinates alone: P and -P have the same, and so have all
multiples of them, so that the second is never needed.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.errors import ProtocolError
from unpooled.protocol import codec

POINT_BYTES = 32
KEY_BYTES = 32
SECRET_BYTES = 32
MOST_BITS = 64
_CURVE = SECP256R1()
_ORDER = _CURVE.group_order
_SCALAR_BYTES = 48
"""Of a keystream, for a number below the order: 128 bits more than it has, so none is likelier."""


def new_key() -> bytes:
    """A key holder's secret, for one study."""
    return (secrets.randbelow(_ORDER - 1) + 1).to_bytes(KEY_BYTES, "big")


def derive_key(seeds: Sequence[bytes], study: str) -> bytes:
    """A key holder's secret from the mask seeds of all cohorts: no single one of them can compute it."""
    info = codec.encode(("unpooled/code-key", study))
    found = HKDF(SHA256(), length=_SCALAR_BYTES, salt=None, info=info).derive(b"".join(seeds))
    return _number(found).to_bytes(KEY_BYTES, "big")


def multiply(key: bytes, points: bytes, most: int) -> bytes:
    """What a key holder answers: each point times its key. ProtocolError unless these are `most` points."""
    if len(points) != most * POINT_BYTES:
        raise ProtocolError(f"got {len(points)} bytes; want {most} points of {POINT_BYTES} bytes")
    private = _private(int.from_bytes(key, "big"))
    return b"".join(private.exchange(ECDH(), _point(x)) for x in _each(points))


@dataclass(frozen=True)
class Blinding:
    """What a cohort does with the words of one column: the same again for the same secret.

    `secret` is of the operating system, is kept until the codes are there, and never leaves the cohort: with
    it, who sees the points could try words. `purpose` names study and column.
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

    def points(self) -> bytes:
        """As many points as were agreed: those of the words, in their order, then any others."""
        blinds = map(_private, self._numbers())
        own = [next(blinds).exchange(ECDH(), self._point_of(word)) for word in self.words]
        others = [_first_coordinate(next(blinds).public_key()) for _ in range(self.most - len(own))]
        return b"".join((*own, *others))

    def codes(self, answered: bytes, bits: int) -> np.ndarray:
        """The code of each word from what the key holders made of the points: uint64 below 2^bits."""
        if len(answered) != self.most * POINT_BYTES:
            raise ProtocolError(f"got {len(answered)} bytes; want {self.most} points of {POINT_BYTES} bytes")
        inverses = _inverses(list(itertools.islice(self._numbers(), len(self.words))))
        found = (
            _code(self.purpose, word, _private(inverse).exchange(ECDH(), _point(x)))
            for word, x, inverse in zip(self.words, _each(answered), inverses, strict=False)
        )
        return np.fromiter(found, np.uint64, len(self.words)) >> np.uint64(MOST_BITS - bits)

    def _numbers(self) -> Iterator[int]:
        info = codec.encode(("unpooled/codes", self.purpose))
        key = HKDF(SHA256(), length=32, salt=None, info=info).derive(self.secret)
        stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        while True:
            yield _number(stream.update(bytes(_SCALAR_BYTES)))

    def _point_of(self, word: str) -> EllipticCurvePublicKey:
        """A point whose logarithm nobody knows: the first digest that is a point's coordinate.

        How long this takes depends on the word, and is seen at the cohort alone.
        """
        for attempt in range(128):  # each fails for one word in two
            try:
                return _point(_digest(self.purpose, word, attempt))
            except ProtocolError:
                continue
        raise AssertionError("no digest of a word is a point")


def _number(uniform: bytes) -> int:
    return int.from_bytes(uniform, "big") % (_ORDER - 1) + 1


def _code(purpose: str, word: str, shared: bytes) -> int:
    return int.from_bytes(_digest(purpose, word, shared)[: MOST_BITS // 8], "big")


def _digest(*parts: str | int | bytes) -> bytes:
    return hashlib.sha256(codec.encode(("unpooled/code", *parts))).digest()


def _point(x: bytes) -> EllipticCurvePublicKey:
    try:
        return EllipticCurvePublicKey.from_encoded_point(_CURVE, b"\x02" + x)
    except ValueError as error:
        raise ProtocolError("not a point of the curve") from error


def _first_coordinate(point: EllipticCurvePublicKey) -> bytes:
    return point.public_numbers().x.to_bytes(POINT_BYTES, "big")


def _private(number: int) -> EllipticCurvePrivateKey:
    return derive_private_key(number, _CURVE)


def _inverses(numbers: Sequence[int]) -> list[int]:
    """Modulo the order of the curve: one inversion, and three products each (Montgomery 1987)."""
    products = list(itertools.accumulate(numbers, _times, initial=1))
    inverse, found = pow(products[-1], -1, _ORDER), []
    for number, before in zip(reversed(numbers), reversed(products[:-1]), strict=True):
        found.append(_times(inverse, before))
        inverse = _times(inverse, number)
    return found[::-1]


def _times(a: int, b: int) -> int:
    return a * b % _ORDER


def _each(points: bytes) -> Iterator[bytes]:
    return (points[at : at + POINT_BYTES] for at in range(0, len(points), POINT_BYTES))
