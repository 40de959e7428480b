"""Computation by two parties on shares of numbers and bits, in layers, with randomness that a third deals.

Numbers are shared as a sum in a ring, bits as an exclusive or, 64 of them in each word of a *plane*. A layer
is one exchange: each party opens masked values, and both go on from their sums. Two textbook tools:

    product   of x and y, with dealt shares of random a, b and of ab: opened are d = x - a and e = y - b, and
              xy = ab + d b + e a + d e (Beaver 1991); likewise of more factors, with the products of all
              subsets of their masks. The same for bits, where it is an AND
    sign      of x, with dealt shares of a random r and of its bits: opened is c = x + r. The highest bit of
              x = c - r takes the borrow of all lower bits, which a tree of ANDs finds

Whatever is opened is masked by fresh uniform randomness: it tells nothing. Each party's half of that is a
*free* part, drawn from a key of its own, and a *bound* part that follows from both free parts. Bound parts of
the compensator are drawn too; those of the server are dealt (`unpooled.protocol.dealing`), and checked by
spare products, which are sacrificed (`unpooled.protocol.sacrificing`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol.ring import Ring, check_length

T = TypeVar("T")
Layers: TypeAlias = Generator[bytes, bytes, T]
"""Yields what a party opens in a layer, and is sent what the other one does; returns a party's share."""

_PLANE_WORD = 64
_LONG_PLANE = 4096
"""Bits: where planes are longer, a comparison waits for bytes rather than for turns."""


_ZEROS = 64
"""Columns of zeros behind those that are used: the spare products of these are opened."""


class Side(Enum):
    SERVER = "server"
    COMPENSATOR = "compensator"


