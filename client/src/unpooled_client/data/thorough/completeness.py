"""--mind: who lacks so many calls that they are left out, decided as by plink1.9.

It comes before every other filter, and looks at the variants of the panel. On Y only men can lack a call.
"""

from __future__ import annotations

import numpy as np

from unpooled.asking.cohort import MALE
from unpooled.panel.panel import Panel
from unpooled_client.data.cohort import PlinkCohort

_BLOCK = 4096
_EVEN = np.uint64(0x5555555555555555)
_ONE = np.uint64(1)
_TOLERANCE = 2.0**-44  # so that a share printed as the limit is within it


def kept_by_mind(cohort: PlinkCohort, panel: Panel, most: float, autosomes: int) -> np.ndarray:
    """Mark the people to keep, bool (n,): kept so far, and a share of missing calls of at most `most`."""
    samples = cohort.samples
    on_y = panel.chromosome == autosomes + 2
    elsewhere, there = (missing_calls(cohort, np.flatnonzero(which)) for which in (~on_y, on_y))
    men = samples.sex == MALE
    missing = elsewhere + np.where(men, there, 0)
    asked = np.where(men, len(panel), np.count_nonzero(~on_y))
    return np.asarray(samples.kept & (missing <= np.floor(asked * most * (1 + _TOLERANCE))))


def missing_calls(cohort: PlinkCohort, variants: np.ndarray) -> np.ndarray:
    """Count each person's missing calls among some variants (panel indices): int64 (n,)."""
    found = np.zeros(-(-len(cohort.samples) // 32) * 32, np.int64).reshape(-1, 32)
    for start in range(0, len(variants), _BLOCK):
        words = cohort.packed(variants[start : start + _BLOCK]).words
        # A missing call is 01: the low bit is set and the high one is not.
        missing = words & ~(words >> _ONE) & _EVEN
        for k in range(32):
            found[:, k] += ((missing >> np.uint64(2 * k)) & _ONE).sum(axis=0, dtype=np.int64)
    return found.reshape(-1)[: len(cohort.samples)]
