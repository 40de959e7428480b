"""PLINK 1.9's `.clumped`: lead variants, each with those that go with it.

A lead's clump are the variants near it whose r² with it is above the plan's and that no stronger lead has.
The P that decides is the one that reports print, in four digits, as PLINK reads it from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats.adjusted import reported
from unpooled.formats.number import number_text
from unpooled.formats.plink import Variants
from unpooled.kernels.elementary import exp, log
from unpooled.kernels.statistics import normal_tail, t_tail
from unpooled.panel.panel import Panel

Floats = NDArray[np.float64]

_BOUNDS = (0.05, 0.01, 0.001, 0.0001)
_TITLES = ("NSIG", "S05", "S01", "S001", "S0001")
"""Titles of the numbers of variants with P of at least the first bound, below it, and so on."""
_FILE = 1
"""PLINK clumps several reports together, and numbers them."""


def printed(rows: Arrays, part: NDArray[np.integer] | slice = slice(None)) -> Floats:
    """-log10 of P as a report prints it; NaN where it prints none."""
    found = reported(rows, "neg_log10_p", part) if "code" in rows else rows["neg_log10_p"][part]
    return of_printed_log(np.asarray(found, np.float64))


def of_printed_log(neg_log10_p: Floats) -> Floats:
    """-log10 P rounded to the P of four digits, with the same bits on every machine."""
    known = np.isfinite(neg_log10_p)
    size = np.where(known, neg_log10_p, 0)
    exponent = np.ceil(size)
    mantissa = np.round(exp((exponent - size) * _LOG_10), 3)
    return np.where(known, exponent - _log10(mantissa), np.nan)


def of_printed(p: float) -> float:
    """-log10 of a limit, with room for the last bit."""
    return float(-_log10(np.array([p]))[0]) - 1e-12 if p > 0 else np.inf


def _log10(values: Floats) -> Floats:
    return np.asarray(log(values) / log(np.array([10.0])))  # so that of 10 it is 1


_LOG_10 = 2.302585092994046


def printed_tail(rows: Arrays, part: NDArray[np.integer]) -> Floats:
    """`printed` of variants with a P of 0.06 or less, with the same bits on every machine."""
    if "chi_square" in rows:
        return of_printed_log(normal_tail(np.sqrt(rows["chi_square"][part])))
    ratio = reported(rows, "beta", part) / reported(rows, "se", part)
    has_freedom = "freedom" in rows
    return of_printed_log(t_tail(ratio, rows["freedom"][part]) if has_freedom else normal_tail(ratio))


def is_above(r2: Floats, limit: float) -> NDArray[np.bool_]:
    """Tell whether two variants belong to one clump: bool (k,)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(r2 > limit)


@dataclass(frozen=True, eq=False)
class Clump:
    """A lead variant and those that go with it, in the order of the panel."""

    lead: int
    neg_log10_p: float
    """-log10 P of the lead."""
    members: NDArray[np.uint32]
    members_neg_log10_p: Floats


def clumps(rows: Arrays, r2: float) -> Iterator[Clump]:
    """All clumps, the strongest first.

    `r2` is the limit of linkage. `rows` are a lead and a variant near it each, the lead itself first:
    `variant`, `other`, `r2`, and `neg_log10_p` of the other.
    """
    lead, other, size = rows["variant"], rows["other"], rows["neg_log10_p"]
    firsts = np.flatnonzero(lead == other)
    ends = np.append(firsts[1:], len(lead))
    near = is_above(rows["r2"], r2) & ~np.isnan(size)
    taken = np.zeros(0, np.uint32)
    for k in np.lexsort([lead[firsts], -size[firsts]]).tolist():
        start = int(firsts[k])
        if np.isin(lead[start], taken):
            continue  # one whose sums no cohort is told was not known to be in a clump
        others = np.arange(start + 1, int(ends[k]))
        members = others[near[others] & ~np.isin(other[others], taken)]
        taken = np.union1d(taken, [lead[start], *other[members]])
        yield Clump(int(lead[start]), float(size[start]), other[members], size[members])


def write_clumped(file: BinaryIO, panel: Panel, rows: Arrays, p2: float, r2: float) -> None:
    """`.clumped`, the same in every byte where no call is missing.

    `p2` and `r2` are PLINK's limits, below which a variant is named, and above which it is of a clump.
    """
    width = Variants(panel, rows).width
    titles = " ".join(f"{title:>6}" for title in _TITLES)
    file.write(f" CHR    F {'SNP':>{width}}         BP        P    TOTAL {titles}    SP2\n".encode())
    for clump in clumps(rows, r2):
        file.write(_line(clump, panel, p2, width))
    file.write(b"\n\n")


def _line(clump: Clump, panel: Panel, p2: float, width: int) -> bytes:
    below = [np.count_nonzero(_is_below(clump.members_neg_log10_p, bound)) for bound in _BOUNDS]
    counts = -np.diff([len(clump.members), *below, 0])
    named = panel.name[clump.members[_is_below(clump.members_neg_log10_p, p2)]].tolist()
    numbers = [
        f"{panel.chromosome[clump.lead]:>4}",
        f"{_FILE:>4}",
        f"{_decoded(panel.name[clump.lead]):>{width}}",
        f"{panel.position[clump.lead]:>10}",
        number_text(float(number_text(10.0**-clump.neg_log10_p)), digits=3, width=10),
        f"{len(clump.members):>8}",
        *(f"{count:>6}" for count in counts),
        ",".join(f"{_decoded(name)}({_FILE})" for name in named) or "NONE",
    ]
    return " ".join(numbers).encode("utf-8", "surrogateescape") + b"\n"


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _is_below(neg_log10_p: Floats, p: float) -> NDArray[np.bool_]:
    return np.asarray(neg_log10_p > of_printed(p) + 2e-12)