class Arithmetic(Protocol):
    """Arithmetic in which values are shared and multiplied: a `Ring`, or `Bitwise`."""

    @property
    def word_bytes(self) -> int: ...
    @property
    def columns(self) -> int:
        """Number of values that a word holds."""

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray: ...
    def chosen(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """These columns of an array (rows, words), as one vector."""


class Bitwise:
    """Integers modulo 2, 64 in a word: a sum is an exclusive or, a product an AND."""

    word_bytes = _PLANE_WORD // 8
    columns = _PLANE_WORD

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(a ^ b)

    subtract = add

    def multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(a & b)

    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray:
        check_length(data, words * self.word_bytes)
        return np.frombuffer(data, "<u8")

    def chosen(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        bits = planes_to_bits(rows, rows.shape[1] * _PLANE_WORD)
        return bits_to_planes(bits.take(columns, axis=1)).ravel()


class Dealt(Protocol):
    """Dealing for one layer, sized in bytes."""

    @property
    def opening_bytes(self) -> int:
        """Number of bytes that each party opens in this layer."""

    @property
    def free_bytes(self) -> int: ...
    @property
    def bound_bytes(self) -> int: ...
    def bound(self, free: Sequence[bytes], other: bytes) -> bytes:
        """One party's bound part, given both free parts and the bound part of the other party."""


class Layer(Dealt, Protocol):
    """Dealing for a layer of a circuit."""

    @property
    def spares(self) -> list[Products]:
        """Products dealt beside it and sacrificed, to show that its bound parts are right."""

    def claims(self, side: Side, free: bytes, bound: bytes) -> tuple[np.ndarray, np.ndarray]:
        """A party's shares of factors, and of what their products are if the bound parts are right."""


@dataclass(frozen=True)
class Products:
    """Dealing for products of some of the factors, each factor `places` rows of `width` words.

    A product of sums, of what is opened of each factor and its mask, is a sum over the subsets of factors: in
    each term these are masked and the others opened. So the products of masks are dealt for all subsets.
    """

    arithmetic: Arithmetic
    factors: int
    wanted: tuple[tuple[int, ...], ...]
    """Indices of the factors of each product, two at least."""
    width: int
    places: int = 1

    @property
    def words(self) -> int:
        """Number of words of a factor."""
        return self.places * self.width

    @property
    def columns(self) -> int:
        return self.width * self.arithmetic.columns

    @property
    def spares(self) -> list[Products]:
        width = self.width + _ZEROS // self.arithmetic.columns
        spare = replace(self, wanted=_subsets(self.wanted), width=width)
        return [spare] * (1 if self.columns > _LONG_PLANE else 2)

    def claims(self, side: Side, free: bytes, bound: bytes) -> tuple[np.ndarray, np.ndarray]:
        return self.read_factors(free), self.read_products(bound)

    @property
    def opening_bytes(self) -> int:
        return self.factors * self.words * self.arithmetic.word_bytes

    free_bytes = opening_bytes

    @property
    def bound_bytes(self) -> int:
        return len(_subsets(self.wanted)) * self.words * self.arithmetic.word_bytes

    def bound(self, free: Sequence[bytes], other: bytes) -> bytes:
        masks = self.arithmetic.add(*map(self.read_factors, free))
        made: dict[tuple[int, ...], np.ndarray] = dict(self.each_factor(masks))
        for subset in _subsets(self.wanted):  # shorter ones come first
            made[subset] = self.arithmetic.multiply(made[subset[:-1]], made[subset[-1:]])
        found = np.concatenate([made[subset] for subset in _subsets(self.wanted)])
        return self.arithmetic.subtract(found, self.read_products(other)).tobytes()

    def read_factors(self, data: bytes) -> np.ndarray:
        return self.arithmetic.from_bytes(data, self.factors * self.words)

    def read_products(self, data: bytes) -> np.ndarray:
        return self.arithmetic.from_bytes(data, len(_subsets(self.wanted)) * self.words)

    def each_factor(self, vector: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
        """The part of each factor, by its place as a subset of one."""
        return {(place,): part for place, part in enumerate(np.split(vector, self.factors))}

    def shares(self, opened: np.ndarray, masks: np.ndarray, bound: np.ndarray, *, leads: bool) -> np.ndarray:
        """A party's shares of the wanted products, from what is opened and its shares of what is dealt."""
        known, dealt = self.each_factor(opened), self.each_factor(masks)
        dealt |= zip(_subsets(self.wanted), np.split(bound, len(_subsets(self.wanted))), strict=True)

        @functools.cache
        def share(factors: tuple[int, ...], masked: tuple[int, ...]) -> np.ndarray:
            """Return the share of the product of some factors, and of the masks of others behind them."""
            if not factors:
                return dealt[masked]
            others, last = factors[:-1], factors[-1:]
            found = share(others, last + masked)
            if others or masked:
                return self.arithmetic.add(
                    found, self.arithmetic.multiply(known[last], share(others, masked))
                )
            return self.arithmetic.add(found, known[last]) if leads else found

        return np.concatenate([share(each, ()) for each in self.wanted])


@functools.cache
def _subsets(wanted: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return the subsets of each product's factors, of two and more: shorter ones first."""
    found = {
        subset
        for factors in wanted
        for size in range(2, len(factors) + 1)
        for subset in itertools.combinations(factors, size)
    }
    return tuple(sorted(found, key=lambda subset: (len(subset), subset)))


@dataclass(frozen=True)
class Bits:
    """Dealing for the signs of `words` words: a random word for each, and its bits."""

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

    @property
    def spares(self) -> list[Products]:
        return Products(Bitwise(), 2, ((0, 1),), plane_words(self.words), self.ring.bits).spares

    def claims(self, side: Side, free: bytes, bound: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Both words s, t are added bit by bit: b = s ^ t ^ c, and the next c is c ^ (b ^ t)(b ^ s)."""
        bits = self.read_planes(bound)
        carries = bits ^ planes_of(self.read(free), self.ring)
        nothing = np.zeros_like(bits[:1])  # is carried into the lowest bit
        below = [np.concatenate([nothing, planes[:-1]]) for planes in (bits, carries)]
        products = carries ^ below[1]
        factors = below if side is Side.SERVER else below[::-1]
        return np.concatenate(factors).ravel(), products.ravel()

    def read(self, data: bytes) -> np.ndarray:
        return self.ring.from_bytes(data, self.words)

    def read_planes(self, data: bytes) -> np.ndarray:
        return planes_from(data, self.ring.bits, self.words)


@dataclass(frozen=True)
class Same:
    """Dealing to find whether both parties have the same number, modulo a prime: only one learns it, and no
    more.

    The server has a number x and random a, the compensator y and random b; dealt are u + w = ab. The server
    opens e = x - a and is told h = b (e - y) + w: with u that is b (x - y), which is 0 or uniform.
    """

    opening_bytes: ClassVar[int] = 32
    free_bytes: ClassVar[int] = 32
    bound_bytes: ClassVar[int] = 32

    def bound(self, free: Sequence[bytes], other: bytes) -> bytes:
        return _number_bytes(_number(free[0]) * _number(free[1]) - _number(other))

    def asks(self, x: bytes, free: bytes) -> bytes:
        return _number_bytes(_number(x) - _number(free))

    def answers(self, asked: bytes, y: bytes, free: bytes, bound: bytes) -> bytes:
        return _number_bytes(_number(free) * (_number(asked) - _number(y)) + _number(bound))

    def holds(self, answer: bytes, bound: bytes) -> bool:
        return _number_bytes(_number(answer) + _number(bound)) == bytes(32)


_PRIME = 2**255 - 19


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _number_bytes(number: int) -> bytes:
    return (number % _PRIME).to_bytes(32, "little")


Half: TypeAlias = Iterable[tuple[bytes, bytes]]
"""Dealing of one party: the free and the bound part of each layer."""


class Party:
    """One of two parties at its work: its side, and what it was dealt, layer by layer."""

    def __init__(self, side: Side, dealt: Sequence[Layer], half: Half) -> None:
        self.side = side
        self._dealt: Iterator[tuple[Layer, tuple[bytes, bytes]]] = zip(dealt, half, strict=True)

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
        """Shares of the layer's products: all factors, one behind the other, in one vector."""
        dealt, free, bound = self._next(Products)
        arithmetic, masks = dealt.arithmetic, dealt.read_factors(free)
        own = arithmetic.subtract(factors, masks)
        opened = arithmetic.add(own, dealt.read_factors((yield own.tobytes())))
        return dealt.shares(opened, masks, dealt.read_products(bound), leads=self.leads)

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
        borrows, passes = masks[:-1] & ~known[:-1], masks[:-1] ^ self._public(~known[:-1])
        # Nothing is below the lowest bit: a place that neither borrows nor passes on makes their number even.
        nothing = np.zeros_like(known[:1])
        places = np.concatenate([nothing, borrows]), np.concatenate([nothing, passes])
        borrow = yield from self._last_borrow(*places, dealt.words)
        return np.asarray(masks[-1:] ^ self._public(~known[-1:]) ^ borrow)

    def _last_borrow(self, borrows: np.ndarray, passes: np.ndarray, count: int) -> Layers[np.ndarray]:
        """Neighbours become one, until one is left."""
        for joined in _levels(len(borrows), count):
            shape = (-1, joined, borrows.shape[1])
            borrows, passes = borrows.reshape(shape), passes.reshape(shape)
            is_last = len(borrows) == 1
            factors = [*passes[:, 1:].swapaxes(0, 1), *borrows[:, :-1].swapaxes(0, 1)]
            factors += [] if is_last else [passes[:, 0]]
            products = yield from self.multiply_planes(factors)
            found = products.reshape(-1, *borrows[:, 0].shape)
            borrows = np.bitwise_xor.reduce(found[: joined - 1], axis=0) ^ borrows[:, -1]
            passes = found[-1]
        return borrows

    def running(self, planes: np.ndarray) -> Layers[np.ndarray]:
        """Each plane becomes the AND of itself and all planes before it."""
        count, (block, blocks) = len(planes), _blocks(len(planes))
        padding = np.zeros((block * blocks - count, planes.shape[1]), planes.dtype)
        found = np.concatenate([planes, padding]).reshape(blocks, block, -1)
        if block > 1:  # first within each block
            own = found.swapaxes(0, 1)
            products = yield from self.multiply_planes([*own])
            found = np.concatenate([own[:1], products.reshape(block - 1, *own[0].shape)]).swapaxes(0, 1)
        if blocks > 1:  # then with the whole of all blocks before
            products = yield from self.multiply_planes([found[:-1, -1], *found[1:]])
            found = np.concatenate([found[0], products])
        return found.reshape(-1, planes.shape[1])[:count]

    def _public(self, planes: np.ndarray) -> np.ndarray:
        """Return shares of what both parties know."""
        return planes if self.leads else np.zeros_like(planes)


def dealt_for_signs(ring: Ring, words: int) -> list[Layer]:
    """Return the layers that `Party.not_negative` takes."""
    dealt: list[Layer] = [Bits(ring, words)]
    places = ring.bits
    for joined in _levels(places, words):
        places //= joined
        # Factors: which of the upper places pass a borrow on, which of the lower ones borrow, and at last
        # whether the lowest passes one on; whether the group does is of no use at the top.
        borrows = [(*range(k, joined - 1), joined - 1 + k) for k in range(joined - 1)]
        passes = [(*range(joined - 1), 2 * joined - 2)] if places > 1 else []
        factors = 2 * joined - 2 + len(passes)
        dealt.append(Products(Bitwise(), factors, (*borrows, *passes), plane_words(words), places))
    return dealt


def _levels(places: int, words: int) -> list[int]:
    """Return how many neighbours become one at each level of a tree over so many places, a power of two.

    Joining four halves the turns, and deals nearly four times as much: two are joined at a level that is left
    over, and at all where planes are long.
    """
    levels = places.bit_length() - 1
    if words > _LONG_PLANE:
        return [2] * levels
    return [2] * (levels % 2) + [4] * (levels // 2)


def dealt_for_running(planes: int, words: int) -> list[Layer]:
    """Return the layers that `Party.running` takes."""
    (block, blocks), dealt = _blocks(planes), list[Layer]()
    within = tuple(tuple(range(k + 1)) for k in range(1, block))
    # Factors: the whole of each block but the last, then each plane of all blocks but the first.
    across = tuple(
        (*range(own + 1), blocks - 1 + own * block + k) for own in range(blocks - 1) for k in range(block)
    )
    if within:
        dealt.append(Products(Bitwise(), block, within, plane_words(words), blocks))
    if across:
        dealt.append(Products(Bitwise(), blocks - 1 + len(across), across, plane_words(words)))
    return dealt


def _blocks(planes: int) -> tuple[int, int]:
    """Return the size and number of blocks that these planes are split into: as many blocks as each has
    planes, or one fewer.
    """
    block = math.isqrt(planes - 1) + 1
    return block, -(-planes // block)


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
        bits = np.unpackbits(data[:, place, None], axis=1, bitorder="little").T.copy()  # packed the faster
        found[8 * place : 8 * place + 8, : -(-count // 8)] = np.packbits(bits, axis=1, bitorder="little")
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
