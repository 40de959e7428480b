"""Genotype counts straight from PLINK's two bits a sample, without decoding.

Let L be the low bits of the pairs and H the high bits, for the members of one group:

    code 00 (homozygous A1)   neither L nor H    the rest of the group
    code 01 (missing)         L and not H        |L| - |L & H|
    code 10 (heterozygous)    H and not L        |H| - |L & H|
    code 11 (homozygous A2)   L and H            |L & H|

so three population counts do. A word holds 32 pairs, hence 32 L and 32 H. To count 64 at a time, a word of
the first half of a row goes with the same word of its second half: the one's bits stay on even positions,
the other's go to odd ones, and the groups' masks are laid out in the same way. LLVM vectorises the loop.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled, intrinsic, types

PER_WORD = 32

Words = NDArray[np.uint64]

_EVEN = np.uint64(0x5555555555555555)
_ODD = np.uint64(0xAAAAAAAAAAAAAAAA)
_ONE = np.uint64(1)


@intrinsic
def _ctpop(context: Any, word: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


population: Any = _ctpop  # the number of bits set in a word: LLVM's own instruction


def group_masks(members: NDArray[np.bool_]) -> Words:
    """Masks for `count_genotypes`: bool (groups, samples) to uint64 (groups, ceil(samples / 64)).

    With h words a group, sample 32 w + k sets bit 2 k of word w if w < h, else bit 2 k + 1 of word w - h.
    """
    groups, samples = members.shape
    half = -(-samples // (2 * PER_WORD))
    padded = np.zeros((groups, 2 * half * PER_WORD), np.uint64)
    padded[:, :samples] = members
    shifts = 2 * np.arange(PER_WORD, dtype=np.uint64)
    shifted: Words = padded.reshape(groups, 2 * half, PER_WORD) << shifts
    pairs: Words = np.bitwise_or.reduce(shifted, axis=2)
    masks: Words = pairs[:, :half] | pairs[:, half:] << _ONE
    return masks


def count_genotypes(words: Words, masks: Words) -> NDArray[np.int64]:
    """Counts of each variant in each group: int64 (variants, groups, 3).

    The three are: homozygous for the file's A1, heterozygous, homozygous for A2. `words` is (variants, w) as
    in `unpooled.asking.cohort.Packed`, `masks` comes from `group_masks`. What pads a row counts nowhere.
    """
    counts = np.empty((words.shape[0], masks.shape[0], 3), np.int64)
    _count(np.ascontiguousarray(words), np.ascontiguousarray(masks), counts)
    return counts


@compiled
def _count(words: Any, masks: Any, counts: Any) -> None:
    half = masks.shape[1]
    sizes = np.zeros(masks.shape[0], np.int64)
    for group in range(masks.shape[0]):
        for w in range(half):
            sizes[group] += np.int64(population(masks[group, w]))
    for variant in range(words.shape[0]):
        # Two slices with one index: an index `w + half` would keep LLVM from vectorising.
        first, second = words[variant, :half], words[variant, half:]
        for group in range(masks.shape[0]):
            mask = masks[group]
            low = high = both = np.uint64(0)
            for w in range(second.shape[0]):
                low_bits = ((first[w] & _EVEN) | ((second[w] & _EVEN) << _ONE)) & mask[w]
                high_bits = (((first[w] >> _ONE) & _EVEN) | (second[w] & _ODD)) & mask[w]
                low += population(low_bits)
                high += population(high_bits)
                both += population(low_bits & high_bits)
            for w in range(second.shape[0], half):  # the middle word of an odd number of words
                low_bits = first[w] & _EVEN & mask[w]
                high_bits = (first[w] >> _ONE) & _EVEN & mask[w]
                low += population(low_bits)
                high += population(high_bits)
                both += population(low_bits & high_bits)
            missing, het = np.int64(low - both), np.int64(high - both)
            counts[variant, group, 0] = sizes[group] - missing - het - np.int64(both)
            counts[variant, group, 1] = het
            counts[variant, group, 2] = both


def weighted_sums(counts: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of each variant's counts, (variants, cells), by weights (sums, cells): int64 (sums, variants).

    NumPy has no fast product of whole numbers, and so narrow a one of float64 takes longer to convert.
    """
    sums = np.empty((len(weights), len(counts)), np.int64)
    _weigh(counts, weights, sums)
    return sums


@compiled
def _weigh(counts: NDArray[np.int64], weights: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    for k in range(weights.shape[0]):
        for v in range(counts.shape[0]):
            found = 0
            for cell in range(counts.shape[1]):
                found += counts[v, cell] * weights[k, cell]
            sums[k, v] = found
