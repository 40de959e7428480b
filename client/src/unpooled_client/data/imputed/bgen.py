"""BGEN, read by the package `bgen` in pieces: dosages as `plink2 --bgen … ref-first` takes them.

The first allele is REF. A dosage is the file's whole number of 1/255 (8 bits) or 1/65535 (16 bits) of a copy,
rounded to 1/16384 as plink2 rounds it (tried with v2.00a3.5, all pairs of 8 bits): what is just above a half
goes down. Phase is passed over; someone who has one allele has it twice. In BGEN 1.1 the three probabilities
need not add up to 1: then a dosage is over their sum, and a half goes to the even number. Each of several
alternate alleles, which plink2 does not read, has the dosage that it would have alone
(`unpooled_client.data.plink.split`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unpooled.errors import DataProblem
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled_client.data.imputed.pieces import Piece, Progress, Row, at_once, line_of, pieces_of, readable
from unpooled_client.data.plink.imputation import in_units, r2_of

if TYPE_CHECKING:
    from bgen import BgenReader
    from bgen.reader import BgenVar

_FIRST_LAYOUT = 1
"""Layout of BGEN 1.1; that of 1.2 and 1.3 is 2."""
_UNITS = (255, 65535)
"""Largest stored value of a probability at 8 and at 16 bits; the package returns value / largest in single
precision.
"""
_NEAR, _APART = 2**-23, 2**-18
"""Error of single precision for each allele, since the last probability is 1 minus the others; and what is
still far below the distance of two numbers of 16 bits.
"""

_READS = "BGEN 1.1, 1.2 or 1.3", "Copy it again"
"""Formats that are read here, and what to do with a file that cannot be."""

PLOIDY = "genotypes of more than two alleles"


@dataclass(frozen=True)
class BgenFile:
    """A BGEN whose header was read."""

    path: Path
    people: tuple[str, ...]
    """None if the file does not name them."""
    samples: int
    count: int
    is_phased: bool
    """The first variant is."""
    layout: int

    @property
    def lacks_quality(self) -> str:
        return "" if self.is_phased else "its probabilities are not phased"

    def rows(self, progress: Progress) -> int:
        """Count the alternate alleles. DataProblem if the header says another number of variants."""
        if self.layout == _FIRST_LAYOUT:
            return self.count
        count = rows = 0
        with readable(self.path, *_READS):
            for count, variant in enumerate(_opened(self.path), 1):
                rows += max(1, len(variant.alleles) - 1)
                if count % 100_000 == 0:
                    progress(count, 0)
        if count != self.count:
            raise DataProblem(
                f"the file has {'more' if count > self.count else 'fewer'} variants than its header says",
                file=self.path,
                remedy=f"It says {self.count:,}. Copy the file again.",
            )
        return rows

    def pieces(self, notes: Counter[str]) -> Iterator[Piece]:
        """All variants in their order; `notes` counts what was odd."""
        with readable(self.path, *_READS):
            rows = (self._row(variant, notes) for variant in _opened(self.path))
            yield from pieces_of(rows, at_once(self.samples))

    def _row(self, variant: BgenVar, notes: Counter[str]) -> Row:
        ref, *alt = variant.alleles
        name = variant.rsid or variant.varid
        line = line_of(self.path, variant.chrom, variant.pos, name, ref, alt)
        unknown = np.full(max(1, len(alt)), np.nan)
        if not alt:
            return line, np.full((1, self.samples), NO_DOSAGE, np.uint16), unknown
        if self.layout == _FIRST_LAYOUT:
            return line, _of_first_layout(variant.probabilities)[None], unknown
        probabilities, ploidy = variant.probabilities.astype(np.float64), variant.ploidy
        units, top = _in_units(probabilities, len(alt) + 1)
        copies_of = _of_haplotypes if variant.is_phased else _of_genotypes
        each = [copies_of(units, top, ploidy == 1, allele, len(alt) + 1) for allele in range(1, 1 + len(alt))]
        copies = np.array([one for one, _ in each])
        is_odd = (ploidy < 1) | (ploidy > 2)
        missing = np.isnan(copies) | is_odd
        notes[PLOIDY] += int(np.count_nonzero(is_odd & ~np.isnan(copies[0])))
        rounded = (np.where(missing, 0, copies) * COPY + (top // 2 - 1 if top > 1 else 0.5)) // top
        dosages = np.where(missing, NO_DOSAGE, rounded).astype(np.uint16)
        return line, dosages, np.array([quality for _, quality in each])


def _of_haplotypes(
    units: np.ndarray, top: int, single: np.ndarray, allele: int, alleles: int
) -> tuple[np.ndarray, float]:
    """Copies of an allele, in units, (n,), and its quality of imputation: by the alleles of haplotypes."""
    first = units[:, allele]
    second = units[:, alleles + allele] if units.shape[1] > alleles + allele else np.zeros_like(first)
    one, other = in_units(first / top, np.where(single, first, second) / top)
    quality = float(r2_of(one, np.where(single, np.nan, other)))
    return np.where(single, 2 * first, first + second), quality


def _of_genotypes(
    units: np.ndarray, top: int, single: np.ndarray, allele: int, alleles: int
) -> tuple[np.ndarray, float]:
    """The same, by genotypes: 0/0, 0/1, 1/1, 0/2, 1/2, 2/2; of who has one allele, by alleles. No quality."""
    genotypes = [(j, k) for k in range(alleles) for j in range(k + 1)]
    copies = np.zeros(len(units))
    for place, genotype in enumerate(genotypes[: units.shape[1]]):
        if allele in genotype:
            copies += genotype.count(allele) * units[:, place]
    return np.where(single, 2 * units[:, allele], copies), np.nan


def _of_first_layout(probabilities: np.ndarray) -> np.ndarray:
    """Dosages of ALT in BGEN 1.1, uint16 (n,): missing where all three probabilities are 0."""
    _, one, two = probabilities.astype(np.float64).T
    total = probabilities.sum(axis=1, dtype=np.float64)
    known = total > 0
    dosages = np.rint((one + 2 * two) * COPY / np.where(known, total, 1))
    return np.where(known, dosages, NO_DOSAGE).astype(np.uint16)


def _in_units(probabilities: np.ndarray, alleles: int) -> tuple[np.ndarray, int]:
    """The numbers that stand in the file, and how many make a whole: 1 where it has neither 8 nor 16 bits."""
    for top in _UNITS:
        units = np.rint(probabilities * top)
        if np.nanmax(np.abs(units - probabilities * top), initial=0) < top * min(_NEAR * alleles, _APART):
            return units, top
    return probabilities, 1


def _opened(path: Path) -> BgenReader:
    from bgen import BgenReader

    return BgenReader(path, delay_parsing=True)


def open_bgen(path: Path) -> BgenFile:
    """The file, by its header. DataProblem if it cannot be read; ImportError without the package `bgen`."""
    import bgen  # noqa: F401

    with readable(path, *_READS):
        file = _opened(path)
        header = file.header
        people = tuple(file.samples) if header.has_sample_ids else ()
        is_phased = header.nvariants > 0 and next(iter(file)).is_phased
        return BgenFile(path, people, header.nsamples, header.nvariants, is_phased, header.layout)
