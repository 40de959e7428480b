"""Keys, fingerprints, and secrets sealed to the compensator, or to a cohort (`unpooled.protocol.pairs`).

A cohort signs with Ed25519 and seals with HPKE (RFC 9180) by ML-KEM-768 and X25519 together, known as X-Wing,
with HKDF-SHA256 and AES-256-GCM: whoever keeps a box has to break both to open it one day. The server passes
the box on unread; what the secret is for is inside the seal and under the signature.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from unpooled.errors import ProtocolError
from unpooled.protocol import SEALING_KEY_BYTES, VERSION, codec
from unpooled.protocol.masking import SEED_BYTES, derived

_SUITE = hpke.Suite(hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)
_INFO = b"unpooled/box/%d" % VERSION
Content = TypeVar("Content")
_CURVE_BYTES, _SEED_BYTES = 32, 64
"""Lengths of an X25519 key and of the seed of an ML-KEM key."""
_ENCAPSULATED = 1088 + _CURVE_BYTES
"""Length of what begins a sealed text: a ciphertext of ML-KEM-768, and a key of X25519."""


def fingerprint(public_key: bytes) -> str:
    """Return a key's fingerprint, which people compare by telephone: its SHA-256, as `grouped` writes it."""
    return grouped(hashlib.sha256(public_key).hexdigest())


def grouped(digits: str) -> str:
    """Write a SHA-256 as people compare it by telephone: its first 128 bits in groups of four hex digits."""
    return " ".join(digits[i : i + 4] for i in range(0, min(len(digits), 32), 4))


class SigningKey:
    """A cohort's Ed25519 key, made at joining. Never printed."""

    def __init__(self, private: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(private)

    @staticmethod
    def generate() -> SigningKey:
        return SigningKey(os.urandom(32))

    @property
    def private(self) -> bytes:
        return self._key.private_bytes_raw()

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)

    def sealing(self) -> SealingKey:
        """Derive the key pair to which other cohorts seal.

        So no state has one without the other. Who one day computes a private Ed25519 key from a public one
        has a number that is hashed from these 32 bytes, and not the bytes: what was sealed stays sealed.
        """
        return SealingKey(derived(self.private, "unpooled/sealing/1"))

    @property
    def both(self) -> bytes:
        """Return both public keys, with which a cohort joins a study without a compensator."""
        return self.public + self.sealing().public


def member_key(joined: bytes) -> bytes:
    """Return what a roster has of a cohort that joined with these keys: of a sealing key the digest.

    Each look at a study shows the roster, and a sealing key is long.
    """
    signing, sealing = joined[:SIGNING_KEY_BYTES], joined[SIGNING_KEY_BYTES:]
    return signing + hashlib.sha256(sealing).digest() if sealing else signing


def signing_part(member: bytes) -> bytes:
    """Return the public signing key in what a roster has of a cohort."""
    return member[:SIGNING_KEY_BYTES]


def require_sealing_key(member: bytes, key: bytes, name: str) -> None:
    """ProtocolError unless a roster has the digest of this sealing key."""
    if member[SIGNING_KEY_BYTES:] != hashlib.sha256(key).digest():
        raise ProtocolError(f"the key to which one seals for {name} is not the one in the roster")


class SealingKey:
    """A key pair for opening boxes, made from 32 bytes as X-Wing does. Never printed."""

    def __init__(self, private: bytes) -> None:
        self.private = private
        expanded = hashlib.shake_256(private).digest(_SEED_BYTES + _CURVE_BYTES)
        lattice = MLKEM768PrivateKey.from_seed_bytes(expanded[:_SEED_BYTES])
        curve = X25519PrivateKey.from_private_bytes(expanded[_SEED_BYTES:])
        self.public = lattice.public_key().public_bytes_raw() + curve.public_key().public_bytes_raw()
        self._key = hpke.MLKEM768X25519PrivateKey(lattice, curve)

    @staticmethod
    def generate() -> SealingKey:
        return SealingKey(os.urandom(32))

    def open(self, sealed: bytes) -> bytes:
        try:
            return _SUITE.decrypt(sealed, self._key, _INFO)
        except (InvalidTag, ValueError) as error:
            raise ProtocolError("a box does not open with its recipient's key") from error


