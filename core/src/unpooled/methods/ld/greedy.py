"""Variants that PLINK 2 prunes: its windows, its order, and which variant of a pair it removes.

Over the windows of a chromosome, in their order: each variant is compared with those behind it in the window,
each pair once. Of a pair whose r² is above the limit that one goes whose more frequent allele is the more
frequent, else the second; then the next variant's turn comes, and the window is gone through again until no
more go (PLINK 2's `--indep-pairwise`; Chang and others, GigaScience 2015).

Not all pairs need be known: those that are not are taken for unlinked, and the first of them that each
variant meets are what to ask about next. Once a walk meets no such pair, it is PLINK's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled.kernels.compiled import compiled

UNKNOWN, UNLINKED, LINKED = 0, 1, 2
_MORE = 1 + 2.0**-44
"""PLINK's tolerance for frequencies and r²."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Outcome of a walk over a chromosome."""

    removed: np.ndarray
    """bool (m,)"""
    first: np.ndarray
    """int64 (pairs,): the first of each pair that was met and is not known, rising."""
    second: np.ndarray


@dataclass(frozen=True, eq=False)
class Band:
    """Layout of the pairs of m variants: each with those behind it in its windows."""

    start: np.ndarray
    """int64 (m + 1,): where the pairs of each variant begin."""

    @classmethod
    def of(cls, starts: np.ndarray, ends: np.ndarray, variants: int) -> Band:
        """`starts` and `ends` of windows, rising."""
        within = np.searchsorted(starts, np.arange(variants), side="right") - 1
        reach = ends[within] - np.arange(variants) - 1 if variants else np.zeros(0, np.int64)
        return cls(np.concatenate([[0], np.cumsum(reach)]).astype(np.int64))

    @property
    def pairs(self) -> int:
        return int(self.start[-1])

    @property
    def widest(self) -> int:
        """Variants behind another that it shares a window with, at the most."""
        return int(np.diff(self.start).max(initial=0))

    def at(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The places of pairs."""
        return np.asarray(self.start[first] + second - first - 1)


def walk(
    windows: tuple[np.ndarray, np.ndarray],
    band: Band,
    known: np.ndarray,
    majority: np.ndarray,
    removed: np.ndarray,
    most: int,
) -> Walk:
    """Prune as far as pairs are known. `known`, uint8, is of the pairs of the band; `majority`, float64 (m,),
    the frequency of each variant's more frequent allele. At most `most` pairs of each variant are noted.
    `removed`, bool (m,), are those that go in any case; they have their places in the windows.
    """
    noted = np.zeros(len(majority), np.int64)
    removed = removed.copy()
    met = known.copy()
    _walk(windows[0], windows[1], band.start, met, majority, most, noted, removed)
    places = np.flatnonzero(met == _NOTED)
    first = np.searchsorted(band.start, places, side="right") - 1
    return Walk(removed, first, first + 1 + places - band.start[first])


_NOTED = 3


@compiled
def _walk(
    starts: Any, ends: Any, band: Any, known: Any, majority: Any, most: Any, noted: Any, removed: Any
) -> None:
    unchecked = np.arange(1, len(majority) + 1)
    live = np.empty(len(majority), np.int64)
    for window in range(len(starts)):
        count = 0
        for variant in range(starts[window], ends[window]):
            if not removed[variant]:
                live[count] = variant
                count += 1
        changed = True
        while changed:
            changed = False
            for place in range(count):
                first = live[place]
                if not removed[first]:
                    behind = live[place + 1 : count]
                    changed |= _compare(
                        first, behind, ends[window], band, known, majority, most, noted, removed, unchecked
                    )


@compiled
def _compare(
    first: Any,
    behind: Any,
    end: Any,
    band: Any,
    known: Any,
    majority: Any,
    most: Any,
    noted: Any,
    removed: Any,
    unchecked: Any,
) -> Any:
    """Compare a variant with those behind it until one of a pair goes; whether one has."""
    for second in behind:
        if removed[second] or second < unchecked[first]:
            continue
        pair = band[first] + second - first - 1
        if known[pair] == LINKED:
            if majority[first] > majority[second] * _MORE:
                removed[first] = True
            else:
                removed[second] = True
                unchecked[first] = second + 1
            return True
        if known[pair] == UNKNOWN and noted[first] < most:
            known[pair] = _NOTED
            noted[first] += 1
    unchecked[first] = end
    return False
