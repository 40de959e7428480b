"""Options of pruning variants, in PLINK's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from unpooled.plan.common_options import LOCO
from unpooled.plan.options import Number, Place, Switch, Text
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import CLUMPED

MOST_AHEAD = 4000
"""Variants behind another that it can share a window with."""

_MORE = 1 + 2.0**-44
"""PLINK's tolerance."""

FEWEST_FOUNDERS = 50
"""Smallest number of founders, as in PLINK, that correlations are estimated from."""

_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s*(kb)?(?:\s+(\d+))?\s+(\d*\.?\d+(?:e-?\d+)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Windows:
    """Windows as --indep-pairwise describes them."""

    size: float
    """Variants, or kilobases."""
    is_kb: bool
    step: int
    """Number of variants that a window moves on by."""
    r2: float
    """Squared correlation above which one of two variants goes."""

    @classmethod
    def read(cls, text: str) -> Windows:
        """Parse words such as `50 5 0.2` or `1000kb 0.1`; ValueError for others."""
        found = _PARTS.fullmatch(text.strip())
        if found is None:
            raise ValueError(text)
        size, kb, step, r2 = found.groups()
        made = cls(float(size), kb is not None, int(step or 1), float(r2))
        good = made.step >= 1 and 0 <= made.r2 < 1
        if made.is_kb:
            good &= made.step == 1 and 0 < made.size <= 1e6
        else:
            good &= made.size.is_integer() and 2 <= made.size <= MOST_AHEAD and made.step <= made.size
        if not good:
            raise ValueError(text)
        return made

    @property
    def most_ahead(self) -> int:
        """Largest number of variants that can follow another in one window."""
        return MOST_AHEAD if self.is_kb else int(self.size) - 1

    @property
    def base_pairs(self) -> int:
        return int(self.size * 1000 * _MORE)

    def alone(self, position: np.ndarray) -> np.ndarray:
        """Mark the variants with no other of their chromosome in reach, bool (m,): PLINK looks at none."""
        far = np.ones(len(position) + 1, bool)
        far[1:-1] = np.diff(position) > self.base_pairs if self.is_kb else False
        return far[1:] & far[:-1]

    def bounds(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and stops of the windows over the variants of a chromosome: int64 each.

        `position`, (m,), rises. A window moves on by its step; one of kilobases as far as it must to take in
        another variant.
        """
        m, size = len(position), int(self.size)
        if not self.is_kb:
            starts = (
                np.arange(1 + max(0, -(-(m - size) // self.step)) if m else 0, dtype=np.int64) * self.step
            )
            return starts, np.minimum(starts + size, m)
        place = position.astype(np.int64)
        ends = np.searchsorted(place, place + self.base_pairs, side="right")
        found = [0] if m else []
        while found and ends[found[-1]] < m:
            first = np.searchsorted(place, place[ends[found[-1]]] - self.base_pairs, side="left")
            found.append(max(found[-1] + 1, int(first)))
        starts = np.array(found, np.int64)
        return starts, np.asarray(ends[starts], np.int64)


def _fits(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


INDEP_PAIRWISE = Text(
    name="indep_pairwise",
    label="LD pruning",
    flag="--indep-pairwise",
    hint="Window, step and largest r², as PLINK takes them: 50 5 0.2 for windows of 50 variants that move on "
    "by 5, 1000kb 0.1 for windows of 1,000 kilobases.",
    usual="50 5 0.2",
    words=f"a window of 2 to {MOST_AHEAD:,} variants with its step, or of kilobases, and an r² below 1, such "
    "as 50 5 0.2 or 1000kb 0.1",
    fits=partial(_fits, Windows.read),
    place=Place.MODEL,
    fact="{}: window, step and largest r²",
    methods="Variants were pruned by linkage disequilibrium in all cohorts together (--indep-pairwise {} of "
    "PLINK 2).",
)

BAD_LD = Switch(
    name="bad_ld",
    label="Prune by fewer than 50 founders",
    flag="--bad-ld",
    hint="Correlations of so few people are mostly chance.",
    place=Place.MODEL,
    needs=INDEP_PAIRWISE.name,
    fact="also of fewer than 50 founders",
)

PRUNE_COMPONENTS = Text(
    name="prune_components",
    label="LD pruning before components",
    hint="As --indep-pairwise, such as 50 5 0.2: components are of the variants that remain. Left empty, of "
    "all.",
    words=INDEP_PAIRWISE.words,
    fits=partial(_fits, Windows.read),
    place=Place.MODEL,
    fact="{}: window, step and largest r² of the variants that components are of",
    methods="They are of variants that had been pruned by linkage disequilibrium in all cohorts together "
    "(--indep-pairwise {} of PLINK 2).",
    came_later=True,
)

PRUNE_PREDICTIONS = replace(
    PRUNE_COMPONENTS,
    name="prune_predictions",
    label="LD pruning before predictions",
    hint="As --indep-pairwise, such as 50 5 0.9: people's phenotypes are predicted from the variants that "
    "remain. Left empty, from all.",
    needs=LOCO.name,
    fact="{}: window, step and largest r² of the variants that predict",
    methods="The variants of these blocks had been pruned by linkage disequilibrium in all cohorts together "
    "(--indep-pairwise {} of PLINK 2).",
)


_REGION = re.compile(r"(?:chr)?(\d{1,2}):(\d+)-(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Region:
    """A stretch of an autosome, its two ends included."""

    chromosome: int
    first: int
    """Base pairs."""
    last: int

    @classmethod
    def read(cls, text: str) -> Region:
        """Parse words such as `6:29500000-30500000`; ValueError for others."""
        found = _REGION.fullmatch(text.replace(",", "").strip())
        made = cls(*map(int, found.groups())) if found else cls(0, 1, 0)
        if not (made.chromosome > 0 and made.first <= made.last):
            raise ValueError(text)
        return made


REGION = Text(
    name="region",
    label="Region",
    hint="An autosome, with the first and the last base pair: 6:29500000-30500000.",
    words="an autosome with its first and last base pair, such as 6:29500000-30500000",
    fits=partial(_fits, Region.read),
    place=Place.MODEL,
    methods="The region was {}.",
    came_later=True,
)


def compares_pairs(plan: Plan) -> bool:
    """Tell whether variants of a plan are compared two by two: to prune, or all of a region."""
    return bool(windows_of(plan) or REGION.of(plan))


def windows_of(plan: Plan) -> str:
    """Return the words of a plan about pruning; empty if there are none."""
    # Predictions are asked about under the plan without LOCO.
    before = "" if LOCO.of(plan) else PRUNE_PREDICTIONS.of(plan)
    return str(before or INDEP_PAIRWISE.of(plan) or PRUNE_COMPONENTS.of(plan))


PRUNING = (INDEP_PAIRWISE, BAD_LD)
"""The options of a study that prunes."""

P1 = Number(
    name="clump_p1",
    came_later=True,
    label="Largest P of a lead variant",
    flag="--clump-p1",
    default=1e-4,
    least=1e-300,
    most=0.05,
    place=Place.MODEL,
    file=CLUMPED,
    fact="of at most {}",
)

P2 = Number(
    name="clump_p2",
    came_later=True,
    label="P below which a variant of a clump is named",
    flag="--clump-p2",
    default=0.01,
    least=0,
    most=1,
    place=Place.MODEL,
    file=CLUMPED,
    fact="below {}",
)

R2 = Number(
    name="clump_r2",
    came_later=True,
    label="Linkage (r²) above which a variant is of a clump",
    flag="--clump-r2",
    default=0.5,
    least=0,
    most=1,
    is_below=True,
    place=Place.MODEL,
    file=CLUMPED,
    fact="above {}",
)

KB = Number(
    name="clump_kb",
    came_later=True,
    label="Kilobases to either side of a lead variant",
    flag="--clump-kb",
    default=250.0,
    least=1,
    most=10_000,
    place=Place.MODEL,
    file=CLUMPED,
    fact="{} kb to either side",
)

CLUMPING = (P1, P2, R2, KB)
"""The options of a study whose associations can be clumped."""


def is_clumped(plan: Plan) -> bool:
    return CLUMPED in plan.files
