"""Interface through which algorithms read a cohort's data. Readers of files, and tests, implement it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.plan.categories import Words

UNKNOWN_SEX, MALE, FEMALE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Samples:
    """The n samples of a cohort, in the order of its .fam file."""

    phenotype: np.ndarray
    """float64 (n,); NaN is missing; for case/control 1 is a case and 0 a control."""
    sex: np.ndarray
    """uint8 (n,): 1 male, 2 female, 0 unknown."""
    founder: np.ndarray
    """bool (n,): neither parent is named."""
    kept: np.ndarray
    """bool (n,): False for a sample that was removed and counts nowhere."""
    covariates: np.ndarray
    """float64 (n, c); NaN is missing."""
    unlisted: np.ndarray | None = None
    """bool (n,): lacks its covariates since the file of covariates does not name it; None if it names all."""
    further: tuple[np.ndarray, ...] = ()
    """The other phenotypes of a study of several, each as `phenotype`."""

    def __len__(self) -> int:
        return len(self.phenotype)

    @property
    def phenotypes(self) -> tuple[np.ndarray, ...]:
        return (self.phenotype, *self.further)

    def with_covariates(self, further: np.ndarray) -> Samples:
        """The same people with further covariates behind the others: float64 (n, k)."""
        return replace(self, covariates=np.column_stack([self.covariates, further]))

    def with_phenotypes(self, columns: np.ndarray) -> Samples:
        """The same people with other values of the phenotypes: float64 (n, phenotypes)."""
        first, *further = np.ascontiguousarray(columns.T)
        return replace(self, phenotype=first, further=tuple(further))

    def of_phenotype(self, number: int) -> Samples:
        """The same people with one of the phenotypes only."""
        return replace(self, phenotype=self.phenotypes[number], further=())


@dataclass(frozen=True, eq=False)
class Packed:
    """Genotypes of m variants as PLINK packs them, two bits a sample."""

    words: np.ndarray
    """uint64 (m, ceil(n/32)), sample 0 in the lowest bits: 00 homozygous for the file's A1, 01 missing,
    10 heterozygous, 11 homozygous for A2. What pads the last word is arbitrary."""
    swapped: np.ndarray
    """bool (m,): the file's A1 is the *second* allele of the panel."""


ALL_MISSING = 0x5555555555555555
"""A word of genotypes without a call."""


@dataclass(frozen=True, eq=False)
class Dosages:
    """Allele copies of n people at m variants, as far as imputation can tell them."""

    values: np.ndarray
    """uint16 (m, n): copies of the file's A1, each of them `COPY`: 0 to 2 COPY; NO_DOSAGE is missing."""
    swapped: np.ndarray
    """bool (m,): as in `Packed`."""


