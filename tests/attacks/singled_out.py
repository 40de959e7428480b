"""Cohorts in which some people are the only ones of their kind: sums over such people are their data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.panel.panel import Panel

from ..plinks import write_bed

COHORTS, PEOPLE = 3, 60
AUTOSOMAL, ON_X = 60, 10
MAN, NONFOUNDER, INCOMPLETE = 0, 1, 2
"""The one man, the one nonfounder, and the one who lacks many calls."""
LACKED = slice(20, 45)
"""Variants of which INCOMPLETE has no call."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Everybody; the people above are of the first cohort."""

    prefixes: tuple[Path, ...]
    copies: np.ndarray
    """int8 (variants, people): copies of the first allele, -1 for no call."""
    phenotype: np.ndarray

    def counts(self, variants: slice | list[int]) -> np.ndarray:
        """Count the people with two copies, one, none: int64 (variants, 3)."""
        return np.stack([(self.copies[variants] == k).sum(axis=1) for k in (2, 1, 0)], axis=1)


def write(folder: Path, *, quantitative: bool = False) -> Pool:
    random = np.random.default_rng(23)
    copies = random.integers(0, 3, (AUTOSOMAL + ON_X, COHORTS * PEOPLE)).astype(np.int8)
    copies[AUTOSOMAL:, MAN] = 2  # with one copy nobody is heterozygous
    copies[LACKED, INCOMPLETE] = -1
    people = copies.shape[1]
    values = random.normal(size=people).round(6) if quantitative else random.permutation(people) % 2 + 1
    phenotype = np.asarray(values, float)
    prefixes = tuple(folder / f"cohort{number}" for number in range(COHORTS))
    for number, prefix in enumerate(prefixes):
        own = slice(number * PEOPLE, (number + 1) * PEOPLE)
        _write_one(prefix, copies[:, own], phenotype[own], first=own.start)
    return Pool(prefixes, copies, phenotype)


def list_of(start: int, stop: int) -> Panel:
    """Some of the variants, as a list of its own."""
    return Panel.of([(1, 100 + k, f"rs{k}".encode(), b"A", b"C") for k in range(start, stop)])


def _write_one(prefix: Path, copies: np.ndarray, phenotype: np.ndarray, first: int) -> None:
    variants = len(copies)
    chromosome = np.where(np.arange(variants) < AUTOSOMAL, 1, 23)
    prefix.with_suffix(".bim").write_text(
        "".join(f"{chromosome[k]}\trs{k}\t0\t{100 + k}\tA\tC\n" for k in range(variants))
    )
    with prefix.with_suffix(".fam").open("w") as fam:
        for k, value in enumerate(phenotype, start=first):
            parents, sex = "D M" if k == NONFOUNDER else "0 0", 1 if k == MAN else 2
            fam.write(f"F{k} I{k} {parents} {sex} {value:.12g}\n")
    write_bed(prefix, copies)