@dataclass(frozen=True)
class Purpose:
    """Purpose of a seed: one cohort in one study under one plan, roster and compensator."""

    name: ClassVar[str] = "unpooled/purpose"

    study: str
    plan_hash: bytes
    roster_hash: bytes
    cohort: str
    compensator_key: bytes
    version: int = VERSION


@dataclass(frozen=True)
class _Content:
    """Content of a box."""

    name: ClassVar[str] = "unpooled/seed"

    purpose: Purpose
    seed: bytes = field(repr=False)


@dataclass(frozen=True)
class Box:
    """A sealed seed and the cohort's signature over it and its purpose."""

    name: ClassVar[str] = "unpooled/box"

    cohort: str
    sealed: bytes
    signature: bytes


SIGNATURE_BYTES = 64
SIGNING_KEY_BYTES = 32


def most_sealed_bytes() -> int:
    """The length of a sealed seed at most: it grows with the names of study and cohort."""
    longest = Purpose("s" * 64, bytes(32), bytes(32), "c" * 4 * 80, bytes(SEALING_KEY_BYTES))
    return sealed_bytes(_Content(longest, bytes(SEED_BYTES)))


def sealed_bytes(content: Any) -> int:
    """The length of a record once it is sealed."""
    tag = 16
    return _ENCAPSULATED + len(codec.encode(content)) + tag


def seal_seed(seed: bytes, purpose: Purpose, signer: SigningKey) -> Box:
    """Make a box that only the compensator of `purpose` can open. ProtocolError if its key is none."""
    return seal(_Content(purpose, seed), purpose.compensator_key, signer, "the compensator")


def seal(content: Any, key: bytes, signer: SigningKey, holder: str) -> Box:
    """Seal a record, which names its purpose, to the holder of a key. ProtocolError if the key is none."""
    lattice, curve = key[:-_CURVE_BYTES], key[-_CURVE_BYTES:]
    try:
        recipient = hpke.MLKEM768X25519PublicKey(
            MLKEM768PublicKey.from_public_bytes(lattice), X25519PublicKey.from_public_bytes(curve)
        )
        sealed = _SUITE.encrypt(codec.encode(content), recipient, _INFO)
    except ValueError as error:
        raise ProtocolError(f"the key of {holder} is not a key of ML-KEM-768 and X25519") from error
    return Box(content.purpose.cohort, sealed, signer.sign(_signed(content.purpose, sealed)))


def is_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether the holder of `public_key` signed this message."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def verify_box(box: Box, purpose: Any, public_key: bytes) -> None:
    """ProtocolError unless the holder of `public_key` signed this box for this purpose."""
    if not is_signed(public_key, box.signature, _signed(purpose, box.sealed)):
        raise ProtocolError(f"the box of {box.cohort} carries no valid signature of its cohort")


def open_box(box: Box, purpose: Purpose, public_key: bytes, key: SealingKey) -> bytes:
    """The 32-byte seed in a box; ProtocolError if it was not signed and sealed for exactly this purpose."""
    content = opened(box, purpose, public_key, key, _Content)
    if len(content.seed) != SEED_BYTES:
        raise _sealed_otherwise(box)
    return content.seed


def opened(box: Box, purpose: Any, public_key: bytes, key: SealingKey, kind: type[Content]) -> Content:
    """The record of a kind in a box; ProtocolError unless signed and sealed for exactly this purpose."""
    verify_box(box, purpose, public_key)
    content = codec.decode(key.open(box.sealed), (kind, type(purpose)))
    if not isinstance(content, kind) or content.purpose != purpose:  # type: ignore[attr-defined]
        raise _sealed_otherwise(box)
    return content


def _sealed_otherwise(box: Box) -> ProtocolError:
    return ProtocolError(f"the box of {box.cohort} was sealed for something else")


def _signed(purpose: Any, sealed: bytes) -> bytes:
    return codec.encode((_INFO, purpose, sealed))
