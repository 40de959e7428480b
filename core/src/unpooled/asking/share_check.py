"""The checks that a share begins with: secret combinations of its words, by which a false sum is found out.

    check  = c₀ · 1 + c₁ · x₁ + c₂ · x₂ + …     c₀, c₁, … 64 random bits each, x₁, x₂, … signed integers
    second = pad  +  c₁ · x₁ + c₂ · x₂ + …      other coefficients; the pad is in one cohort's share

Cohorts and server make the coefficients from the round's salt, which the compensator never has. Checks are
added as the words are, so the sum of K checks is c₀ · K plus the combination of the sums: it tells nothing
beyond them. Whoever knows the masks, but not the salt, can shift words and checks; the probability that the
shifts match is 2^-64 (docs/protocol).

The second check is for the cohorts, which are told sums: its coefficients and pad follow from their witness,
which the server never has (`unpooled.protocol.witness`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.kernels.compiled import compiled
from unpooled.protocol.masking import Modular, Scheme, keystream
from unpooled.protocol.witness import Witnessed

_INFO = b"unpooled/check/1"
_BLOCK = 1 << 13  # words; their coefficients stay in the first caches

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFF_FFFF)
_TOP = np.uint64(0x8000_0000)


def check_of(share: np.ndarray, scheme: Scheme, salt: bytes, shares: int = 1) -> int:
    """Return the check that a sum of `shares` shares must have; under Gaussian masks, just their number."""
    if not isinstance(scheme, Modular):
        return shares  # words that are rounded when they are added have no exact combination
    stream = keystream(HKDF(SHA256(), length=32, salt=None, info=_INFO).derive(salt))
    first = int.from_bytes(stream.update(bytes(8)), "little")
    return shares * first + _combination_by(stream, share, scheme)


def second_check_of(share: np.ndarray, scheme: Scheme, witnessed: Witnessed, *, padded: bool) -> int:
    """Compute the second check of a share, or of a sum, which is padded always: 0 under Gaussian masks."""
    if not isinstance(scheme, Modular):
        return 0
    return witnessed.pad * padded + _combination_by(keystream(witnessed.key), share, scheme)


def load(scheme: Scheme) -> None:
    """Load what `check_of` is compiled to: it takes a moment, and better before the others wait for it."""
    check_of(scheme.zeros(scheme.check_words + 1), scheme, bytes(1))


def _combination_by(stream: CipherContext, share: np.ndarray, scheme: Modular) -> int:
    """Combine all words behind the checks, by the coefficients that come next in the stream."""
    words, total = share[scheme.check_words :], 0
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        coefficients = np.frombuffer(stream.update(bytes(8 * len(block))), "<u8")
        total += _combination(coefficients, block, scheme.ring.bits)
    return total


def _combination(coefficients: np.ndarray, words: np.ndarray, bits: int) -> int:
    """The sum of coefficient times word, each word read as a signed integer of so many bits. Exact."""
    limbs = np.ascontiguousarray(words.reshape(len(words), -1).T)
    total = 0
    for place in range(0, bits, 32):
        # The highest bit counts -2^(bits-1). Inverted it is right but for 2^(bits-1) too many in each word.
        flip = _TOP if place == bits - 32 else np.uint64(0)
        low, middle, high = _digits(coefficients, limbs[place // 64], np.uint64(place % 64), flip)
        total += (int(low) + (int(middle) << 32) + (int(high) << 64)) << place
    low, high = _digit_sums(coefficients)
    return total - ((int(low) + (int(high) << 32)) << (bits - 1))


@compiled
def _digits(coefficients: Any, words: Any, place: Any, flip: Any) -> Any:
    """Digits to the base 2^32, not carried, of the sum of coefficient times 32 bits of a word."""
    first = second = third = np.uint64(0)
    for k in range(len(coefficients)):
        part = ((np.uint64(words[k]) >> place) & _LOW) ^ flip
        low, high = (coefficients[k] & _LOW) * part, (coefficients[k] >> _HALF) * part
        first += low & _LOW
        second += (low >> _HALF) + (high & _LOW)
        third += high >> _HALF
    return first, second, third


@compiled
def _digit_sums(coefficients: Any) -> Any:
    """The sums of the low and of the high halves."""
    low = high = np.uint64(0)
    for coefficient in coefficients:
        low += coefficient & _LOW
        high += coefficient >> _HALF
    return low, high
