"""Loci: where in the genome there are associations, and which variant leads each.

By distance, as there are no genotypes from which to estimate linkage: among the variants with P of at most
1e-5 the strongest leads a locus of 500 kb to either side, then the strongest of those that are left, and so
on. Loci that overlap become one, led by its strongest variant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.pictures.across import across
from unpooled.pictures.associations import Associations, Part, p_text, plain

SUGGESTIVE, GENOME_WIDE = 1e-5, 5e-8
REACH = 500_000
"""Base pairs to either side of a lead."""

_LEAST = 5.0  # -log10 SUGGESTIVE

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Loci:
    """k loci, the strongest first; int64 (k,) each."""

    lead: Indices
    """Rows of the lead variants."""
    start: Indices
    """First base pair."""
    end: Indices
    variants: Indices
    """Number of variants in it with P of at most `SUGGESTIVE`."""

    def __len__(self) -> int:
        return len(self.lead)


def find(associations: Associations) -> Loci:
    """All loci of a study; often none."""
    rows, score = _hits(associations)
    # One number for the place: no position reaches to the next chromosome.
    chromosome = associations.columns["chromosome"][rows].astype(np.int64)
    place = chromosome << 32 | associations.position(rows)
    group = _merged(place, _leads(place, score))
    lead = np.array([max(members, key=lambda k: score[k]) for members in group], np.int64)
    low = np.array([place[members[0]] - REACH for members in group], np.int64)
    high = np.array([place[members[-1]] + REACH for members in group], np.int64)
    count = np.searchsorted(place, high, "right") - np.searchsorted(place, low, "left")
    order = np.argsort(-score[lead], kind="stable")
    position = np.maximum(low - (chromosome[lead] << 32), 1), high - (chromosome[lead] << 32)
    return Loci(rows[lead][order], position[0][order], position[1][order], count[order])


def _hits(associations: Associations) -> tuple[Indices, NDArray[np.float64]]:
    """Rows and -log10 P of the variants beyond the threshold, in their order."""
    rows, scores = [np.empty(0, np.int64)], [np.empty(0)]
    for part in associations.blocks():
        score = associations.neg_log10_p(part)
        beyond = np.flatnonzero(score >= _LEAST)
        rows.append(part.start + beyond)
        scores.append(score[beyond])
    return np.concatenate(rows), np.concatenate(scores)


def _leads(place: Indices, score: NDArray[np.float64]) -> list[int]:
    """The strongest, then the strongest that is not within reach of one before, and so on; by place."""
    free = bytearray(b"\1" * len(place))
    start = np.searchsorted(place, place - REACH, "left")
    stop = np.searchsorted(place, place + REACH, "right")
    found = []
    for k in np.argsort(-score, kind="stable").tolist():
        if free[k]:
            found.append(k)
            free[start[k] : stop[k]] = bytes(stop[k] - start[k])
    return sorted(found)


def _merged(place: Indices, leads: list[int]) -> list[list[int]]:
    """The leads of loci that overlap, together."""
    groups: list[list[int]] = []
    for k in leads:
        if groups and place[k] - place[groups[-1][-1]] <= 2 * REACH:
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def table(associations: Associations) -> list[dict[str, Any]]:
    """The loci as rows for people, each described by its lead variant."""
    found = find(associations)
    places = zip(found.start.tolist(), found.end.tolist(), found.variants.tolist(), strict=True)
    return [
        {**row, "locus": {"start": start, "end": end, "variants": variants}, "lead": True}
        for row, (start, end, variants) in zip(describe(associations, found.lead), places, strict=True)
    ]


def describe(associations: Associations, part: Part) -> list[dict[str, Any]]:
    """Variants as rows for people. Numbers that are none become None."""
    effect, lower, upper, se = associations.effects(part)
    a1, a2 = associations.alleles(part)
    size = associations.neg_log10_p(part)
    rows = np.arange(part.start, part.stop) if isinstance(part, slice) else part
    columns: dict[str, list[Any]] = {
        "index": rows.tolist(),
        "id": associations.id(part),
        "chromosome": associations.chromosome(part),
        "position": associations.position(part).tolist(),
        "a1": a1,
        "a2": a2,
        "a1_freq": plain(associations.a1_freq(part)),
        "effect": plain(effect),
        "lower": plain(lower),
        "upper": plain(upper),
        "se": plain(se),
        "neg_log10_p": plain(size),
        "p": [None if np.isnan(value) else p_text(value) for value in size.tolist()],
        "across": across(associations, part),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
