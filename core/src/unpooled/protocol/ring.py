"""The rings Z_2^32, Z_2^64 and Z_2^128 in which shares are added.

A vector is an unsigned little-endian array: shape (n,) of 32 or 64 bits, and for 128 bits shape (n, 2) of
64-bit limbs, low limb first, so that its bytes are little-endian 128-bit words too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unpooled.errors import ProtocolError


@dataclass(frozen=True)
class Ring:
    """Integers modulo 2^bits, `bits` being 32, 64 or 128."""

    bits: int

    def __post_init__(self) -> None:
        if self.bits not in (32, 64, 128):
            raise ProtocolError(f"no ring of {self.bits} bits; want 32, 64 or 128")

    @property
    def word_bytes(self) -> int:
        return self.bits // 8

    @property
    def max_sum(self) -> int:
        """Largest magnitude that a sum may have for its signed reading to be right: 2^(bits-1) - 1."""
        return (1 << (self.bits - 1)) - 1

    def zeros(self, words: int) -> np.ndarray:
        return self.from_bytes(bytes(words * self.word_bytes), words).copy()

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if self.bits < 128:
            total: np.ndarray = a + b  # NumPy's unsigned arithmetic is modular
            return total
        low = a[:, 0] + b[:, 0]
        carry = low < a[:, 0]
        return np.stack([low, a[:, 1] + b[:, 1] + carry], axis=1)

    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if self.bits < 128:
            difference: np.ndarray = a - b
            return difference
        borrow = a[:, 0] < b[:, 0]
        return np.stack([a[:, 0] - b[:, 0], a[:, 1] - b[:, 1] - borrow], axis=1)

    def to_bytes(self, vector: np.ndarray) -> bytes:
        return vector.tobytes()

    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray:
        """The vector of `words` words in `data`; ProtocolError if the length is another one."""
        check_length(data, words * self.word_bytes)
        if self.bits == 32:
            return np.frombuffer(data, "<u4")
        limbs = np.frombuffer(data, "<u8")
        return limbs.reshape(-1, 2) if self.bits == 128 else limbs


def check_length(data: bytes | memoryview, want: int) -> None:
    if len(data) != want:
        raise ProtocolError(f"vector has the wrong length: got {len(data)} bytes; want {want}")
