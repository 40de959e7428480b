"""The Manhattan plot as what a screen can show: ten million points overlap anyway.

The plane is cut into cells. Occupied cells on top of one another become one segment, so that a column that is
full from the bottom is a single one; the strongest variants stay points. A window of few variants is points
alone. Where there would be too many segments, cells are made twice as high until there are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.panel.chromosomes import chromosome_name
from unpooled.pictures import credible, linkage
from unpooled.pictures.associations import BLOCK, Associations, plain
from unpooled.pictures.loci import GENOME_WIDE, SUGGESTIVE

VERSION = 1
BASES, HEIGHT = 3_000_000, 0.1
"""A cell of the whole genome: base pairs, and -log10 P."""
COLUMNS = 1_000
"""Cells side by side in a region."""
FEW = 2_000
"""Variants that a region shows one by one."""
STRONGEST = 1_000
"""Points beside segments, and half as many of the lead variants, should they not be among the strongest."""
MOST_SEGMENTS = 12_000

Indices = NDArray[np.int64]

_COLUMN_BITS = 16  # more than any chromosome has columns: positions end at 2^31
_LEVELS = 1 << 38  # more than there are cells on top of one another


@dataclass(frozen=True, eq=False)
class Reduced:
    """Variants as segments and points."""

    known: int
    """Number of variants with a P."""
    points: Indices
    """Rows of the variants that stay points, in their order."""
    column: Indices
    """int64 (k,): where each of k segments stands."""
    low: Indices
    """int64 (k,): its lowest cell."""
    high: Indices
    """int64 (k,): its highest cell."""
    height: float
    """Height of a cell, in -log10 P."""

    @property
    def segments(self) -> dict[str, list[int]]:
        return {"column": self.column.tolist(), "low": self.low.tolist(), "high": self.high.tolist()}


def overview(associations: Associations, leads: Sequence[int]) -> dict[str, Any]:
    """The whole genome, for JSON. `leads` are the rows of the lead variants, the strongest first."""

    def column(part: slice) -> Indices:
        code = associations.columns["chromosome"][part].astype(np.int64)
        return code << _COLUMN_BITS | associations.position(part) // BASES

    parts = list(associations.blocks())
    reduced = reduce(associations, parts, leads, column, few=STRONGEST)
    codes = (reduced.column >> _COLUMN_BITS).tolist()
    segments = reduced.segments | {"column": (reduced.column & ((1 << _COLUMN_BITS) - 1)).tolist()}
    chromosomes = _chromosomes(associations)
    return {
        **_head(associations, reduced),
        "without_p": len(associations) - reduced.known,
        "chromosomes": list(chromosomes.values()),
        "cell": {"bases": BASES, "height": reduced.height},
        "segments": {"chromosome": [chromosomes[code]["name"] for code in codes], **segments},
        "points": {
            "chromosome": associations.chromosome(reduced.points),
            **_points(associations, reduced.points),
        },
        "leads": _places(reduced.points, leads),
    }


def region(
    associations: Associations,
    chromosome: int,
    first: int,
    last: int,
    leads: Sequence[int],
    known: linkage.Pairs | None = None,
    mapped: credible.Probabilities | None = None,
) -> dict[str, Any]:
    """A window from one position to another, for JSON: points alone, with effects, or finer cells.

    `known` is the linkage with lead variants, and `mapped` who is in credible sets, where a study has looked
    at that.
    """
    rows = associations.within(chromosome, first, last)
    bases = max(1, -(-(last - first + 1) // COLUMNS))
    parts = [slice(at, min(at + BLOCK, rows.stop)) for at in range(rows.start, rows.stop, BLOCK)]
    inside = [row for row in leads if rows.start <= row < rows.stop]
    reduced = reduce(
        associations, parts, inside, lambda part: (associations.position(part) - first) // bases, few=FEW
    )
    a1, a2 = associations.alleles(reduced.points)
    effect, _, _, se = associations.effects(reduced.points)
    return {
        **_head(associations, reduced),
        "chromosome": chromosome_name(chromosome, associations.plan.autosomes),
        "first": first,
        "last": last,
        "cell": {"bases": bases, "height": reduced.height} if len(reduced.column) else None,
        "segments": reduced.segments,
        "points": {
            **_points(associations, reduced.points),
            "a1": a1,
            "a2": a2,
            "a1_freq": plain(associations.a1_freq(reduced.points), 4),
            "effect_of_a1": plain(effect, 4),
            "se": plain(se, 4),
        },
        "leads": _places(reduced.points, inside),
        "linkage": None if known is None else linkage.around(associations, known, rows, reduced.points),
        "credible": None if mapped is None else credible.around(associations, mapped, reduced.points),
    }


def reduce(
    associations: Associations,
    parts: Sequence[slice],
    leads: Sequence[int],
    column: Callable[[slice], Indices],
    few: int,
) -> Reduced:
    """The variants in `parts`. `column` says in which column of cells variants are.

    All are points if at most `few` have a P; else the strongest are, and `leads`, and the others segments.
    """
    known, points, cutoff = strongest(associations, parts, few, STRONGEST)
    empty = np.empty(0, np.int64)
    if known <= few:
        return Reduced(known, points, empty, empty, empty, HEIGHT)
    points = np.union1d(points, np.array(leads[: STRONGEST // 2], np.int64))
    cells = empty
    for part in parts:
        size = associations.neg_log10_p(part)
        drawn = size <= cutoff
        level = (size[drawn] * (1 / HEIGHT)).astype(np.int64)
        cells = np.union1d(cells, column(part)[drawn] * _LEVELS + level)
    return Reduced(known, points, *_runs(cells))


def strongest(
    associations: Associations, parts: Sequence[slice], few: int, count: int
) -> tuple[int, Indices, float]:
    """Count the variants with a P; find the rows of all of them if these are `few`, else of the `count`
    strongest, and the -log10 P that no other exceeds.
    """
    known, least = 0, -np.inf
    rows, scores = np.empty(0, np.int64), np.empty(0)
    for part in parts:
        score = associations.neg_log10_p(part)
        known += int(np.count_nonzero(~np.isnan(score)))
        better = np.flatnonzero(score > least)
        rows, scores = np.concatenate([rows, part.start + better]), np.concatenate([scores, score[better]])
        if known > few:
            best = np.argpartition(-scores, count - 1)[:count]
            rows, scores = rows[best], scores[best]
            least = float(scores.min())
    return known, np.sort(rows), least


def _runs(cells: Indices) -> tuple[Indices, Indices, Indices, float]:
    """Column, lowest and highest cell of each run of occupied cells, and the height at which they are few."""
    height = HEIGHT
    while True:
        gaps = np.flatnonzero(np.diff(cells) != 1) + 1
        first, last = np.concatenate([[0], gaps]), np.concatenate([gaps, [len(cells)]]) - 1
        if len(first) <= MOST_SEGMENTS or height > 1e6:
            column = cells[first] // _LEVELS
            return column, cells[first] % _LEVELS, cells[last] % _LEVELS, height
        column, level = np.divmod(cells, _LEVELS)
        cells, height = np.unique(column * _LEVELS + level // 2), height * 2


def _head(associations: Associations, reduced: Reduced) -> dict[str, Any]:
    return {
        "version": VERSION,
        "variants": reduced.known,
        "effect": associations.effect_name,
        "genome_wide": GENOME_WIDE,
        "suggestive": SUGGESTIVE,
    }


def _chromosomes(associations: Associations) -> dict[int, dict[str, Any]]:
    """Name, extent and number of variants of each chromosome, by its code."""
    position = associations.columns["position"]
    return {
        code: {
            "name": chromosome_name(code, associations.plan.autosomes),
            "first": int(position[rows.start]),
            "last": int(position[rows.stop - 1]),
            "variants": rows.stop - rows.start,
        }
        for code, rows in associations.chromosomes().items()
    }


def _points(associations: Associations, rows: Indices) -> dict[str, Any]:
    return {
        "index": rows.tolist(),
        "position": associations.position(rows).tolist(),
        "id": associations.id(rows),
        "neg_log10_p": np.round(associations.neg_log10_p(rows), 4).tolist(),
    }


def _places(points: Indices, leads: Sequence[int]) -> list[int]:
    """Find the points that are lead variants."""
    return np.flatnonzero(np.isin(points, np.array(leads, np.int64))).tolist()
