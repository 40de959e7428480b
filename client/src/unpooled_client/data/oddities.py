"""Oddities in a list of variants: alleles that are not bases, impossible positions or those of another build.

None of this stops PLINK, nor a study. But such a variant is left out where the other cohorts write it
differently, and with the positions of another build nearly all are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.alleles import UNSEEN
from unpooled.builds import beyond, guessed, known_build, pseudo_autosomal
from unpooled.chromosomes import HUMAN, chromosome_name
from unpooled_client.data.report import EXAMPLES, Code, Report, at_lines, shown

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
    """The variants of a .bim, in the order of the file."""

    path: Path
    chromosome: np.ndarray
    position: np.ndarray
    name: np.ndarray
    a1: np.ndarray
    """Index of A1 in `alleles`."""
    a2: np.ndarray
    alleles: tuple[bytes, ...]
    line: np.ndarray
    position_column: int
    """Which word of a line the position is, from 1."""
    autosomes: int
    has_centimorgans: bool = False
    """Whether the column before the position has any number but 0, where all positions are 0."""

    def examples(self, which: np.ndarray, show: Callable[[int], bytes]) -> dict[str, Any]:
        """Line, count and three examples of some variants, bool (m,), for a finding."""
        rows = np.flatnonzero(which)
        words = [show(int(row)) for row in rows[:EXAMPLES]]
        return {
            "file": self.path,
            "line": int(self.line[rows[0]]),
            "read": shown(words[0]),
            "count": len(rows),
            "examples": at_lines(self.line[rows[:EXAMPLES]].tolist(), words),
        }

    def place(self, row: int) -> bytes:
        code = int(self.chromosome[row])
        return f"{chromosome_name(code, self.autosomes) if code else 0}:{self.position[row]}".encode()

    def pair(self, row: int) -> bytes:
        return b"%b %b" % (self.alleles[self.a1[row]], self.alleles[self.a2[row]])


def look_at(listed: Listed, build: str, report: Report) -> dict[str, Any]:
    """Tell what is odd, and return what is to be said of the alleles and the build.

    `build`: the plan's; empty if there is no plan.
    """
    down = _goes_down(listed)
    _check_order(listed, down, report)
    _check_places(listed, report)
    _check_twins(listed, report, in_order=not down.any())
    about = _check_alleles(listed, report)
    return about | (_check_build(listed, build, report) if listed.autosomes == HUMAN else {})


def _goes_down(listed: Listed) -> np.ndarray:
    """Which variants belong before the one above them, bool (m,)."""
    code, at = listed.chromosome, listed.position
    down: np.ndarray = (code[1:] < code[:-1]) | (code[1:] == code[:-1]) & (at[1:] < at[:-1])
    return np.append(False, down)


def _check_order(listed: Listed, down: np.ndarray, report: Report) -> None:
    if down.any():
        report.note(
            Code.NOT_IN_ORDER,
            "a variant belongs before the one above it: read all the same, and sorted",
            remedy="Other programs may refuse the file; `plink1.9 --make-bed` sorts it.",
            **listed.examples(down, listed.place),
        )


def _check_places(listed: Listed, report: Report) -> None:
    nowhere = (listed.position == 0) | (listed.chromosome == 0)
    if listed.has_centimorgans and not listed.position.any():
        report.error(
            Code.NO_PLACE,
            "every position is 0, and the column before it has numbers: the two look swapped",
            column=listed.position_column,
            expected="centimorgans, then the position in base pairs",
            remedy="Swap them: awk -v OFS='\\t' '{print $1, $2, $4, $3, $5, $6}' OLD.bim > NEW.bim",
            **listed.examples(nowhere, listed.place),
        )
    elif nowhere.any():
        report.warning(
            Code.NO_PLACE,
            "a variant has chromosome 0 or position 0, which is not a place",
            column=listed.position_column,
            expected="chromosome and position in the plan's build",
            remedy="Where other cohorts know its position, the variant is left out. Fill it in, e.g. with "
            "`plink1.9 --update-chr --update-map`, or leave it out.",
            **listed.examples(nowhere, listed.place),
        )


def _check_twins(listed: Listed, report: Report, *, in_order: bool) -> None:
    """Variants under two IDs: the same place, other than none, and the same alleles."""
    count = len(listed.position)
    order = np.arange(count, dtype=np.int32) if in_order else np.lexsort((listed.position, listed.chromosome))
    code, at = listed.chromosome[order], listed.position[order]
    same = np.append((code[1:] == code[:-1]) & (at[1:] == at[:-1]), False) & (at > 0)
    tied = order[same | np.r_[False, same[:-1]]]  # few: sorting these alone by their alleles is cheap
    place = listed.chromosome[tied].astype(np.int64) << 32 | listed.position[tied]
    low, high = np.minimum(listed.a1[tied], listed.a2[tied]), np.maximum(listed.a1[tied], listed.a2[tied])
    by = np.lexsort((tied, high, low, place))
    alike = np.all([part[by][1:] == part[by][:-1] for part in (place, low, high)], axis=0)
    other_name = listed.name[tied[by]][1:] != listed.name[tied[by]][:-1]
    twins = np.zeros(count, bool)
    twins[tied[by][1:][alike & other_name]] = True
    if twins.any():
        report.note(
            Code.VARIANT_TWIN,
            "a variant has the position and the alleles of another one, under another ID",
            column=2,
            remedy="Both are tested. Remove one, e.g. with `plink1.9 --list-duplicate-vars`.",
            **listed.examples(twins, lambda row: bytes(listed.name[row])),
        )


def _check_alleles(listed: Listed, report: Report) -> dict[str, Any]:
    kinds = np.array([_kind(allele) for allele in listed.alleles], np.int8)
    one, other = kinds[listed.a1], kinds[listed.a2]
    for k, (_, message, remedy) in enumerate(_KINDS):
        odd = (one == k) | (other == k)
        if odd.any():
            report.warning(
                Code.ALLELE_CODES,
                message,
                expected="A, C, G, T, or a string of these",
                remedy=remedy,
                **listed.examples(odd, listed.pair),
            )
    index = {allele: k for k, allele in enumerate(listed.alleles)}
    unseen = index.get(UNSEEN, -1)
    alone = (listed.a1 == unseen) | (listed.a2 == unseen)
    if 2 * np.count_nonzero(alone) > len(alone):
        report.warning(
            Code.ALLELES_UNSEEN,
            "more than half of the variants have an allele 0: nobody here has a second one",
            remedy="They are matched with the alleles of the other cohorts all the same. But is it the right "
            "file, with all of the cohort's people?",
            **listed.examples(alone, listed.pair),
        )
    other_strand = np.full(len(listed.alleles), -1, np.int32)
    for allele, other in _COMPLEMENT.items():
        if allele in index and other in index:
            other_strand[index[allele]] = index[other]
    longer = np.array([len(allele) > 1 for allele in listed.alleles], bool)
    return {
        "A/T or C/G": _counted(other_strand[listed.a1] == listed.a2),
        "one allele seen": _counted(alone),
        "insertions and deletions": _counted(longer[listed.a1] | longer[listed.a2]),
    }


def _kind(allele: bytes) -> int:
    """Index in _KINDS, or -1 of what an allele should be."""
    if _BASES.fullmatch(allele):
        return -1
    return next(k for k, (pattern, _, _) in enumerate(_KINDS) if pattern.fullmatch(allele))


def _counted(which: np.ndarray) -> str:
    count = int(np.count_nonzero(which))
    return f"{count:,} ({count / max(len(which), 1):.1%})" if count else "0"


def _check_build(listed: Listed, plan: str, report: Report) -> dict[str, Any]:
    """Doubt the plan's build where positions speak for another; and say which one they look like."""
    beyond_of = {build: beyond(listed.chromosome, listed.position, build) for build in ("GRCh37", "GRCh38")}
    looks, wanted = guessed(beyond_of), known_build(plan)
    if all(which.any() for which in beyond_of.values()):
        nowhere = beyond_of["GRCh37"] & beyond_of["GRCh38"]
        _tell_beyond(listed, nowhere if nowhere.any() else beyond_of[wanted or "GRCh38"], report)
    elif wanted is not None and beyond_of[wanted].any():
        report.warning(
            Code.BUILD,
            f"a position lies beyond the end of its chromosome in {wanted}, the plan's build",
            column=listed.position_column,
            expected=f"positions of {wanted}",
            remedy=f"The positions look like {looks}. Variants at another position than in other cohorts are "
            f"left out, so lift them over to {wanted} (UCSC's liftOver), or ask the coordinator.",
            **listed.examples(beyond_of[wanted], listed.place),
        )
    if (build := wanted or looks) is not None and not beyond_of[build].any():
        _check_pseudo_autosomal(listed, build, report)
    return {"build": f"looks like {looks}" if looks else "the positions do not tell"}


def _tell_beyond(listed: Listed, which: np.ndarray, report: Report) -> None:
    report.warning(
        Code.BEYOND_THE_END,
        "a position lies beyond the end of its chromosome",
        column=listed.position_column,
        expected="positions of GRCh37 or GRCh38",
        remedy="Are they human, and is the column the position in base pairs? For another species give "
        "--chr-set.",
        **listed.examples(which, listed.place),
    )


def _check_pseudo_autosomal(listed: Listed, build: str, report: Report) -> None:
    shared = pseudo_autosomal(listed.chromosome, listed.position, build)
    if shared.any():
        report.note(
            Code.PSEUDO_AUTOSOMAL,
            f"a variant of X lies in a pseudoautosomal region ({build}): men are taken to have one copy",
            column=listed.position_column,
            remedy=f"PLINK keeps them apart as XY: `plink1.9 --split-x b{build[-2:]} --make-bed`.",
            **listed.examples(shared, listed.place),
        )
