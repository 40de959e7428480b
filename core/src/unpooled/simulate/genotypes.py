"""Genotypes in Hardy-Weinberg proportions, drawn straight into PLINK's two bits a sample.

Each genotype is one 16-bit random word compared with three thresholds of its variant:

    word <  missing           -> 01  no call
    word in [missing, het)    -> 00  two copies of allele a
    word in [het, other)      -> 10  one copy
    word >= other             -> 11  two copies of allele b

so the high bit is `word >= het` and the low bit `word >= other or word < missing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

HOM_A, NO_CALL, HET, HOM_B = 0, 1, 2, 3
_LEVELS = 1 << 16


class WordStream:
    """A seeded stream of 16-bit random words."""

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._bits = np.random.SFC64(seed)

    def take(self, count: int) -> np.ndarray:
        """uint16 (count,); `count` is a multiple of 4."""
        raw = cast(np.ndarray, self._bits.random_raw(count // 4))
        return raw.astype("<u8", copy=False).view("<u2")


@dataclass(frozen=True, eq=False)
class Thresholds:
    """uint16 each, (variants, 1) or (variants, samples)."""

    missing: np.ndarray
    het: np.ndarray
    other: np.ndarray

    @classmethod
    def diploid(cls, frequency: np.ndarray, missing: np.ndarray) -> Thresholds:
        """Make thresholds of the frequency of allele a and the missing rate, float (variants, 1) each."""
        return cls._between(missing, frequency**2, 1 - (1 - frequency) ** 2)

    @classmethod
    def haploid(cls, frequency: np.ndarray, missing: np.ndarray) -> Thresholds:
        """Make thresholds as `diploid` does, for one copy: never heterozygous."""
        return cls._between(missing, frequency, frequency)

    @classmethod
    def _between(cls, missing: np.ndarray, het: np.ndarray, other: np.ndarray) -> Thresholds:
        lowest = np.round(missing * _LEVELS)
        called = _LEVELS - lowest
        limits = (lowest, lowest + np.round(het * called), lowest + np.round(other * called))
        # A frequency of 0 stays exact: then het = other = missing, and every call is 11.
        return cls(*(np.minimum(limit, _LEVELS - 1).astype(np.uint16) for limit in limits))

    def where(self, first: np.ndarray, other: Thresholds) -> Thresholds:
        """Choose per sample: these where `first` (bool (samples,)) is True, else `other`."""
        pairs = ((self.missing, other.missing), (self.het, other.het), (self.other, other.other))
        return Thresholds(*(np.where(first[None, :], mine, theirs) for mine, theirs in pairs))


def row_bytes(samples: int) -> int:
    """Bytes of one variant's row in a `.bed` file."""
    return (samples + 3) // 4


def draw_packed(stream: WordStream, samples: int, limits: Thresholds) -> np.ndarray:
    """uint8 (variants, row_bytes(samples)), padding bits zero. Thresholds are (variants, 1).

    Word k·row_bytes + j of a row decides sample 4j + k, so that four contiguous planes are packed by shifts.
    """
    rows, width = len(limits.het), row_bytes(samples)
    words = stream.take(rows * width * 4).reshape(rows, 4, width)
    high = (words >= limits.het[:, :, None]).view(np.uint8)
    low = (words >= limits.other[:, :, None]).view(np.uint8)
    incomplete = np.flatnonzero(limits.missing[:, 0])
    low[incomplete] |= words[incomplete] < limits.missing[incomplete, :, None]
    high += high
    high |= low
    return clear_padding(_join_planes(high[:, 0], high[:, 1], high[:, 2], high[:, 3]), samples)


def draw_codes(stream: WordStream, samples: int, limits: Thresholds) -> np.ndarray:
    """uint8 (variants, samples) of two-bit codes; thresholds may differ from sample to sample."""
    rows, width = len(limits.het), row_bytes(samples)
    words = stream.take(rows * width * 4).reshape(rows, 4 * width)[:, :samples]
    low = (words >= limits.other) | (words < limits.missing)
    codes: np.ndarray = 2 * (words >= limits.het).view(np.uint8) + low
    return codes


def pack(codes: np.ndarray) -> np.ndarray:
    """Two-bit codes (variants, samples) to the bytes of a `.bed` file, sample 0 in the lowest bits."""
    padded = np.zeros((len(codes), 4 * row_bytes(codes.shape[1])), dtype=np.uint8)
    padded[:, : codes.shape[1]] = codes
    return _join_planes(padded[:, 0::4], padded[:, 1::4], padded[:, 2::4], padded[:, 3::4])


def unpack(packed: np.ndarray, samples: int) -> np.ndarray:
    """The inverse of `pack`."""
    codes = (packed[:, :, None] >> np.array([0, 2, 4, 6], dtype=np.uint8)) & 3
    return codes.reshape(len(packed), -1)[:, :samples]


def exchange_alleles(packed: np.ndarray, samples: int) -> np.ndarray:
    """Packed rows as a file has them whose A1 is the other allele: 00 <-> 11, while 01 and 10 stay."""
    crossed = ((packed & 0x55) << 1) | ((packed >> 1) & 0x55)
    return clear_padding(~crossed, samples)


def clear_padding(packed: np.ndarray, samples: int) -> np.ndarray:
    """Set the bits past the last sample to zero, in place, and return the rows."""
    if samples % 4:
        packed[:, -1] &= (1 << 2 * (samples % 4)) - 1
    return packed


def side_by_side(parts: list[np.ndarray], samples: list[int]) -> np.ndarray:
    """Packed rows of several cohorts, one after the other, as packed rows of the pooled samples."""
    pooled = np.zeros((len(parts[0]), row_bytes(sum(samples))), dtype=np.uint8)
    before = 0
    for part, count in zip(parts, samples, strict=True):
        _lay_at(pooled, part, before)
        before += count
    return pooled


def _lay_at(pooled: np.ndarray, part: np.ndarray, before: int) -> None:
    """OR the rows of `part` into `pooled`, behind its first `before` samples. Padding must be zero."""
    start, shift = before // 4, 2 * (before % 4)
    width = part.shape[1]
    if shift == 0:
        pooled[:, start : start + width] |= part
        return
    pooled[:, start : start + width] |= part << shift
    spill = min(width, pooled.shape[1] - start - 1)  # beyond it only padding would be carried
    pooled[:, start + 1 : start + 1 + spill] |= part[:, :spill] >> (8 - shift)


def _join_planes(first: np.ndarray, second: np.ndarray, third: np.ndarray, fourth: np.ndarray) -> np.ndarray:
    joined: np.ndarray = fourth << 2
    for plane in (third, second):
        joined |= plane
        joined <<= 2
    joined |= first
    return joined
