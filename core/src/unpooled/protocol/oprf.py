"""Verifiable oblivious functions: the suite ristretto255-SHA512 of RFC 9497, by libsodium.

A holder of a key multiplies points that tell nothing of their inputs, and proves of many at once that each
was multiplied by the key that belongs to a public one. Points and numbers have 32 bytes.

In the RFC, the number by which a proof weighs a point follows from this point and its product alone. Then one
who makes up the products of some hundred points can choose them so that the weighed errors add up to 0
(Wagner 2002): so a caller gives a `context` that has all of them in it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unpooled.errors import ProtocolError, UnpooledError

POINT_BYTES = 32
PROOF_BYTES = 64
_BASE = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
"""Is the point of which public keys are multiples."""
CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"


@functools.cache
def _group() -> Any:
    """Load libsodium when it is first needed: few studies do."""
    try:
        import rbcl
    except OSError as error:  # it is written to a temporary file, and loaded from there
        raise UnpooledError(
            f"libsodium, for codes of words, cannot be loaded from the folder of temporary files: {error}. "
            "Set TMPDIR to a folder that this program may write to and run programs from."
        ) from error
    with contextlib.suppress(OSError):  # Windows keeps a file that is in use
        Path(sys.modules["rbcl._sodium"].lib_path).unlink()
    return rbcl


def random_key() -> bytes:
    """Draw a private key."""
    key: bytes = _group().crypto_core_ristretto255_scalar_random()
    return key


def derived_key(seed: bytes, info: bytes) -> bytes:
    """Derive the private key that belongs to a secret and a public text."""
    return _number(seed + _sized(info) + b"\0", b"DeriveKeyPair" + CONTEXT)


def public_key(key: bytes) -> bytes:
    """Find the K that belongs to a private key."""
    public: bytes = _group().crypto_scalarmult_ristretto255_base(key)
    return public


def point(text: bytes) -> bytes:
    """Hash to a point whose logarithm nobody knows."""
    return point_of(_expanded(text, b"HashToGroup-" + CONTEXT))


def point_of(uniform: bytes) -> bytes:
    """Make a point of 64 bytes: as good as any other if they are random."""
    found: bytes = _group().crypto_core_ristretto255_from_hash(uniform)
    return found


def number_of(uniform: bytes) -> bytes:
    """Make a number of 64 bytes, likewise."""
    found: bytes = _group().crypto_core_ristretto255_scalar_reduce(uniform)
    return found


def inverse(number: bytes) -> bytes:
    """Find the number that undoes a multiplication."""
    found: bytes = _group().crypto_core_ristretto255_scalar_invert(number)
    return found


def product(number: bytes, point: bytes) -> bytes:
    """Multiply a point. ProtocolError for bytes that are none, and where it comes to nothing."""
    try:
        found: bytes = _group().crypto_scalarmult_ristretto255(number, point)
    except (RuntimeError, ValueError) as error:
        raise ProtocolError("not a point of ristretto255, or the one at its origin") from error
    return found


def finalized(text: bytes, point: bytes) -> bytes:
    """Make the 64 bytes that stand for an input, given the product of its point."""
    return hashlib.sha512(_sized(text) + _sized(point) + b"Finalize").digest()


def prove(key: bytes, nonce: bytes, taken: Sequence[bytes], made: Sequence[bytes], context: bytes) -> bytes:
    """Prove that each point `made` is the one `taken` times the key.

    A `nonce` is a secret number, and serves for one proof: from two with the same one the key follows.
    """
    group, public = _group(), public_key(key)
    weighed = _sum(_weights(public, taken, made, context), taken)
    hint, weighed_hint = public_key(nonce), product(nonce, weighed)
    challenge = _challenge(public, weighed, product(key, weighed), hint, weighed_hint, context)
    response = group.crypto_core_ristretto255_scalar_sub(
        nonce, group.crypto_core_ristretto255_scalar_mul(challenge, key)
    )
    return challenge + bytes(response)


def nonce_for(key: bytes, context: bytes) -> bytes:
    """Derive the nonce of the one proof in this context: the same request then gets the same answer."""
    return number_of(hmac.digest(key, context, "sha512"))


def proves(
    proof: bytes, public: bytes, taken: Sequence[bytes], made: Sequence[bytes], context: bytes
) -> bool:
    """Tell whether each point `made` is the one `taken` times the key that belongs to `public`."""
    challenge, response = proof[:POINT_BYTES], proof[POINT_BYTES:]
    try:
        weights = _weights(public, taken, made, context)
        before, after = _sum(weights, taken), _sum(weights, made)
        hint = _sum((response, challenge), (_BASE, public))
        weighed_hint = _sum((response, challenge), (before, after))
    except ProtocolError:
        return False
    return hmac.compare_digest(challenge, _challenge(public, before, after, hint, weighed_hint, context))


def _weights(public: bytes, taken: Sequence[bytes], made: Sequence[bytes], context: bytes) -> list[bytes]:
    seed = _sized(hashlib.sha512(_sized(public) + _sized(b"Seed-" + context)).digest())
    return [
        _number(
            seed + place.to_bytes(2, "big") + _sized(one) + _sized(other) + b"Composite",
            b"HashToScalar-" + context,
        )
        for place, (one, other) in enumerate(zip(taken, made, strict=True))
    ]


def _sum(weights: Iterable[bytes], points: Iterable[bytes]) -> bytes:
    add = _group().crypto_core_ristretto255_add
    return functools.reduce(add, map(product, weights, points))


def _challenge(
    public: bytes, before: bytes, after: bytes, hint: bytes, weighed_hint: bytes, context: bytes
) -> bytes:
    transcript = b"".join(map(_sized, (public, before, after, hint, weighed_hint)))
    return _number(transcript + b"Challenge", b"HashToScalar-" + context)


def _number(text: bytes, domain: bytes) -> bytes:
    return number_of(_expanded(text, domain))


def _expanded(text: bytes, domain: bytes) -> bytes:
    """Make 64 bytes of a text: expand_message_xmd of RFC 9380 with SHA-512."""
    tail = domain + bytes([len(domain)])
    first = hashlib.sha512(bytes(128) + text + b"\0\x40\0" + tail).digest()
    return hashlib.sha512(first + b"\1" + tail).digest()


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(2, "big") + part
