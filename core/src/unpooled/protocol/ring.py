"""The rings Z_2^w, w = 32, 64, 128 or 256, in which shares are added.

A vector is an unsigned little-endian array: shape (n,) of up to 64 bits, and beyond that shape (n, w / 64)
of 64-bit limbs, lowest first, so that its bytes are little-endian words of w bits too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.errors import ProtocolError

_DIGIT = np.uint64(32)
_LOW = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True)
class Ring:
    """Integers modulo 2^bits. No share is of 8 bits: there, a test can try everything."""

    bits: int

    def __post_init__(self) -> None:
        if self.bits not in (8, 32, 64, 128, 256):
            raise ProtocolError(f"no ring of {self.bits} bits; want 32, 64, 128 or 256")

    columns: ClassVar[int] = 1
    """Number of values that a word holds."""

    @property
    def word_bytes(self) -> int:
        return self.bits // 8

    @property
    def limbs(self) -> int:
        """Number of 64-bit limbs of a word; 1 if it is no longer than one."""
        return max(1, self.bits // 64)

    @property
    def max_sum(self) -> int:
        """Largest magnitude that a sum may have for its signed reading to be right: 2^(bits-1) - 1."""
        return (1 << (self.bits - 1)) - 1

    def zeros(self, words: int) -> np.ndarray:
        return self.from_bytes(bytes(words * self.word_bytes), words).copy()

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if self.limbs == 1:
            total: np.ndarray = a + b  # NumPy's unsigned arithmetic is modular
            return total
        return in_blocks(self._sum, a, b)

    def add_to(self, total: np.ndarray, more: np.ndarray) -> None:
        """Add a vector to another one, in its place."""
        in_blocks(self._sum if self.limbs > 1 else np.add, total, more, into=total)

    def subtract_from(self, total: np.ndarray, less: np.ndarray) -> None:
        """Subtract a vector from another one, in its place."""
        in_blocks(self._difference if self.limbs > 1 else np.subtract, total, less, into=total)

    def _sum(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        sums: np.ndarray = a + b
        carries = sums < a
        for limb in range(1, self.limbs):
            carry = carries[:, limb - 1]
            sums[:, limb] += carry
            carries[:, limb] |= carry & (sums[:, limb] == 0)
        return sums

    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if self.limbs == 1:
            difference: np.ndarray = a - b
            return difference
        return in_blocks(self._difference, a, b)

    def _difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        differences: np.ndarray = a - b
        borrows = a < b
        for limb in range(1, self.limbs):
            borrow = borrows[:, limb - 1]
            borrows[:, limb] |= borrow & (differences[:, limb] == 0)
            differences[:, limb] -= borrow
        return differences

    def multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if self.limbs == 1:
            product: np.ndarray = a * b
            return product
        # Digits to the base 2^32: each column adds at most 2 * 8 halves of products, and a carry.
        first, second = _digits(a), _digits(b)
        columns = np.zeros((len(first) + 1, first.shape[1]), np.uint64)
        for place in range(len(first)):
            for low in range(place + 1):
                part = first[low] * second[place - low]
                columns[place] += part & _LOW
                columns[place + 1] += part >> _DIGIT
            columns[place + 1] += columns[place] >> _DIGIT
        digits = np.ascontiguousarray((columns[:-1] & _LOW).T).astype("<u4")
        return digits.view("<u8")

    def shifted(self, a: np.ndarray, places: int) -> np.ndarray:
        """a times 2^places."""
        factor = (1 << places).to_bytes(self.word_bytes, "little")
        return self.multiply(a, np.broadcast_to(self.from_bytes(factor, 1), a.shape))

    def to_bytes(self, vector: np.ndarray) -> bytes:
        return vector.tobytes()

    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray:
        """The vector of `words` words in `data`; ProtocolError if the length is another one."""
        check_length(data, words * self.word_bytes)
        if self.limbs == 1:
            return np.frombuffer(data, f"<u{self.word_bytes}")
        return np.frombuffer(data, "<u8").reshape(-1, self.limbs)

    def chosen(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """These columns of an array (rows, words), as one vector."""
        return rows[:, columns].reshape(-1, *rows.shape[2:])


_BLOCK = 1 << 14


def in_blocks(
    make: Callable[..., np.ndarray], *vectors: np.ndarray, into: np.ndarray | None = None
) -> np.ndarray:
    """Make a vector of vectors of the same length, block by block; `into` one that is there, if it is given.

    What is computed on the way stays in the cache, and needs no memory of their length.
    """
    length = len(vectors[0])
    if length <= _BLOCK and into is None:
        return make(*vectors)
    for start in range(0, length, _BLOCK):
        part = make(*(vector[start : start + _BLOCK] for vector in vectors))
        into = np.empty((length, *part.shape[1:]), part.dtype) if into is None else into
        into[start : start + _BLOCK] = part
    return make(*vectors) if into is None else into


def _digits(vector: np.ndarray) -> np.ndarray:
    """The digits to the base 2^32 of each word, lowest first: uint64 (digits, words)."""
    return np.ascontiguousarray(np.ascontiguousarray(vector).view("<u4").T).astype(np.uint64)


def check_length(data: bytes | memoryview, want: int) -> None:
    if len(data) != want:
        raise ProtocolError(f"vector has the wrong length: got {len(data)} bytes; want {want}")