def dosages_of(packed: Packed, people: int) -> Dosages:
    """The dosages of so many people of whom there are calls only: whole copies."""
    fours = packed.words.astype("<u8", copy=False).view(np.uint8)[:, : -(-people // 4)]
    values = _FOUR_DOSAGES[fours].view(np.uint16)[:, :people]
    return Dosages(values, packed.swapped)


_OF_CODES = np.array([2 * COPY, NO_DOSAGE, COPY, 0], np.uint16)
# Of the four calls in each byte, as one number: a row is looked up four people at a time.
_FOUR_DOSAGES = _OF_CODES[np.arange(256)[:, None] >> np.arange(0, 8, 2) & 3].view(np.uint64)[:, 0]

AT_ONCE = 1 << 23
"""Bytes of genotypes that a question is answered from at once: it may be about more than fit memory."""


def blocks(variants: int, samples: int) -> Iterator[slice]:
    """So many variants in stretches whose packed genotypes take at most `AT_ONCE` bytes."""
    rows = max(1, AT_ONCE // max(1, samples // 4))
    for start in range(0, variants, rows):
        yield slice(start, min(start + rows, variants))


class Cohort(Protocol):
    """One cohort's data, aligned with the panel of its study."""

    @property
    def samples(self) -> Samples: ...

    def packed(self, variants: slice | np.ndarray) -> Packed:
        """The genotypes of some variants, by panel index."""

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        """Their dosages; where there are calls only, these."""


@dataclass(frozen=True, eq=False)
class WithSamples:
    """A cohort whose people are known otherwise: with other covariates, or one phenotype of several."""

    cohort: Cohort
    samples: Samples

    def packed(self, variants: slice | np.ndarray) -> Packed:
        return self.cohort.packed(variants)

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        return self.cohort.dosages(variants)


FURTHER_COVARIATES = "covariates"
"""Name of what a cohort derives that becomes its people's last covariates: scores of principal components."""

NORMAL_SCORES = "normal scores"
"""Name of what a cohort derives that takes the place of its people's phenotypes."""


@dataclass(frozen=True, eq=False)
class Extended(WithSamples):
    """A cohort with what it has derived from its data."""

    derived: Mapping[str, np.ndarray]
    """float64 (n, k) each, by name."""

    @classmethod
    def of(cls, cohort: Cohort, derived: Mapping[str, np.ndarray]) -> Extended:
        """Extend a cohort by these columns, float64 (n, k) of each name."""
        samples = cohort.samples
        if FURTHER_COVARIATES in derived:
            samples = samples.with_covariates(derived[FURTHER_COVARIATES])
        if NORMAL_SCORES in derived:
            samples = samples.with_phenotypes(derived[NORMAL_SCORES])
        return cls(cohort, samples, derived)

    def with_derived(self, name: str, columns: np.ndarray) -> Extended:
        """The cohort with this, too."""
        return self.of(self.cohort, {**self.derived, name: columns})


def derived(cohort: Cohort, name: str) -> np.ndarray:
    """Return what a cohort has derived under this name, float64 (n, k); ProtocolError if it has not."""
    known = cohort.derived if isinstance(cohort, Extended) else {}
    if name not in known:
        raise ProtocolError(f"this cohort keeps no {name} of the study, which earlier questions were to make")
    return known[name]


class Table(Protocol):
    """One cohort's data in a study of tables."""

    @property
    def values(self) -> np.ndarray:
        """float64 (n, c): n rows, and the plan's features in its order; NaN is missing, the rest finite."""

    @property
    def categories(self) -> Categories:
        """The columns of words that have a dictionary, as the plan reads them."""


@dataclass(frozen=True, eq=False)
class Categories:
    """The d columns of words of a table that have a dictionary; t of them are encoded by a target."""

    levels: np.ndarray
    """int64 (n, d): which of the plan's levels of the column; their number for any other word. -1 counts
    nowhere: the word is missing, or the target of it. Of a searched column, whose words the plan does not
    know, which of the m different words of this table; m for the rest, m + 1 for a missing word that
    counts."""
    targets: np.ndarray
    """float64 (n, t): the target of each row, NaN where it counts nowhere."""
    folds: np.ndarray
    """int64 (n,): the fold of each row, from 0; all 0 without folds."""
    searched: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The different words of each searched column, in the form in which words are compared."""
    codes: Mapping[int, np.ndarray] = field(default_factory=dict)
    """Their codes, uint64 (m,), once they are known."""

    @classmethod
    def none(cls, rows: int) -> Categories:
        return cls(np.zeros((rows, 0), np.int64), np.zeros((rows, 0)), np.zeros(rows, np.int64))


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A table in memory: what a reader of files makes, and notebooks and tests."""

    values: np.ndarray
    """float64 (n, c), as in `Table`."""
    words: Mapping[str, Words] = field(default_factory=dict)
    """Columns of words by title, where they were read."""
    coded: Categories | None = None
    """Values of `words` as the plan reads them, in a study of encodings."""
    images: np.ndarray | None = field(default=None, repr=False)
    """uint8 (n, channels, rows, columns): the image of each row, in a study of images."""
    secret: bytes = field(default=b"", repr=False)
    """The cohort's own, by which rows are drawn; empty where no question is answered by chance."""

    @property
    def categories(self) -> Categories:
        return Categories.none(len(self.values)) if self.coded is None else self.coded


@dataclass(frozen=True, eq=False)
class ArrayCohort:
    """A cohort in memory, for notebooks and tests."""

    samples: Samples
    genotypes: np.ndarray
    """int8 (m, n): copies of the panel's first allele, 0, 1 or 2; -1 is missing."""
    swapped: np.ndarray
    """bool (m,): as in `Packed`; only which allele a file would have called A1."""
    imputed: np.ndarray | None = None
    """uint16 (m, n): dosages of the panel's first allele, as in `Dosages`; None if there are calls only."""

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        if self.imputed is None:
            return dosages_of(self.packed(variants), len(self.samples))
        of_first, swapped = self.imputed[variants], self.swapped[variants]
        turned = swapped[:, None] & (of_first != NO_DOSAGE)
        return Dosages(np.where(turned, 2 * COPY - of_first, of_first).astype(np.uint16), swapped)

    def packed(self, variants: slice | np.ndarray) -> Packed:
        copies, swapped = self.genotypes[variants], self.swapped[variants]
        of_a1 = np.where(swapped[:, None] & (copies >= 0), 2 - copies, copies)
        code = np.array([3, 2, 0, 1], np.uint64)[of_a1]  # 0, 1, 2 copies of A1, and -1
        wide = np.zeros((len(code), -(-code.shape[1] // 32) * 32), np.uint64)
        wide[:, : code.shape[1]] = code
        shifts = 2 * np.arange(32, dtype=np.uint64)
        return Packed(np.bitwise_or.reduce(wide.reshape(len(code), -1, 32) << shifts, axis=2), swapped)
