"""Eigenvectors of a large symmetric matrix A from products with blocks of vectors.

The blocks span a Krylov space, and the eigenvectors are those of A within it (Musco and Musco, Randomized
block Krylov methods, NIPS 2015; Golub and Van Loan, Matrix Computations, 10.3). What is left of a product
outside the space is the next block, so each eigenvector's residual is known without a product of its own.
Vectors are rows here: their numbers lie one after the other.

Blocks are rounded before they are multiplied, to `Directions`. So they are orthonormal to about 10⁻⁹ only,
which is made good where eigenvectors are found, and the space lacks a little of each product: `lost`.

Which block is next, and whether there is one, every cohort finds by itself: by `kernels.long_rows` and
`kernels.fixed_order`, with the same bits on every machine.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.kernels.fixed_order import eigen, length, product, total
from unpooled.kernels.long_rows import add, crossed, lengths, orthonormal
from unpooled.plan.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS

_BITS = 31  # without the sign's

_LEAST_EXPONENT = -1000
"""Smallest exponent of two: with it, a float64 holds even the smallest numbers exactly."""


# What matters is that everybody multiplies with the same numbers, not which these are: so they are rounded
# before, and the rounded ones are the block. A number is off by 2⁻³² of the largest's power of two or less,
# hence a direction by some 10⁻⁹ of its length; and last bits that another machine finds are lost.
@dataclass(frozen=True, eq=False)
class Directions:
    """b directions in m dimensions, as they are stored and sent: whole numbers of four bytes."""

    name: ClassVar[str] = "directions"

    packed: np.ndarray
    """int32 (b, m)"""
    exponent: int
    """The power of two that is 1 of them."""

    @classmethod
    def of(cls, rows: np.ndarray) -> Directions:
        """The nearest to these, float64 (b, m)."""
        exponent = max(int(np.frexp(np.abs(rows).max(initial=0))[1]) - _BITS, _LEAST_EXPONENT)
        most = (1 << _BITS) - 1  # the largest number may be a little below a power of two
        packed = np.empty(rows.shape, np.int32)
        for row, into in zip(rows, packed, strict=True):  # one by one: for the memory
            into[:] = np.minimum(np.rint(row * math.ldexp(1.0, -exponent)), most)
        return cls(packed, exponent)

    @property
    def shape(self) -> tuple[int, int]:
        return self.packed.shape[0], self.packed.shape[1]

    def rows(self) -> np.ndarray:
        """float64 (b, m)"""
        return np.asarray(self.packed * math.ldexp(1.0, self.exponent))


_SPENT = 1e-11
"""Share of the largest eigenvalue below which the remainder of a product is rounding."""

_SETTLED = 0.05
"""Share of an eigenvalue that its vector's residual may have: then whether it stands out is known."""


@dataclass(frozen=True, eq=False)
class Krylov:
    """A space of d directions in m dimensions, and the block that is to be multiplied next."""

    name: ClassVar[str] = "krylov"

    blocks: tuple[Directions, ...]
    """Orthonormal, those of all blocks together; the last was not multiplied yet"""
    small: np.ndarray
    """float64 (d, d): A within the space of all blocks but the last"""
    off: np.ndarray
    """float64 (d, d): how far the products of these blocks are off those of orthonormal ones"""
    left: np.ndarray
    """float64 (b, b'): what is left of the last product outside that space, by the last block"""
    lost: float
    """Largest length of what the blocks lack of all products, for a vector of length 1."""

    @classmethod
    def begin(cls, start: np.ndarray) -> Krylov:
        """Begin with a block of vectors, float64 (b, m), which is overwritten."""
        rows, _ = orthonormal(start, _SPENT * float(lengths(start).max(initial=0)))
        nothing = np.zeros((0, 0))
        return cls((Directions.of(rows),), nothing, nothing, np.zeros((0, len(rows))), 0.0)

    @property
    def next(self) -> Directions:
        """The block to multiply; it has no row if the space has everything that A reaches."""
        return self.blocks[-1]

    def advance(self, rows: np.ndarray) -> Krylov:
        """Add the next block's product with A: float64 (b, m), which is overwritten."""
        last = self.next.rows()
        both = [(crossed(q, rows), crossed(q, last)) for q in map(Directions.rows, self.blocks)]
        inside, beside = (np.concatenate(parts) for parts in zip(*both, strict=True))
        small = _bordered(self.small, inside)
        off = _bordered(self.off, beside - np.eye(len(beside))[:, len(self.off) :])
        for block, (share, _) in zip(self.blocks, both, strict=True):
            add(rows, -share.T, block.rows())
        _take_out(rows, self.blocks)
        near, sizes = orthonormal(rows, _SPENT * float(np.abs(small).max(initial=0)) + self.lost)
        _take_out(near, self.blocks)  # once more: little was outside of some
        exact, again = orthonormal(near, 0.0)
        following, left = Directions.of(exact), product(sizes, again)
        exact -= following.rows()  # what rounding loses
        lost = float(total((product(left.T, left) * crossed(exact, exact)).ravel()))
        return Krylov((*self.blocks, following), small, off, left, math.sqrt(self.lost * self.lost + lost))

    def found(self, count: int) -> Found:
        """The first eigenvectors, as far as the space has them: `count`, or as many as there are.

        What blocks are off, e, counts once: (1 + e)^-1/2 is 1 - e/2 to 10⁻¹⁸.
        """
        half = self.off / 2
        moved = product(half, self.small)
        values, vectors = eigen(self.small - (moved + moved.T))
        vectors -= product(half, vectors)
        values, vectors = values[::-1], vectors[:, ::-1]
        count = min(count, len(values))
        of_last = vectors[len(vectors) - len(self.left) :, : count + 1]
        residual = np.append(length(product(self.left.T, of_last), axis=0) + self.lost, 0)
        return Found(values[:count], np.append(values, 0)[count], residual[: count + 1], vectors[:, :count])

    def vectors(self, found: Found) -> np.ndarray:
        """Them in all dimensions: float64 (count, m), of length 1; the largest number of each is positive."""
        vectors, end = np.zeros((len(found.values), self.next.shape[1])), 0
        for block in self.blocks[:-1]:  # of which one at a time is unpacked
            begin, end = end, end + block.shape[0]
            add(vectors, found.within[begin:end].T, block.rows())
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
        vectors /= lengths(vectors)[:, None] * np.sign(largest)
        return vectors


