"""The three circuits by which sums are compared and not opened. Each serves both sides.

    at-least        of one array: whether each sum is at least 0
    both-at-least   of two arrays: whether both sums are
    grows:N         of five: whether a likelihood still grows at each of N places, outwards

What is compared with another number than 0 has that number subtracted from the server's share: the
compensator knows neither thresholds nor results. Some rows whose result is known ride along (`known`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol import fixed_point, gates
from unpooled.protocol.masking import Modular, Scheme
from unpooled.protocol.ring import Ring

KNOWN = 64
"""Comparisons whose result the server knows beforehand, or a few more: garbage passes them with 2^-64."""

GROWS_BITS = 256
FRACTION_BITS = 80
"""Behind the point, of what `grows` compares."""
SURE_BITS = 30
"""A variance is known that is more than 2^-30 of the mean square; below that it may be rounding."""


class Circuit(Protocol):
    """Computation on shares of the words of `rows` rows."""

    @property
    def label(self) -> str:
        """Names the circuit in messages and in the key of every mask."""

    @property
    def ring(self) -> Ring: ...
    @property
    def bits_of_row(self) -> int:
        """Number of bits that a row becomes."""

    @property
    def row_words(self) -> int: ...
    @property
    def comparisons_of_row(self) -> int: ...
    def dealt(self, rows: int) -> list[gates.Layer]:
        """Return the dealing, layer by layer; in one more the compensator tells its share of the bits."""

    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose result is known: their words, as those of a share, and their bits, bool (rows, bits)."""

    def arrays(self, share: np.ndarray) -> list[np.ndarray]:
        """The words of each array in a share of any number of rows."""

    def shares(self, party: gates.Party, words: np.ndarray) -> gates.Layers[np.ndarray]:
        """A party's shares of the bits, as planes (bits_of_row, words), from its shares of the words."""


@dataclass(frozen=True)
class AtLeast:
    """Circuit that tells whether a sum is at least 0: one bit a row."""

    ring: Ring

    label: ClassVar[str] = "at-least"
    bits_of_row: ClassVar[int] = 1
    row_words: ClassVar[int] = 1
    comparisons_of_row: ClassVar[int] = 1

    def dealt(self, rows: int) -> list[gates.Layer]:
        return gates.dealt_for_signs(self.ring, rows)

    def known(self) -> tuple[np.ndarray, np.ndarray]:
        return _known_numbers(self.ring), np.arange(KNOWN)[:, None] % 2 == 0

    def arrays(self, share: np.ndarray) -> list[np.ndarray]:
        return [share]

    def shares(self, party: gates.Party, words: np.ndarray) -> gates.Layers[np.ndarray]:
        return (yield from party.not_negative(words))


@dataclass(frozen=True)
class BothAtLeast:
    """Circuit that tells whether two sums are both at least 0: half of a share's words are of the first."""

    ring: Ring

    label: ClassVar[str] = "both-at-least"
    bits_of_row: ClassVar[int] = 1
    row_words: ClassVar[int] = 2
    comparisons_of_row: ClassVar[int] = 2

    def dealt(self, rows: int) -> list[gates.Layer]:
        padded = _padded(rows)
        return [
            *gates.dealt_for_signs(self.ring, 2 * padded),
            gates.Products(gates.Bitwise(), 2, ((0, 1),), gates.plane_words(padded)),
        ]

    def known(self) -> tuple[np.ndarray, np.ndarray]:
        numbers = _known_numbers(self.ring)
        first, second = np.arange(KNOWN), np.arange(KNOWN) // 2
        return np.concatenate([numbers[first], numbers[second]]), ((first % 2 == 0) & (second % 2 == 0))[
            :, None
        ]

    def arrays(self, share: np.ndarray) -> list[np.ndarray]:
        return np.split(share, 2)

    def shares(self, party: gates.Party, words: np.ndarray) -> gates.Layers[np.ndarray]:
        rows = len(words) // 2
        padding = self.ring.zeros(_padded(rows) - rows)  # so that the second begins with a word of the plane
        both = np.concatenate([words[:rows], padding, words[rows:], padding])
        signs = yield from party.not_negative(both)
        return (yield from party.multiply_planes([signs.reshape(2, -1)]))


