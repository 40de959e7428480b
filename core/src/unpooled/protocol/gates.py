"""What two parties compute on shares of numbers and bits, in layers, with randomness that a third deals.

Numbers are shared as a sum in a ring, bits as an exclusive or, 64 of them in each word of a *plane*. A layer
is one exchange: each party opens masked values, and both go on from their sums. Two textbook tools:

    product   of x and y, with dealt shares of random a, b and of ab: opened are d = x - a and e = y - b, and
              xy = ab + d b + e a + d e (Beaver 1991). The same for bits, where it is an AND
    sign      of x, with dealt shares of a random r and of its bits: opened is c = x + r. The highest bit of
              x = c - r takes the borrow of all lower bits, which a tree of ANDs finds

Whatever is opened is masked by fresh uniform randomness: it tells nothing. Each party's half of that is a
*free* part, drawn from a key of its own, and a *bound* part that follows from both free parts. Bound parts of
the compensator are drawn too; those of the server are dealt (`unpooled.protocol.dealing`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol.ring import Ring, check_length

T = TypeVar("T")
Layers: TypeAlias = Generator[bytes, bytes, T]
"""Yields what a party opens in a layer, and is sent what the other one does; returns a party's share."""

_PLANE_WORD = 64


class Side(Enum):
    SERVER = "server"
    COMPENSATOR = "compensator"


class Arithmetic(Protocol):
    """In which values are shared and multiplied: a `Ring`, or `Bitwise`."""

    @property
    def word_bytes(self) -> int: ...
    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray: ...


class Bitwise:
    """Integers modulo 2, 64 in a word: a sum is an exclusive or, a product an AND."""

    word_bytes = _PLANE_WORD // 8

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(a ^ b)

    subtract = add

    def multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(a & b)

    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray:
        check_length(data, words * self.word_bytes)
        return np.frombuffer(data, "<u8")


class Dealt(Protocol):
    """What is dealt for one layer, in bytes."""

    @property
    def opening_bytes(self) -> int:
        """How much each party opens in this layer."""

    @property
    def free_bytes(self) -> int: ...
    @property
    def bound_bytes(self) -> int: ...
    def bound(self, free: Sequence[bytes], other: bytes) -> bytes:
        """One party's bound part, given both free parts and the bound part of the other party."""


@dataclass(frozen=True)
class Products:
    """For products of some pairs of factors, each factor a vector of `words` words."""

    arithmetic: Arithmetic
    factors: int
    pairs: tuple[tuple[int, int], ...]
    words: int

    @property
    def opening_bytes(self) -> int:
        return self.factors * self.words * self.arithmetic.word_bytes

    free_bytes = opening_bytes

    @property
    def bound_bytes(self) -> int:
        return len(self.pairs) * self.words * self.arithmetic.word_bytes

    def bound(self, free: Sequence[bytes], other: bytes) -> bytes:
        factors = self.arithmetic.add(*map(self.read_factors, free))
        found = self.arithmetic.subtract(self.products(factors, factors), self.read_products(other))
        return found.tobytes()

    def read_factors(self, data: bytes) -> np.ndarray:
        return self.arithmetic.from_bytes(data, self.factors * self.words)

    def read_products(self, data: bytes) -> np.ndarray:
        return self.arithmetic.from_bytes(data, len(self.pairs) * self.words)

    def products(self, lefts: np.ndarray, rights: np.ndarray) -> np.ndarray:
        """The product of each pair's first among the `lefts` and its second among the `rights`."""
        first, second = np.array(self.pairs, np.intp).reshape(-1, 2).T
        return self.arithmetic.multiply(self._each(lefts, first), self._each(rights, second))

    def _each(self, factors: np.ndarray, which: np.ndarray) -> np.ndarray:
        limbs = factors.shape[1:]
        each = factors.reshape(self.factors, self.words, *limbs)
        return np.asarray(each[which].reshape(-1, *limbs))


