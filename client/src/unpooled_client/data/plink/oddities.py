"""Oddities in a list of variants: alleles that are not bases, impossible positions or those of another build.

None of this stops PLINK, nor a study. But such a variant is left out where the other cohorts write it
differently, and with the positions of another build nearly all are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.memory.spool import AT_ONCE
from unpooled.panel.alleles import UNSEEN
from unpooled.panel.builds import beyond, guessed, known_build, pseudo_autosomal
from unpooled.panel.chromosomes import HUMAN, chromosome_name
from unpooled.panel.panel import Panel, places
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.plink.variants import Found, Variants, found, found_beside

_COMPLEMENT = {b"A": b"T", b"T": b"A", b"C": b"G", b"G": b"C"}
_BASES = re.compile(rb"[ACGTN]+|0|\*|<.*>")

_LEFT_OUT = "Where other cohorts write bases, such variants are left out."

# What an allele may be that is no base, the first that fits; what that is called; and what to do.
_KINDS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(rb"[1-4]"),
        "an allele is written as a number",
        "Write the bases: `plink1.9 --alleleACGT --make-bed` if 1, 2, 3, 4 stand for A, C, G, T, else with "
        f"--update-alleles and the chip's manifest. {_LEFT_OUT}",
    ),
    (
        re.compile(rb"[IDR]|-"),
        "an allele is written as I or D, or as -",
        f"It does not say what is inserted or deleted. {_LEFT_OUT}",
    ),
    (
        re.compile(rb"B"),
        "an allele is written as B, as some chips write A and B",
        f"Write the bases, with `plink1.9 --update-alleles` and the chip's manifest. {_LEFT_OUT}",
    ),
    (re.compile(rb"(?s).*"), "an allele is not made of A, C, G, T", _LEFT_OUT),
)


@dataclass(frozen=True, eq=False)
class Listed:
    """The variants of a .bim."""

    path: Path
    variants: Variants
    """Variants in the order of the file."""
    ordered: Variants
    """Variants in canonical order."""
    position_column: int
    """Column of the position, from 1."""
    autosomes: int
    has_centimorgans: bool = False
    """True if the column before the position has a number other than 0 in lines whose positions are all 0."""
    at_once: int = AT_ONCE

    def found(self, which: Callable[[Variants], np.ndarray]) -> Found:
        """Find the variants that `which` marks; it maps some variants to bool (k,)."""
        return found(self.variants, which, self.at_once)

    def at_places(self, some: Found) -> dict[str, Any]:
        """Return details of a finding about the positions of some variants."""
        return some.at(self.path, self.place, self.position_column)

    def place(self, row: int) -> bytes:
        panel = self.variants.panel
        code = int(panel.chromosome[row])
        return f"{chromosome_name(code, self.autosomes) if code else 0}:{panel.position[row]}".encode()

    def pair(self, row: int) -> bytes:
        """A1 and A2."""
        first, second = self.variants.panel.pair(row)
        return b"%b %b" % ((first, second) if self.variants.a1_is_first[row] else (second, first))


def look_at(listed: Listed, build: str, report: Report) -> dict[str, Any]:
    """Tell what is odd, and return what is to be said of the alleles and the build.

    `build`: the plan's; empty if there is no plan.
    """
    _check_order(listed, report)
    _check_places(listed, report)
    _check_twins(listed, report)
    about = _check_alleles(listed, report)
    return about | (_check_build(listed, build, report) if listed.autosomes == HUMAN else {})


def _check_order(listed: Listed, report: Report) -> None:
    if listed.ordered is listed.variants:
        return

    def goes_down(part: Variants) -> np.ndarray:
        place = places(part.panel.chromosome, part.panel.position)
        return np.asarray(place[1:] < place[:-1])

    if down := found_beside(listed.variants, goes_down, listed.at_once):
        report.note(
            Code.NOT_IN_ORDER,
            "a variant belongs before the one above it: read all the same, and sorted",
            remedy="Other programs may refuse the file; `plink1.9 --make-bed` sorts it.",
            **down.at(listed.path, listed.place),
        )


def _check_places(listed: Listed, report: Report) -> None:
    nowhere = listed.found(lambda part: (part.panel.position == 0) | (part.panel.chromosome == 0))
    if not nowhere:
        return
    if listed.has_centimorgans and not listed.found(lambda part: part.panel.position != 0):
        report.error(
            Code.NO_PLACE,
            "every position is 0, and the column before it has numbers: the two look swapped",
            expected="centimorgans, then the position in base pairs",
            remedy="Swap them: awk -v OFS='\\t' '{print $1, $2, $4, $3, $5, $6}' OLD.bim > NEW.bim",
            **listed.at_places(nowhere),
        )
    else:
        report.warning(
            Code.NO_PLACE,
            "a variant has chromosome 0 or position 0, which is not a place",
            expected="chromosome and position in the plan's build",
            remedy="Where other cohorts know its position, the variant is left out. Fill it in, e.g. with "
            "`plink1.9 --update-chr --update-map`, or leave it out.",
            **listed.at_places(nowhere),
        )


def _check_twins(listed: Listed, report: Report) -> None:
    """Variants under two IDs: the same place, other than none, and the same alleles."""
    twins = Found()
    for rows in _whole_places(listed.ordered.panel, listed.at_once):
        here, lines = _twins(listed.ordered.part(rows))
        twins.add(rows.start + here, lines)
        listed.ordered.forget()
    if twins:
        report.note(
            Code.VARIANT_TWIN,
            "a variant has the position and the alleles of another one, under another ID",
            remedy="Both are tested. Remove one, e.g. with `plink1.9 --list-duplicate-vars`.",
            **twins.at(listed.path, lambda row: bytes(listed.ordered.panel.name[row]), 2),
        )


def _whole_places(panel: Panel, at_once: int) -> Iterator[slice]:
    """The rows of a list in canonical order, in parts; all variants of one place are in one."""
    start = 0
    while start < len(panel):
        stop = min(start + at_once, len(panel))
        last = places(panel.chromosome[[stop - 1]], panel.position[[stop - 1]])
        while stop < len(panel):
            ahead = slice(stop, stop + at_once)
            other = places(panel.chromosome[ahead], panel.position[ahead]) != last
            if other.any():
                stop += int(np.argmax(other))
                break
            stop += len(other)
        yield slice(start, stop)
        start = stop


def _twins(variants: Variants) -> tuple[np.ndarray, np.ndarray]:
    """Find the variants that share place and alleles with the one before them in the file but have another
    ID; return rows and lines.
    """
    panel = variants.panel
    place = places(panel.chromosome, panel.position)
    same = np.append(place[1:] == place[:-1], False) & (panel.position > 0)
    tied = np.flatnonzero(same | np.r_[False, same[:-1]])  # few: sorting these by their alleles is cheap
    by = (variants.line[tied], panel.second[tied], panel.first[tied], place[tied])
    tied = tied[np.lexsort(by)]
    alike = [part[tied][1:] == part[tied][:-1] for part in (place, panel.first, panel.second)]
    names = panel.name[tied]
    here = tied[1:][np.all(alike, axis=0) & (names[1:] != names[:-1])]
    return here, variants.line[here]


def _check_alleles(listed: Listed, report: Report) -> dict[str, Any]:
    alleles = listed.variants.panel.alleles
    kinds = np.array([_kind(allele) for allele in alleles], np.int8)
    for k, (_, message, remedy) in enumerate(_KINDS):
        odd = listed.found(_has_allele(kinds == k)) if (kinds == k).any() else Found()
        if odd:  # the allele may be one of a variant that is passed over
            report.warning(
                Code.ALLELE_CODES,
                message,
                expected="A, C, G, T, or a string of these",
                remedy=remedy,
                **odd.at(listed.path, listed.pair),
            )
    alone = listed.found(_has_allele(np.array([allele == UNSEEN for allele in alleles], bool)))
    if 2 * alone.count > len(listed.variants):
        report.warning(
            Code.ALLELES_UNSEEN,
            "more than half of the variants have an allele 0: nobody here has a second one",
            remedy="They are matched with the alleles of the other cohorts all the same. But is it the right "
            "file, with all of the cohort's people?",
            **alone.at(listed.path, listed.pair),
        )
    index = {allele: k for k, allele in enumerate(alleles)}
    other_strand = np.full(len(alleles), -1, np.int32)
    for allele, other in _COMPLEMENT.items():
        if allele in index and other in index:
            other_strand[index[allele]] = index[other]
    ambiguous = listed.found(lambda part: other_strand[part.panel.first] == part.panel.second)
    longer = listed.found(_has_allele(np.array([len(allele) > 1 for allele in alleles], bool)))
    total = len(listed.variants)
    return {
        "A/T or C/G": _counted(ambiguous.count, total),
        "one allele seen": _counted(alone.count, total),
        "insertions and deletions": _counted(longer.count, total),
    }


def _has_allele(which: np.ndarray) -> Callable[[Variants], np.ndarray]:
    """Return a function that marks variants with any of the alleles in `which`, bool (alleles,)."""
    return lambda part: np.asarray(which[part.panel.first] | which[part.panel.second])


def _kind(allele: bytes) -> int:
    """Index in _KINDS, or -1 of what an allele should be."""
    if _BASES.fullmatch(allele):
        return -1
    return next(k for k, (pattern, _, _) in enumerate(_KINDS) if pattern.fullmatch(allele))


def _counted(count: int, total: int) -> str:
    return f"{count:,} ({count / max(total, 1):.1%})" if count else "0"


def _check_build(listed: Listed, plan: str, report: Report) -> dict[str, Any]:
    """Doubt the plan's build where positions speak for another; and say which one they look like."""
    beyond_of = {build: listed.found(_beyond(build)) for build in ("GRCh37", "GRCh38")}
    looks, wanted = guessed(beyond_of), known_build(plan)
    if all(beyond_of.values()):
        nowhere = listed.found(_beyond("GRCh37", "GRCh38"))
        _tell_beyond(listed, nowhere or beyond_of[wanted or "GRCh38"], report)
    elif wanted is not None and beyond_of[wanted]:
        report.warning(
            Code.BUILD,
            f"a position lies beyond the end of its chromosome in {wanted}, the plan's build",
            expected=f"positions of {wanted}",
            remedy=f"The positions look like {looks}. Variants at another position than in other cohorts are "
            f"left out, so lift them over to {wanted} (UCSC's liftOver), or ask the coordinator.",
            **listed.at_places(beyond_of[wanted]),
        )
    if (build := wanted or looks) is not None and not beyond_of[build]:
        _check_pseudo_autosomal(listed, build, report)
    return {"build": f"looks like {looks}" if looks else "the positions do not tell"}


def _beyond(*of: str) -> Callable[[Variants], np.ndarray]:
    """Return a function that marks the variants beyond the ends of their chromosomes in all of the builds
    `of`.
    """
    return lambda part: np.logical_and.reduce(
        [beyond(part.panel.chromosome, part.panel.position, build) for build in of]
    )


def _tell_beyond(listed: Listed, some: Found, report: Report) -> None:
    report.warning(
        Code.BEYOND_THE_END,
        "a position lies beyond the end of its chromosome",
        expected="positions of GRCh37 or GRCh38",
        remedy="Are they human, and is the column the position in base pairs? For another species give "
        "--chr-set.",
        **listed.at_places(some),
    )


def _check_pseudo_autosomal(listed: Listed, build: str, report: Report) -> None:
    shared = listed.found(lambda part: pseudo_autosomal(part.panel.chromosome, part.panel.position, build))
    if shared:
        report.note(
            Code.PSEUDO_AUTOSOMAL,
            f"a variant of X lies in a pseudoautosomal region ({build}): men are taken to have one copy",
            remedy=f"PLINK keeps them apart as XY: `plink1.9 --split-x b{build[-2:]} --make-bed`.",
            **listed.at_places(shared),
        )
