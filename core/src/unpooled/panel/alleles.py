"""Alleles: how two cohorts' pairs of them can be the same, on either strand.

A pair is sorted in ASCII order: the order of A1 and A2 would show which allele is the rarer one at a cohort.
"""

from __future__ import annotations

import functools
import re
from collections import Counter

UNSEEN = b"0"

_COMPLEMENT = {b"A": b"T", b"T": b"A", b"C": b"G", b"G": b"C", UNSEEN: UNSEEN}
_BASES = re.compile(rb"[ACGTNacgtn]+")

Pair = tuple[bytes, bytes]


def capital(allele: bytes) -> bytes:
    """An allele as it is compared: bases in capitals, anything else, such as `<del>`, letter by letter."""
    return allele.upper() if _BASES.fullmatch(allele) else allele


def complement(pair: Pair) -> Pair | None:
    """A sorted pair as read on the other strand, sorted; None where that has no meaning."""
    if pair[0] not in _COMPLEMENT or pair[1] not in _COMPLEMENT:
        return None
    low, high = sorted((_COMPLEMENT[pair[0]], _COMPLEMENT[pair[1]]))
    return low, high


def _fits(pair: Pair, target: Pair) -> bool:
    """Tell whether a cohort's pair, in which `0` is any allele, can be the target pair."""
    seen = [allele for allele in pair if allele != UNSEEN]
    return len(set(seen)) == len(seen) and all(allele in target for allele in seen)


@functools.lru_cache(maxsize=65536)
def strand(pair: Pair, target: Pair) -> int:
    """1 if a sorted pair fits the target as it stands, -1 if on the other strand, 0 if neither."""
    if pair == target or _fits(pair, target):
        return 1
    flipped = complement(pair)
    return -1 if flipped is not None and _fits(flipped, target) else 0


@functools.lru_cache(maxsize=65536)
def agree(pairs: tuple[Pair, ...]) -> Pair | None:
    """The panel's pair for one variant from the cohorts' sorted pairs; None if they cannot be reconciled.

    Does not depend on the order of the cohorts.
    """
    full = Counter(pair for pair in pairs if UNSEEN not in pair)
    if len(set(pairs)) == 1:
        target = pairs[0]  # even `G/G`, of which PLINK reads the genotypes all the same
    elif full:
        target = min(full, key=lambda pair: (-full[pair], pair))
    else:
        # Every cohort has seen one allele at most. Two that differ would be an effect of nothing but the
        # cohort, and an error of strand or coding is likelier than a difference without exception.
        low, *others = sorted({UNSEEN, *(allele for pair in pairs for allele in pair)})
        if len(others) > 1:
            return None
        target = low, others[0]
    return target if all(strand(pair, target) for pair in pairs) else None


def is_ambiguous(pair: Pair) -> bool:
    """Tell whether a pair looks the same on both strands (A/T, C/G)."""
    return UNSEEN not in pair and complement(pair) == pair


def crossed(have: Pair, want: Pair) -> bool | None:
    """Tell whether a cohort's first allele is the panel's second; None if the pairs cannot be reconciled."""
    if (side := strand(have, want)) == 0:
        return None
    if have == want:
        return False
    first, second = have if side > 0 else (_COMPLEMENT[have[0]], _COMPLEMENT[have[1]])
    return first == want[1] != UNSEEN or second == want[0] != UNSEEN
