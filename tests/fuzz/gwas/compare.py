"""The panel, and files that must be PLINK's in every byte."""

from __future__ import annotations

import numpy as np

from . import known
from .ours import Results
from .outcome import Disagreement, Outcome
from .study import Study


def same_panel(study: Study, results: Results, outcome: Outcome) -> None:
    """The agreed panel against docs/panel.md: names, and the alleles that most cohorts have."""
    variants = np.flatnonzero(study.kept).tolist()
    expected = [(str(study.variants.name[k]), *sorted(study.pooled_pair(k)[:2])) for k in variants]
    names = results.panel.name[:].astype(str).tolist()
    pairs = [[allele.decode() for allele in results.panel.pair(k)] for k in range(len(names))]
    found = [(name, *pair) for name, pair in zip(names, pairs, strict=True)]
    if found != expected:
        name = min(set(found) ^ set(expected), default=("the order",))[0]
        ours, theirs = (str([row for row in rows if row[0] == name]) for rows in (found, expected))
        outcome.disagreements.append(Disagreement("panel", "another panel", name, ours, theirs))


def same_bytes(file: str, ours: bytes, theirs: bytes, autosomes: int, outcome: Outcome) -> None:
    """Two reports that must be equal; the first line that is not stands for all."""
    a, b = ours.decode().splitlines(), theirs.decode().splitlines()
    outcome.lines += len(b)
    outcome.identical += sum(x == y for x, y in zip(a, b, strict=False))
    if len(a) != len(b):
        outcome.disagreements.append(_other_lines(file, a, b))
        return
    for x, y in zip(a, b, strict=True):
        if x != y and _is_hwe_on_y(file, x, y, autosomes):
            outcome.rules[known.HWE_ON_Y] += 1
        elif x != y and file == "assoc.adjusted" and _is_of_tie(x, y):
            outcome.rules[known.GC_OF_TIES] += 1
        elif x != y:
            outcome.disagreements.append(Disagreement(file, "another line", y.split()[1], x, y))
            return


def _other_lines(file: str, a: list[str], b: list[str]) -> Disagreement:
    """The first variant that has lines in one report only, or other ones."""
    here, there = ({tuple(line.split()[:3]) for line in lines} for lines in (a, b))
    odd = min(here ^ there, default=("", "", ""))
    ours, theirs = ("\n".join(line for line in lines if tuple(line.split()[:3]) == odd) for lines in (a, b))
    return Disagreement(file, "other lines", odd[1], ours, theirs)


def _is_of_tie(ours: str, theirs: str) -> bool:
    """Tell whether both lines print INF for P, and differ only in the column after it."""
    a, b = ours.split(), theirs.split()
    return a[2] == b[2] == "INF" and [*a[:3], *a[4:]] == [*b[:3], *b[4:]]


def _is_hwe_on_y(file: str, ours: str, theirs: str, autosomes: int) -> bool:
    """Tell whether a line is about cases or controls on Y, and ours says that there is nothing."""
    a, b = ours.split(), theirs.split()
    about = file == "hwe" and a[0] == str(autosomes + 2) and a[2] in ("AFF", "UNAFF")
    return about and a[:5] == b[:5] and a[5:] == ["0/0/0", "nan", "nan", "1"]
