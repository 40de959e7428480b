"""Products of two variants' genotypes, straight from PLINK's two bits a sample.

With x = -1, 0, 1 for none, one and two copies of an allele, the product of two calls is not 0 only where both
are homozygous, and then its sign says whether they are so for the same allele. So the sum over people is

    |H & G| - 2 |H & G & (A ^ B)|

with H, G who is homozygous, and A, B who is so for A2: two population counts for 64 people (the same thought
is in PLINK's --indep-pairwise: Chang and others, GigaScience 2015). A missing call counts 0 there. For it the
mean is put in its place, by further counts of whoever lacks one of the two calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.counts import group_masks, population

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

_EVEN = np.uint64(0x5555555555555555)
_ODD = np.uint64(0xAAAAAAAAAAAAAAAA)
_ONE = np.uint64(1)

HOMOZYGOUS, SECOND, MISSING = 0, 1, 2
"""Planes of `planes`: who is homozygous, who has A2 at least once or lacks a call, who lacks a call."""


def planes(words: Words, members: NDArray[np.bool_]) -> Words:
    """A bit for each person: uint64 (variants, 3, ceil(samples / 64)), none set for whoever is no member.

    `words` is (variants, w) as in `unpooled.asking.cohort.Packed`, `members` is (samples,).
    """
    mask = group_masks(members[None])[0]
    found = np.zeros((len(words), 3, len(mask)), np.uint64)
    _split(np.ascontiguousarray(words), mask, found)
    return found


def products(bits: Words, sign: Floats, mean: Floats, first: Any, second: Any) -> Floats:
    """Sums of x of one variant times x of another: float64 (pairs,), whole numbers where no call is missing.

    `bits` are `planes`; `sign`, (variants,), is 1 where x is of A2 and -1 where it is of A1; `mean`,
    (variants,), stands for a missing x; `first` and `second`, (pairs,), are rows of these.
    """
    out = np.empty(len(first))
    lacks = bits[:, MISSING].any(axis=1)
    _products(bits, sign, mean, lacks, np.asarray(first, np.int64), np.asarray(second, np.int64), out)
    return out


def both_heterozygous(
    words: Words, members: NDArray[np.bool_], share: Floats, first: Any, second: Any
) -> Floats:
    """Count the members who are heterozygous at both variants of pairs: float64 (pairs,).

    `share`, (variants,), stands for a missing call; `first` and `second` are as in `products`.
    """
    bits = planes(words, members)
    mask = group_masks(members[None])[0]
    heterozygous, lacking = mask & ~(bits[:, HOMOZYGOUS] | bits[:, MISSING]), bits[:, MISSING]
    out = np.empty(len(first))
    pair = np.asarray(first, np.int64), np.asarray(second, np.int64)
    _both(heterozygous, np.ascontiguousarray(lacking), lacking.any(axis=1), share, *pair, out)
    return out


@compiled
def _both(bits: Any, lacking: Any, lacks: Any, share: Any, first: Any, second: Any, out: Any) -> None:
    for pair in range(first.shape[0]):
        i, j = first[pair], second[pair]
        total = np.float64(_common(bits[i], bits[j]))
        if lacks[j]:
            total += share[j] * _common(bits[i], lacking[j])
        if lacks[i]:
            total += share[i] * _common(bits[j], lacking[i])
        if lacks[i] and lacks[j]:
            total += share[i] * share[j] * _common(lacking[i], lacking[j])
        out[pair] = total


@compiled
def _split(words: Any, mask: Any, out: Any) -> None:
    """Words of the first and of the second half of a row go together, as in `kernels.counts`."""
    half = mask.shape[0]
    for variant in range(words.shape[0]):
        for w in range(half):
            low = words[variant, w] & _EVEN
            high = (words[variant, w] >> _ONE) & _EVEN
            if half + w < words.shape[1]:
                low |= (words[variant, half + w] & _EVEN) << _ONE
                high |= words[variant, half + w] & _ODD
            out[variant, 0, w] = ~(low ^ high) & mask[w]
            out[variant, 1, w] = low & mask[w]
            out[variant, 2, w] = low & ~high & mask[w]


@compiled
def _products(bits: Any, sign: Any, mean: Any, lacks: Any, first: Any, second: Any, out: Any) -> None:
    for pair in range(first.shape[0]):
        i, j = first[pair], second[pair]
        total = np.float64(_of_called(bits[i, 0], bits[i, 1], bits[j, 0], bits[j, 1]))
        of_i, of_j = sign[i] * mean[i], sign[j] * mean[j]  # as A2 counts
        if lacks[j]:
            total += of_j * _over(bits[i, 0], bits[i, 1], bits[j, 2])
        if lacks[i]:
            total += of_i * _over(bits[j, 0], bits[j, 1], bits[i, 2])
        if lacks[i] and lacks[j]:
            total += of_i * of_j * _common(bits[i, 2], bits[j, 2])
        out[pair] = sign[i] * sign[j] * total


@compiled
def _of_called(homozygous: Any, second: Any, other_homozygous: Any, other_second: Any) -> Any:
    both = unlike = np.uint64(0)
    for w in range(homozygous.shape[0]):
        same = homozygous[w] & other_homozygous[w]
        both += population(same)
        unlike += population(same & (second[w] ^ other_second[w]))
    return np.int64(both) - 2 * np.int64(unlike)


@compiled
def _over(homozygous: Any, second: Any, who: Any) -> Any:
    """The sum of x over some people."""
    both = unlike = np.uint64(0)
    for w in range(homozygous.shape[0]):
        some = homozygous[w] & who[w]
        both += population(some)
        unlike += population(some & ~second[w])
    return np.int64(both) - 2 * np.int64(unlike)


@compiled
def _common(some: Any, others: Any) -> Any:
    count = np.uint64(0)
    for w in range(some.shape[0]):
        count += population(some[w] & others[w])
    return np.int64(count)