@dataclass(frozen=True)
class Bits:
    """For the signs of `words` words: a random word for each, and its bits."""

    ring: Ring
    words: int

    @property
    def opening_bytes(self) -> int:
        return self.words * self.ring.word_bytes

    free_bytes = opening_bytes

    @property
    def bound_bytes(self) -> int:
        return self.ring.bits * plane_bytes(self.words)

    def bound(self, free: Sequence[bytes], other: bytes) -> bytes:
        masks = self.ring.add(*map(self.read, free))
        found: np.ndarray = planes_of(masks, self.ring) ^ self.read_planes(other)
        return found.tobytes()

    def read(self, data: bytes) -> np.ndarray:
        return self.ring.from_bytes(data, self.words)

    def read_planes(self, data: bytes) -> np.ndarray:
        return planes_from(data, self.ring.bits, self.words)


Half: TypeAlias = Iterable[tuple[bytes, bytes]]
"""What one party is dealt: the free and the bound part of each layer."""


class Party:
    """One of two parties at its work: its side, and what it was dealt, layer by layer."""

    def __init__(self, side: Side, dealt: Sequence[Dealt], half: Half) -> None:
        self.side = side
        self._dealt: Iterator[tuple[Dealt, tuple[bytes, bytes]]] = zip(dealt, half, strict=True)

    @property
    def leads(self) -> bool:
        """One of the two adds what both know."""
        return self.side is Side.SERVER

    def _next(self, kind: type[T]) -> tuple[T, bytes, bytes]:
        dealt, (free, bound) = next(self._dealt)
        if not isinstance(dealt, kind):
            raise TypeError(f"dealt is {type(dealt).__name__}; want {kind.__name__}")
        return dealt, free, bound

    def multiply(self, factors: np.ndarray) -> Layers[np.ndarray]:
        """Shares of the products of the layer's pairs: all factors, one behind the other, in one vector."""
        dealt, free, bound = self._next(Products)
        arithmetic, masks = dealt.arithmetic, dealt.read_factors(free)
        own = arithmetic.subtract(factors, masks)
        opened = arithmetic.add(own, dealt.read_factors((yield own.tobytes())))
        terms = [dealt.products(opened, masks), dealt.products(masks, opened)]
        if self.leads:
            terms.append(dealt.products(opened, opened))
        total = dealt.read_products(bound)
        for term in terms:
            total = arithmetic.add(total, term)
        return total

    def multiply_planes(self, factors: Sequence[np.ndarray]) -> Layers[np.ndarray]:
        """The same of planes, (n, words) each: the products as planes."""
        stacked = np.concatenate(factors)
        products = yield from self.multiply(stacked.ravel())
        return products.reshape(-1, stacked.shape[1])

    def not_negative(self, numbers: np.ndarray) -> Layers[np.ndarray]:
        """Shares of one plane: which numbers are at least 0, read as signed."""
        dealt, free, bound = self._next(Bits)
        own = dealt.ring.add(numbers, dealt.read(free))
        opened = dealt.ring.add(own, dealt.read((yield own.tobytes())))
        known, masks = planes_of(opened, dealt.ring), dealt.read_planes(bound)
        # Of a bit: it borrows if it is 0 and that of the mask 1; it passes a borrow on if both are equal.
        borrows, passes = masks[:-1] & ~known[:-1], masks[1:-1] ^ self._public(~known[1:-1])
        borrow = yield from self._last_borrow(borrows, passes)
        return np.asarray(masks[-1:] ^ self._public(~known[-1:]) ^ borrow)

    def _last_borrow(self, borrows: np.ndarray, passes: np.ndarray) -> Layers[np.ndarray]:
        """Neighbours become one, until one is left. Nothing is below the lowest: it passes nothing on."""
        while len(borrows) > 1:
            pairs = len(borrows) // 2
            upper, low_borrows, low_passes = (
                passes[0 : 2 * pairs : 2],
                borrows[0 : 2 * pairs : 2],
                passes[1 : 2 * pairs - 1 : 2],
            )
            products = yield from self.multiply_planes([upper, low_borrows, low_passes])
            borrows = np.concatenate([borrows[1 : 2 * pairs : 2] ^ products[:pairs], borrows[2 * pairs :]])
            passes = np.concatenate([products[pairs:], passes[2 * pairs - 1 :]])
        return borrows

    def running(self, planes: np.ndarray) -> Layers[np.ndarray]:
        """Each plane becomes the AND of itself and all planes before it."""
        for bases, others in _running_levels(len(planes)):
            products = yield from self.multiply_planes([planes[bases], planes[others]])
            planes = planes.copy()
            planes[others] = products
        return planes

    def _public(self, planes: np.ndarray) -> np.ndarray:
        """What both know, as shares."""
        return planes if self.leads else np.zeros_like(planes)


