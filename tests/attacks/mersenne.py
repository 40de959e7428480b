"""Recover a Mersenne Twister from masked counts, and with it every count.

HyFed draws a mask uniformly from Z_p, p = 2^54 - 33, with `numpy.random.randint`. Counts are small, so a
share's high bits are those of its mask, and those are bits of the generator's output. Each bit that MT19937
ever puts out is a linear function over GF(2) of the 19,937 bits of its state. So a thousand shares are a
system of linear equations; its solution predicts every mask, past the first, to the last bit.

The unknowns are not the state's words but the bits of the first 624 *outputs* that a share does not show:
what it shows is a constant, which leaves a smaller system. The equations depend on which bits are visible,
not on what they are; so several captures, each a column of constants, are solved at once. A capture that
does not come from a Mersenne Twister contradicts its equations: half of those that are left over fail.

How numpy.random.RandomState makes the numbers (numpy/random/src/distributions, legacy masked rejection):
a 64-bit draw is two outputs, the high word first, cut to 54 bits, and drawn again if it is p or more, which
never happens in practice; a 32-bit draw is one output.

Source of the generator: Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

HYFED_PRIME = 2**54 - 33

_N, _M = 624, 397
_MATRIX_A = 0x9908B0DF
_TEMPERING_B, _TEMPERING_C = 0x9D2C5680, 0xEFC60000
_ROWS_AT_ONCE = 512  # of the elimination: a piece of the matrix that stays in cache


@dataclass(frozen=True)
class Layout:
    """Layout of a share: the bits of the generator's outputs that it shows.

    A mask has `bits` bits, from one 32-bit output or from two, the high word first. The share shows them
    from bit `hidden` upwards: a count far below 2^hidden changes those only by a rare carry.
    """

    bits: int
    hidden: int
    shares_needed: int  # measured: with fewer the equations leave more than the first output open

    @property
    def outputs(self) -> int:
        return -(-self.bits // 32)

    def shown(self, output: int) -> dict[int, int]:
        """Map the bits of an output that its share shows: bit of the output -> bit of the share."""
        word = self.outputs - 1 - output % self.outputs
        places = range(max(self.hidden, 32 * word), min(self.bits, 32 * word + 32))
        return {place - 32 * word: place for place in places}

    @functools.cached_property
    def unknowns(self) -> int:
        """Bits of the first 624 outputs that no share shows."""
        return sum(32 - len(self.shown(output)) for output in range(_N))


HYFED = Layout(bits=54, hidden=28, shares_needed=960)
WORDS_OF_64_BITS = Layout(bits=64, hidden=28, shares_needed=660)
WORDS_OF_32_BITS = Layout(bits=32, hidden=24, shares_needed=2520)


@dataclass(frozen=True, eq=False)
class Recovery:
    """Result of solving one capture."""

    generator: np.random.RandomState  # in its state before the first share
    contradicted: int  # of the equations that the solution does not use
    spare: int  # how many those are

    @property
    def consistent(self) -> bool:
        """True if the capture can come from a Mersenne Twister at all (else about half are contradicted)."""
        return self.contradicted == 0


def recover(captures: Sequence[np.ndarray], layout: Layout) -> list[Recovery]:
    """Solve for the generators behind captures, each of at least `layout.shares_needed` successive shares."""
    shares = [np.asarray(capture).astype(np.uint64)[: layout.shares_needed] for capture in captures]
    if any(len(capture) < layout.shares_needed for capture in shares):
        raise ValueError(f"{layout.shares_needed} shares are needed; got {[len(c) for c in shares]}")
    seen = np.stack(shares)
    outputs = _first_outputs(seen, layout)
    system = _equations(outputs, seen, layout)
    rank = _eliminate(system, layout.unknowns)
    constants = _columns(system, layout.unknowns, len(captures))
    return [
        Recovery(
            generator=_generator(
                _outputs_of(outputs, _solve(system, rank, constants[:, k], layout), k, layout)
            ),
            contradicted=int(constants[rank:, k].sum()),
            spare=len(system) - rank,
        )
        for k in range(len(captures))
    ]


# Symbolic bits. A bit is a packed row: one bit per unknown, then one constant per capture. Bit j of a word is
# row j of an array (32, width).


def _first_outputs(seen: np.ndarray, layout: Layout) -> np.ndarray:
    """The first 624 outputs in terms of the unknowns, uint64 (624, 32, width)."""
    outputs = np.zeros((_N, 32, _width(layout.unknowns + len(seen))), dtype=np.uint64)
    next_unknown = 0
    for i in range(_N):
        shown = layout.shown(i)
        for bit in range(32):
            if bit in shown:
                outputs[i, bit] = _constants(seen[:, i // layout.outputs] >> np.uint64(shown[bit]), layout)
            else:
                outputs[i, bit, next_unknown // 64] = np.uint64(1) << np.uint64(next_unknown % 64)
                next_unknown += 1
    return outputs


def _equations(outputs: np.ndarray, seen: np.ndarray, layout: Layout) -> np.ndarray:
    """One row per visible bit after the first 624 outputs; it is zero for the true values."""
    state = [_untemper(output) for output in outputs]
    rows = []
    for i in range(_N, layout.shares_needed * layout.outputs):
        state.append(_recur(state[i - _N], state[i - _N + 1], state[i - _N + _M]))
        shown = layout.shown(i)
        if not shown:
            continue
        output = _temper(state[i])
        for bit, place in shown.items():
            rows.append(output[bit] ^ _constants(seen[:, i // layout.outputs] >> np.uint64(place), layout))
    return np.stack(rows)


def _recur(oldest: np.ndarray, next_oldest: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """x[k+624] = x[k+397] ^ (top bit of x[k], low bits of x[k+1]) A."""
    new = middle.copy()
    new[30] ^= oldest[31]
    new[:30] ^= next_oldest[1:31]
    new[_bits(_MATRIX_A)] ^= next_oldest[0]
    return new


def _temper(word: np.ndarray) -> np.ndarray:
    word = word.copy()
    word[:-11] ^= word[11:].copy()
    for shift, mask in ((7, _TEMPERING_B), (15, _TEMPERING_C)):
        shifted = np.zeros_like(word)
        shifted[shift:] = word[:-shift]
        word[_bits(mask)] ^= shifted[_bits(mask)]
    word[:-18] ^= word[18:].copy()
    return word


def _untemper(output: np.ndarray) -> np.ndarray:
    return np.stack([np.bitwise_xor.reduce(output[_bits(row)], axis=0) for row in _UNTEMPERING])


def _untemper_number(output: int) -> int:
    word = output ^ (output >> 18)
    word ^= (word << 15) & _TEMPERING_C
    partial = word
    for _ in range(4):  # 7 bits more are right each time
        partial = word ^ ((partial << 7) & _TEMPERING_B)
    word = partial
    for _ in range(2):  # 11 bits more
        partial = word ^ (partial >> 11)
    return partial & 0xFFFFFFFF


def _bits(number: int) -> np.ndarray:
    return np.flatnonzero([(number >> bit) & 1 for bit in range(32)])


#: Row j: which bits of an output make up bit j of the state's word.
_UNTEMPERING = [
    sum(((_untemper_number(1 << bit) >> row) & 1) << bit for bit in range(32)) for row in range(32)
]


def _constants(bits: np.ndarray, layout: Layout) -> np.ndarray:
    """A row that is no unknown, but for capture k the lowest bit of `bits[k]`."""
    row = np.zeros(_width(layout.unknowns + len(bits)), dtype=np.uint64)
    for k, bit in enumerate((bits & np.uint64(1)).tolist()):
        place = layout.unknowns + k
        row[place // 64] |= np.uint64(bit << (place % 64))
    return row


def _columns(system: np.ndarray, start: int, count: int) -> np.ndarray:
    """Columns `start` and on as bits, uint8 (rows, count)."""
    places = range(start, start + count)
    return np.stack(
        [((system[:, p // 64] >> np.uint64(p % 64)) & 1).astype(np.uint8) for p in places], axis=1
    )


def _width(bits: int) -> int:
    return -(-bits // 64)


def _low_bits(count: int) -> np.uint64:
    return np.uint64((1 << count) - 1)


# Linear algebra over GF(2), 64 bits a word.


def _eliminate(system: np.ndarray, columns: int) -> int:
    """Bring the rows into echelon form over the first `columns` columns, in place; returns the rank.

    Eight columns at a time: up to eight pivot rows are found on one byte of each row, then every other row
    gets the one of their 256 sums that clears its byte ("method of the four Russians").
    """
    rank = 0
    for start in range(0, columns, 8):
        rank = _eliminate_byte(system[:, start // 64 :], rank, start % 64, min(8, columns - start))
    return rank


def _eliminate_byte(system: np.ndarray, rank: int, shift: int, width: int) -> int:
    """Clear `width` columns from bit `shift` of the first word on, below row `rank`; returns the new rank."""
    byte = ((system[rank:, 0] >> np.uint64(shift)) & _low_bits(width)).astype(np.uint8)
    used = np.zeros(len(byte), dtype=np.uint8)  # which of the pivots each row has had added
    sums = np.zeros((1, system.shape[1]), dtype=np.uint64)
    found = 0
    for bit in range(width):
        candidates = (byte[found:] >> bit) & 1
        at = found + int(candidates.argmax())
        if at >= len(byte) or not (byte[at] >> bit) & 1:
            continue
        for array in (byte, used):
            array[[found, at]] = array[[at, found]]
        system[[rank + found, rank + at]] = system[[rank + at, rank + found]]
        pivot = system[rank + found]
        pivot ^= sums[used[found]]
        sums = np.concatenate([sums, sums ^ pivot])
        # Rows below get the pivot where their bit is set. The table grows with each pivot, so the bits of
        # `used` are indices into it.
        take = found + 1 + np.flatnonzero((byte[found + 1 :] >> bit) & 1)
        byte[take] ^= byte[found]
        used[take] ^= 1 << found
        found += 1
    _add_sums(system[rank + found :], used[found:], sums)
    return rank + found


def _add_sums(rows: np.ndarray, which: np.ndarray, sums: np.ndarray) -> None:
    """rows[i] ^= sums[which[i]], in pieces that stay in cache."""
    scratch = np.empty((_ROWS_AT_ONCE, rows.shape[1]), dtype=np.uint64)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        piece = rows[start : start + _ROWS_AT_ONCE]
        taken = np.take(
            sums, which[start : start + len(piece)], axis=0, out=scratch[: len(piece)], mode="clip"
        )
        np.bitwise_xor(piece, taken, out=piece)


def _solve(system: np.ndarray, rank: int, constants: np.ndarray, layout: Layout) -> np.ndarray:
    """Back substitution: the unknowns as packed bits, uint64 (width,). What is free is 0."""
    words = _width(layout.unknowns)
    solution = np.zeros(words, dtype=np.uint64)
    last = np.full(words, ~np.uint64(0))
    if layout.unknowns % 64:
        last[-1] = _low_bits(layout.unknowns % 64)
    for i in range(rank - 1, -1, -1):
        row = system[i, :words] & last
        word = int((row != 0).argmax())
        lowest = row[word] & (~row[word] + np.uint64(1))
        parity = int(np.bitwise_count(row[word:] & solution[word:]).sum()) & 1
        if parity != constants[i]:
            solution[word] |= lowest
    return solution


# From the solution to a generator.


def _outputs_of(outputs: np.ndarray, solution: np.ndarray, capture: int, layout: Layout) -> np.ndarray:
    """The first 624 outputs as numbers, uint32 (624,)."""
    assignment = np.zeros(outputs.shape[2], dtype=np.uint64)
    assignment[: len(solution)] = solution
    place = layout.unknowns + capture
    assignment[place // 64] |= np.uint64(1) << np.uint64(place % 64)
    bits = (np.bitwise_count(outputs & assignment).sum(axis=2) & 1).astype(np.uint64)
    numbers: np.ndarray = (bits << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32)
    return numbers


def _generator(outputs: np.ndarray) -> np.random.RandomState:
    """The generator whose next 624 outputs are these."""
    generator = np.random.RandomState()
    words = np.array([_untemper_number(output) for output in outputs.tolist()], dtype=np.uint32)
    generator.set_state(("MT19937", words, 0, 0, 0.0))
    return generator