@dataclass(frozen=True)
class Grows:
    """Circuit that tells how far a likelihood still grows, at `steps` places of each row, outwards.

    A row has o, and of each place g, q, s, p: means over a pool, in units of 2^-80 and of magnitude at most 1
    (`unpooled.methods.tables.signs`). With V = q - g^2 and C = p - g s it is *known* there if V > 2^-30 q,
    and *grows* if o V - C >= 0. Told is of each place, in this order, whether it is known and whether it
    grows, and each only if that is so of all before: what lies behind the first change stays hidden.
    """

    ring: Ring
    steps: int

    @property
    def label(self) -> str:
        return f"grows:{self.steps}"

    @property
    def bits_of_row(self) -> int:
        return 2 * self.steps

    @property
    def row_words(self) -> int:
        return 1 + 4 * self.steps

    @property
    def comparisons_of_row(self) -> int:
        return 2 * self.steps

    def dealt(self, rows: int) -> list[gates.Layer]:
        places = rows * self.steps
        return [
            gates.Products(self.ring, 2, ((0, 0), (0, 1)), places),
            gates.Products(self.ring, 2, ((0, 1),), places),
            *gates.dealt_for_signs(self.ring, 2 * places),
            *gates.dealt_for_running(self.bits_of_row, rows),
        ]

    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows that grow at all places, and rows that do so at half of them, in turn."""
        rows = max(2, math.ceil(KNOWN / self.steps))
        places = np.arange(self.steps)
        last = np.where(np.arange(rows) % 2 == 0, self.steps, self.steps // 2)
        grows = places < last[:, None]
        bits = np.stack([places <= last[:, None], grows], axis=2).reshape(rows, -1)
        quarter = np.full(grows.shape, 0.25)
        reals = [quarter[:, 0], quarter, 2 * quarter, quarter, np.where(grows, -0.5, 0.5)]
        return np.concatenate(
            [fixed_point.encode_reals(array, FRACTION_BITS, self.ring) for array in reals]
        ), bits

    def arrays(self, share: np.ndarray) -> list[np.ndarray]:
        rows = len(share) // self.row_words
        return np.split(share, rows * (1 + self.steps * np.arange(4)))

    def shares(self, party: gates.Party, words: np.ndarray) -> gates.Layers[np.ndarray]:
        ring = self.ring
        offset, g, squares, slopes, products = self.arrays(words)
        places = len(g)
        found = yield from party.multiply(np.concatenate([g, slopes]))
        variance = ring.subtract(ring.shifted(squares, FRACTION_BITS), found[:places])
        covariance = ring.subtract(ring.shifted(products, FRACTION_BITS), found[places:])
        offsets = np.repeat(offset, self.steps, axis=0)
        found = yield from party.multiply(np.concatenate([offsets, variance]))
        growth = ring.subtract(found, ring.shifted(covariance, FRACTION_BITS))
        sure = ring.subtract(variance, ring.shifted(squares, FRACTION_BITS - SURE_BITS))
        if party.leads:  # more than, not at least
            sure = ring.subtract(sure, fixed_point.encode_integers(np.ones(places, np.int64), ring))
        both = np.stack([sure, growth], axis=1).reshape(2 * places, -1)
        signs = yield from party.not_negative(both)
        of_rows = gates.planes_to_bits(signs, 2 * places).reshape(-1, self.bits_of_row)
        return (yield from party.running(gates.bits_to_planes(of_rows.T)))


def circuit(label: str, scheme: Scheme) -> Circuit:
    """The circuit that a label names, on shares of this scheme; ProtocolError for any other text."""
    if not isinstance(scheme, Modular):
        raise ProtocolError("only sums under uniform masks can be compared")
    number = label.partition(":")[2]
    if label == AtLeast.label:
        return AtLeast(scheme.ring)
    if label == BothAtLeast.label:
        return BothAtLeast(scheme.ring)
    steps = int(number) if number.isascii() and number.isdecimal() and len(number) < 3 else 0
    found = Grows(scheme.ring, steps)
    gates.require(1 <= steps <= 32 and found.label == label, f"unknown circuit {label[:40]!r}")
    gates.require(scheme.ring.bits == GROWS_BITS, f"{label} is computed in the ring of {GROWS_BITS} bits")
    return found


def _known_numbers(ring: Ring) -> np.ndarray:
    """Numbers of all sizes, in turn at least 0 and below it."""
    sizes = [(1 << (ring.bits - 1) * k // (KNOWN // 2 - 1)) - 1 for k in range(KNOWN // 2)]
    numbers = [number for size in sizes for number in (size, -1 - size)]
    data = b"".join((number % (1 << ring.bits)).to_bytes(ring.word_bytes, "little") for number in numbers)
    return ring.from_bytes(data, KNOWN)


def _padded(rows: int) -> int:
    return gates.plane_words(rows) * 64