def dealt_for_signs(ring: Ring, words: int) -> list[Dealt]:
    """What `Party.not_negative` takes."""
    dealt: list[Dealt] = [Bits(ring, words)]
    left = ring.bits - 1
    while left > 1:
        pairs = left // 2
        each = [(k, pairs + k) for k in range(pairs)]
        passes = [(k, 2 * pairs + k - 1) for k in range(1, pairs)]
        dealt.append(Products(Bitwise(), 3 * pairs - 1, (*each, *passes), plane_words(words)))
        left -= pairs
    return dealt


def dealt_for_running(planes: int, words: int) -> list[Dealt]:
    """What `Party.running` takes."""
    return [
        Products(
            Bitwise(),
            len(bases) + len(others),
            tuple((bases.index((k & -distance) - 1), len(bases) + place) for place, k in enumerate(others)),
            plane_words(words),
        )
        for distance, (bases, others) in zip(_powers_below(planes), _running_levels(planes), strict=True)
    ]


def _powers_below(count: int) -> list[int]:
    return [1 << power for power in range((count - 1).bit_length())]


def _running_levels(count: int) -> list[tuple[list[int], list[int]]]:
    """Of each level of Sklansky's tree, the places that are read, and those that they are ANDed to."""
    levels = []
    for distance in _powers_below(count):
        others = [k for k in range(count) if k & distance]
        levels.append((sorted({(k & -distance) - 1 for k in others}), others))
    return levels


def plane_words(count: int) -> int:
    """Words of a plane of `count` bits."""
    return -(-count // _PLANE_WORD)


def plane_bytes(count: int) -> int:
    return plane_words(count) * _PLANE_WORD // 8


def planes_from(data: bytes, planes: int, count: int) -> np.ndarray:
    """uint64 (planes, words), each plane of `count` bits; ProtocolError for another length."""
    check_length(data, planes * plane_bytes(count))
    return np.frombuffer(data, "<u8").reshape(planes, plane_words(count))


def planes_of(vector: np.ndarray, ring: Ring) -> np.ndarray:
    """The bits of each word, lowest first, as planes: uint64 (bits, words)."""
    count = len(vector)
    data = np.ascontiguousarray(vector).view(np.uint8).reshape(count, ring.word_bytes)
    found = np.zeros((ring.bits, plane_bytes(count)), np.uint8)
    for place in range(ring.word_bytes):  # one byte of all words at a time: little memory
        bits = np.unpackbits(data[:, place, None], axis=1, bitorder="little")
        found[8 * place : 8 * place + 8, : -(-count // 8)] = np.packbits(bits.T, axis=1, bitorder="little")
    return found.view("<u8")


def planes_to_bits(planes: np.ndarray, count: int) -> np.ndarray:
    """bool (planes, count)"""
    bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little", count=count)
    return bits.view(np.bool_)


def bits_to_planes(bits: np.ndarray) -> np.ndarray:
    """Planes of bool (planes, count)."""
    found = np.zeros((len(bits), plane_bytes(bits.shape[1])), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    found[:, : packed.shape[1]] = packed
    return found.view("<u8")


def require(holds: bool, message: str) -> None:
    if not holds:
        raise ProtocolError(message)
