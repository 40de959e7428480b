"""Integers and real numbers as elements of a ring, and back.

A real x becomes the integer nearest to x · 2^fraction_bits; negative integers are their two's complement. The
signed reading of a sum is right if and only if its magnitude is below 2^(bits-1): the caller checks the
bounds of the summands (unpooled.asking.question), nothing here does.
"""

from __future__ import annotations

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol.ring import Ring, in_blocks

_LIMB = 2.0**64


def encode_integers(values: np.ndarray, ring: Ring) -> np.ndarray:
    """Signed 64-bit integers, any shape, as a ring vector."""
    flat = np.ascontiguousarray(values, dtype="<i8").ravel()
    if ring.bits < 64:
        return flat.astype(f"<u{ring.word_bytes}")  # keeps the low bits
    if ring.limbs == 1:
        return flat.view("<u8")
    return np.stack([flat, *[flat >> 63] * (ring.limbs - 1)], axis=1).view("<u8")  # sign-extended


def decode_integers(vector: np.ndarray, ring: Ring) -> np.ndarray:
    """The signed reading of a ring vector as int64; in a ring of more than 64 bits it must fit into these."""
    if ring.limbs == 1:
        return vector.view(f"<i{ring.word_bytes}").astype(np.int64)
    limbs = vector.view("<i8")
    if np.any(limbs[:, 1:] != limbs[:, :1] >> 63):
        raise ProtocolError("a sum of integers does not fit into 64 bits")
    return limbs[:, 0].astype(np.int64)


def encode_reals(values: np.ndarray, fraction_bits: int, ring: Ring) -> np.ndarray:
    """Reals, any shape, as a ring vector with `fraction_bits` bits after the point, rounded half to even."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    return in_blocks(lambda some: _encoded(some, fraction_bits, ring), flat)


def _encoded(values: np.ndarray, fraction_bits: int, ring: Ring) -> np.ndarray:
    scaled = np.rint(np.ldexp(values, fraction_bits))
    if ring.limbs == 1:
        return encode_integers(scaled.astype(np.int64), ring)
    # Exact: a magnitude divided by a power of two, its floor and the remainder lose no bit of a float64.
    # (The remainder of a negative number would: -1 - floor(-1 / 2^64) * 2^64 is not a float64.)
    rest, limbs = np.abs(scaled), np.empty((len(scaled), ring.limbs), "<u8")
    for limb in reversed(range(ring.limbs)):
        unit = _LIMB**limb
        part = np.floor(rest / unit)
        rest -= part * unit
        limbs[:, limb] = part.astype("<u8")
    return _with_sign(limbs, scaled < 0, ring)


def decode_reals(vector: np.ndarray, fraction_bits: int, ring: Ring) -> np.ndarray:
    """A ring vector's signed fixed-point reading as float64, to within one rounding for each limb."""
    return in_blocks(lambda some: _decoded(some, fraction_bits, ring), vector)


def _decoded(vector: np.ndarray, fraction_bits: int, ring: Ring) -> np.ndarray:
    if ring.limbs == 1:
        return np.ldexp(decode_integers(vector, ring).astype(np.float64), -fraction_bits)
    negative = vector.view("<i8")[:, -1] < 0
    # Magnitudes, so that the limbs have one sign and nothing cancels.
    limbs = _with_sign(vector, negative, ring).astype(np.float64)
    size = limbs[:, -1]
    for limb in reversed(range(ring.limbs - 1)):
        size = size * _LIMB + limbs[:, limb]
    return np.ldexp(np.where(negative, -size, size), -fraction_bits)


def _with_sign(words: np.ndarray, negative: np.ndarray, ring: Ring) -> np.ndarray:
    """The words of several limbs, replaced by their two's complement where `negative`."""
    return np.where(negative[:, None], ring.subtract(np.zeros_like(words), words), words)