def _bordered(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """A symmetric matrix with further columns, float64 (d + b, b), and the same rows."""
    d = len(matrix)
    found = np.zeros((len(columns), len(columns)))
    found[:d, :d], found[:, d:] = matrix, columns
    found[d:] = found[:, d:].T
    found[d:, d:] = (columns[d:] + columns[d:].T) / 2
    return found


def _take_out(rows: np.ndarray, blocks: Sequence[Directions]) -> None:
    """Take from rows what of them is within the space of blocks."""
    for block in blocks:  # of which one at a time is unpacked: all together are the most that there is
        q = block.rows()
        add(rows, -crossed(rows, q), q)


@dataclass(frozen=True, eq=False)
class Found:
    """Eigenvectors within a Krylov space."""

    values: np.ndarray
    """float64 (k,): eigenvalues, falling"""
    following: float
    """The eigenvalue after these."""
    residual: np.ndarray
    """float64 (k + 1,): the length of A v - value v, of these and of the one after them"""
    within: np.ndarray
    """float64 (d, k): the vectors, by the directions of the space"""

    @property
    def error(self) -> np.ndarray:
        """Upper bound on each vector's, or its scores', distance from the true one, 1 - |cos|: float64 (k,).

        The sine is at most the residual by the distance to the other eigenvalues (Davis and Kahan 1970). True
        ones are no smaller than those of the space, and the next is taken to be larger by its residual. What
        a vector has of one before it weighs more in the scores, by the root of how many times larger that is.
        """
        residual, gaps = self.residual[:-1], -np.diff(np.append(self.values, self.following))
        with np.errstate(divide="ignore", invalid="ignore"):
            before = gaps[:-1] * np.sqrt(self.values[1:] / self.values[:-1])
            gap = np.fmin(gaps - self.residual[1:], np.append(np.inf, before)).clip(0)
            sine = np.where(residual > 0, np.minimum(1, residual / gap), 0)
        return np.asarray(sine * sine / (1 + np.sqrt(1 - sine * sine)))

    def is_enough(self, gap: float, tolerance: float, worst: float) -> bool:
        """Tell whether those that stand out are known to the tolerance, and the others to the worst."""
        settled = self.residual[:-1] <= _SETTLED * np.abs(self.values)
        stand_out = standing_out(self.values, self.following, gap)
        return bool((settled & (self.error <= np.where(stand_out, tolerance, worst))).all())


def standing_out(values: np.ndarray, following: float, gap: float) -> np.ndarray:
    """Mark the falling eigenvalues up to the last that is `gap` times the next: bool (k,)."""
    far = values >= gap * np.append(values[1:], following)
    return np.asarray(np.logical_or.accumulate(far[::-1])[::-1])


def start(key: bytes, block: int, size: int) -> np.ndarray:
    """A block of signs from a stream of a key, so that it is the same again: float64 (block, size)."""
    stream = hashlib.shake_256(key).digest(-(-block * size // 8))
    bits = np.unpackbits(np.frombuffer(stream, np.uint8), count=block * size)
    return np.asarray(2.0 * bits.reshape(block, size) - 1)


_INFO = b"unpooled/principal-components/1"


def first_block(plan: Plan, block: int, variants: int) -> np.ndarray:
    """Draw the vectors that the first block is made from, by the plan's key: float64 (block, variants)."""
    # However many variants a question is about, and cohorts there are: as in a cohort alone.
    fields = {**vars(plan), "chunk_size": 0, "cohorts": MIN_COHORTS}
    return start(_INFO + Plan(**fields).chance, block, variants)
