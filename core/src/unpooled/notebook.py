"""A cohort in a notebook: genotypes that xarray holds, which Dask may still have to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled.asking.cohort import FEMALE, MALE, UNKNOWN_SEX, Dosages, Packed, Samples
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.kernels.packing import MISSING, pack_copies
from unpooled.panel.agreement import align
from unpooled.panel.alleles import capital
from unpooled.panel.chromosomes import HUMAN, chromosome_code
from unpooled.panel.panel import Panel

NEAR_A_CALL = 0.1
"""Maximum distance between a dosage and the whole number it is called as, plink2's default."""

_SEXES = {"1": MALE, "M": MALE, "2": FEMALE, "F": FEMALE}


@dataclass(frozen=True, eq=False)
class Cohort:
    """People and variants, before there is a panel."""

    samples: Samples
    panel: Panel
    """The cohort's own list of variants."""
    genotypes: Any
    """An `xarray.DataArray`, (sample, variant): copies of its `a1`, NaN for a missing call."""
    column: np.ndarray
    """int64 (m,): place of each variant of the panel in `genotypes`."""
    a0_is_first: np.ndarray
    """bool (m,): `a0`, which is what a .bed calls A1, is the panel's first allele."""

    @classmethod
    def from_xarray(
        cls,
        genotypes: Any,
        phenotype: np.ndarray,
        covariates: np.ndarray | None = None,
        *,
        autosomes: int = HUMAN,
    ) -> Cohort:
        """A cohort from what `pandas_plink.read_plink1_bin` gives, or from any array of the same form.

        `genotypes` is (sample, variant), copies of a1, and has the coordinates chrom, pos, snp, a0 and a1 of
        the variants and gender, father and mother of the people. `phenotype` is float64 (n,), 1 for a case
        and 0 for a control if it is one of these, and `covariates` float64 (n, c); NaN is missing. Variants
        on chromosomes that no study has are left out. ValueError if the people are not as many everywhere.
        """
        people = len(genotypes)
        if len(phenotype) != people or (covariates is not None and len(covariates) != people):
            raise ValueError(f"the genotypes are of {people} people; phenotype and covariates must be, too")

        def words(name: str) -> list[str]:
            return [str(word) for word in genotypes.coords[name].values.tolist()]

        code = [chromosome_code(word, autosomes) for word in words("chrom")]
        names, positions = words("snp"), genotypes.coords["pos"].values.tolist()
        a0, a1 = ([capital(word.encode()) for word in words(name)] for name in ("a0", "a1"))
        # In the panel's order, so that its variants stay beside their columns.
        column = sorted(
            (k for k, chromosome in enumerate(code) if chromosome is not None),
            key=lambda k: (code[k], positions[k], names[k].encode()),
        )
        panel = Panel.of((code[k] or 0, positions[k], names[k].encode(), a0[k], a1[k]) for k in column)
        is_first = np.array([a0[k] <= a1[k] for k in column], bool)
        samples = Samples(
            np.asarray(phenotype, np.float64),
            np.array([_SEXES.get(word, UNKNOWN_SEX) for word in words("gender")], np.uint8),
            np.array(
                [pair == ("0", "0") for pair in zip(words("father"), words("mother"), strict=True)], bool
            ),
            np.ones(people, bool),
            np.zeros((people, 0)) if covariates is None else np.asarray(covariates, np.float64),
        )
        return cls(samples, panel, genotypes, np.array(column, np.int64), is_first)

    def align(self, panel: Panel) -> AlignedCohort:
        """The cohort as a study with this panel asks it, for `unpooled.run.run`."""
        alignment = align(panel, self.panel, self.a0_is_first)
        column = np.where(alignment.index >= 0, self.column[alignment.index.clip(0)], -1)
        return AlignedCohort(self.samples, self.genotypes, column, alignment.swapped)


@dataclass(frozen=True, eq=False)
class AlignedCohort:
    """An `unpooled.asking.cohort.Cohort` whose genotypes are read as they are asked for."""

    samples: Samples
    genotypes: Any
    column: np.ndarray
    """int64 (m,): place of each of the panel's variants in `genotypes`; -1 where the cohort has none."""
    swapped: np.ndarray
    """bool (m,): `a0` is the panel's second allele."""

    def packed(self, variants: slice | np.ndarray) -> Packed:
        """The genotypes of some variants, by panel index."""
        found = self._copies(variants)
        copies = np.zeros((len(found), -(-found.shape[1] // 32) * 32), np.int8)
        near = np.abs(found - np.rint(found)) <= NEAR_A_CALL
        copies[:, : found.shape[1]] = np.where(near, np.nan_to_num(np.rint(found)), MISSING)
        return Packed(pack_copies(copies), self.swapped[variants])

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        found = self._copies(variants)
        values = np.where(np.isnan(found), NO_DOSAGE, np.rint(np.nan_to_num(found) * COPY))
        return Dosages(values.astype(np.uint16), self.swapped[variants])

    def _copies(self, variants: slice | np.ndarray) -> np.ndarray:
        """Copies of `a0` of some variants, float64 (k, n); NaN is missing."""
        column = self.column[variants]
        there = np.flatnonzero(column >= 0)
        found = np.full((len(column), len(self.samples)), np.nan)
        found[there] = 2 - np.asarray(self.genotypes[:, column[there]].values, np.float64).T
        return found
