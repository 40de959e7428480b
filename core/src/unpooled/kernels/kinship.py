"""KING-robust kinship of all pairs of people, from a bit for each call.

Manichaikul et al., "Robust relationship inference in genome-wide association studies", Bioinformatics 26
(2010), equation 11: over the variants that two people both have,

    kinship = 1/2 - (4 * opposite + het_hom + hom_het) / (4 * smaller)

`opposite` counts those where the two are homozygous for different alleles, `het_hom` and `hom_het` those
where only the first, or only the second, is heterozygous, and `smaller` the heterozygous calls of the one who
has fewer. Twins have 0.5, brothers and sisters 0.25, strangers 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.counts import population

SCREEN = 16
"""Words that every pair is compared in; those far below the cutoff there are looked at no further."""
MARGIN = 0.15
"""Margin below the cutoff for that: a kinship of 1,024 common variants is off by 0.02 or so."""

Bits = NDArray[np.uint64]


def related(
    het: Bits, first: Bits, second: Bits, start: int, stop: int, cutoff: float, most: int
) -> tuple[int, NDArray[np.int64], NDArray[np.float64]]:
    """The pairs of the people `start` to `stop` with any before them, whose kinship is at least the cutoff.

    A bit for each variant says who is heterozygous, and homozygous for one allele and for the other: uint64
    (n, words) each, the variants in no order. Gives how many pairs there are, and up to `most` of them: int64
    (k, 2), the later person first, and float64 (k,). Variants in common without a heterozygous call are no
    evidence.
    """
    pairs, kinship = np.empty((most, 2), np.int64), np.empty(most)
    count = _related(het, first, second, start, stop, cutoff, pairs, kinship, SCREEN, MARGIN)
    return count, pairs[:count], kinship[:count]


@compiled
def _related(
    het: Any, first: Any, second: Any, start: Any, stop: Any, cutoff: Any, pairs: Any, kinship: Any,
    screen: Any, margin: Any,
) -> Any:  # fmt: skip
    count, words = 0, het.shape[1]
    for i in range(start, stop):
        for j in range(i):
            if words > screen and _kinship(het, first, second, i, j, screen) < cutoff - margin:
                continue
            found = _kinship(het, first, second, i, j, words)
            if found >= cutoff:
                if count < len(kinship):
                    pairs[count, 0], pairs[count, 1], kinship[count] = i, j, found
                count += 1
    return count


@compiled
def _kinship(het: Any, first: Any, second: Any, i: Any, j: Any, words: Any) -> Any:
    both = only_i = only_j = opposite = np.uint64(0)
    for w in range(words):
        a, b = het[i, w], het[j, w]
        both += population(a & b)
        only_i += population(a & (first[j, w] | second[j, w]))
        only_j += population((first[i, w] | second[i, w]) & b)
        opposite += population((first[i, w] & second[j, w]) | (second[i, w] & first[j, w]))
    smaller = np.float64(both) + min(np.float64(only_i), np.float64(only_j))
    if smaller == 0.0:
        return -np.inf
    return 0.5 - (4.0 * np.float64(opposite) + np.float64(only_i) + np.float64(only_j)) / (4.0 * smaller)
