"""Report columns of the chi-square study, from pooled genotype counts by group.

Every count in a report is a sum of genotype counts, each taken 0, 1 or 2 times. The weights depend on the
chromosome and on the group, not on the variant, so all counts of a chunk are one matrix product.

The chromosomes differ as in PLINK 1.9: on X men have one allele and the others two, and the men are not in
the Hardy-Weinberg test; Y is read in men only; on MT the association takes one allele per person, the allele
frequency two, and neither Y nor MT has a Hardy-Weinberg test. Where there is one allele, a heterozygous call
adds nothing to the alleles, but it is no missing call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.kernels.counts import weighted_sums
from unpooled.kernels.statistics import (
    allelic_chi_square,
    chi_square_neg_log10_p,
    hardy_weinberg_p,
    odds_ratio,
)
from unpooled.methods.shared.chunks import DIPLOID, MT, X, Y
from unpooled.methods.shared.groups import CASE, COMPLETE, CONTROL, MEN, NONFOUNDER, UNKNOWN, Group

Columns = dict[str, np.ndarray]
_Weights = dict[str, np.ndarray]

# What a person with two copies of A1, one, none adds to a count.
_TWO_ALLELES = np.array([2, 1, 0])
_ONE_ALLELE = np.array([1, 0, 0])
_CALLED = np.array([1, 1, 1])

_HWE_ROWS = {"all": None, "case": CASE, "control": CONTROL}


@dataclass(frozen=True, eq=False)
class GenotypeTable:
    """Pooled genotype counts of m variants on one class of chromosomes."""

    name: ClassVar[str] = "genotype table"

    counts: np.ndarray
    """int64 (m, groups, 3): people with two copies of the panel's first allele, one, none."""
    groups: tuple[Group, ...]
    people: int
    """Number of people in all groups together."""
    chromosome: str
    """`DIPLOID`, `X`, `Y` or `MT`."""
    files: tuple[str, ...]
    """The reports that are wanted, of `assoc`, `frq`, `lmiss`, `hwe`, and of cases and controls `glm`."""
    hwe_rows: tuple[str, ...] = tuple(_HWE_ROWS)
    """The Hardy-Weinberg tests that are wanted, of `all`, `case`, `control`."""
    halves: bool = False
    """A heterozygous call where there is one copy shows both alleles to `glm`, as to plink2."""

    def take(self, which: np.ndarray) -> GenotypeTable:
        """Select variants: bool (m,)."""
        return replace(self, counts=self.counts[which])

    def frequency_alleles(self) -> tuple[np.ndarray, np.ndarray]:
        """Count the first and the second allele in founders: int64 (m,) each. The rarer is A1."""
        sums = _weighted(self.counts, self._frequency())
        return sums["founder_a1"], sums["founder_a2"]

    def columns(self, first_is_a1: np.ndarray) -> Columns:
        """The result columns. `first_is_a1`, bool (m,): whether the panel's first allele is A1.

        always  first_is_a1
        assoc   case_a1 case_a2 control_a1 control_a2 (alleles), chi_square, neg_log10_p, odds_ratio
        frq     founder_a1 founder_a2 (alleles)
        lmiss   missing (calls), people
        hwe     for G in all, case, control: G_hom_a1 G_het G_hom_a2 (people), G_hwe_p
        glm     common_a1 common_a2: whether cases and controls in the regression both have the allele
        """
        counts = np.where(first_is_a1[:, None, None], self.counts, self.counts[:, :, ::-1])
        reports = {
            "assoc": self._assoc,
            "frq": self._frequency,
            "lmiss": self._called,
            "hwe": self._hwe,
            "glm": self._showing,
        }
        weights: _Weights = {}
        for file in self.files:
            if file in reports:  # another may be written from what there is anyway
                weights |= reports[file]()
        columns = _weighted(counts, weights)
        if "assoc" in self.files:
            columns |= _association(columns)
        if "lmiss" in self.files:
            columns["missing"] = self.people - columns.pop("called")
            columns["people"] = np.full(len(counts), self.people)
        if "hwe" in self.files:
            columns |= {f"{row}_hwe_p": self._hwe_p(columns, row) for row in self.hwe_rows}
        if "glm" in self.files:
            for allele in ("a1", "a2"):
                showing = [columns.pop(f"{phenotype}_{allele}_showing") for phenotype in (CASE, CONTROL)]
                columns[f"common_{allele}"] = np.minimum(*showing) > 0
        return {"first_is_a1": first_is_a1} | {name: _narrow(column) for name, column in columns.items()}

    def _assoc(self) -> _Weights:
        return {
            f"{phenotype}_{allele}": weights
            for phenotype in (CASE, CONTROL)
            for allele, weights in self._alleles(phenotype, mt=_ONE_ALLELE).items()
        }

    def _frequency(self) -> _Weights:
        alleles = self._alleles(None, mt=_TWO_ALLELES)
        founders = np.array([[NONFOUNDER not in group] for group in self.groups], int).reshape(-1, 1)
        return {f"founder_{allele}": weights * founders for allele, weights in alleles.items()}

    def _alleles(self, phenotype: str | None, mt: np.ndarray) -> _Weights:
        """Weights (groups, 3) of both alleles in the groups of one phenotype, or in all."""
        weights = np.zeros((len(self.groups), 3), int)
        for row, group in enumerate(self.groups):
            if phenotype is None or phenotype in group:
                by_class = {DIPLOID: _TWO_ALLELES, MT: mt, Y: _ONE_ALLELE}
                by_class[X] = _ONE_ALLELE if MEN in group else _TWO_ALLELES
                weights[row] = by_class[self.chromosome]
        return {"a1": weights, "a2": weights[:, ::-1]}

    def _called(self) -> _Weights:
        return {"called": np.tile(_CALLED, (len(self.groups), 1))}

    def _hwe(self) -> _Weights:
        weights = {}
        for row in self.hwe_rows:
            phenotype = _HWE_ROWS[row]
            inside = np.array([[self._in_hwe(group, phenotype)] for group in self.groups], int).reshape(-1, 1)
            for genotype, one in zip(("hom_a1", "het", "hom_a2"), np.eye(3, dtype=int), strict=True):
                weights[f"{row}_{genotype}"] = inside * one
        return weights

    def _showing(self) -> _Weights:
        """Weights (groups, 3) of who shows each allele, of cases and of controls in the regression."""
        weights: _Weights = {}
        for phenotype in (CASE, CONTROL):
            a1 = np.zeros((len(self.groups), 3), int)
            for row, group in enumerate(self.groups):
                # People of unknown sex are apart only to be left out.
                if {COMPLETE, phenotype} <= set(group) and UNKNOWN not in group:
                    single = self.chromosome in (Y, MT) or (self.chromosome == X and MEN in group)
                    a1[row] = [1, self.halves or not single, 0]
            weights |= {f"{phenotype}_a1_showing": a1, f"{phenotype}_a2_showing": a1[:, ::-1]}
        return weights

    def _in_hwe(self, group: Group, phenotype: str | None) -> bool:
        return (
            NONFOUNDER not in group
            and phenotype in (None, *group)
            and self.chromosome != Y
            and not (self.chromosome == X and MEN in group)
        )

    def _hwe_p(self, columns: Columns, row: str) -> np.ndarray:
        if self.chromosome == MT:
            return np.full(len(self.counts), np.nan)
        genotypes = (columns[f"{row}_{genotype}"] for genotype in ("het", "hom_a1", "hom_a2"))
        return np.asarray(hardy_weinberg_p(*genotypes))


def _association(columns: Columns) -> Columns:
    table = [columns[name] for name in ("case_a1", "case_a2", "control_a1", "control_a2")]
    chi_square = allelic_chi_square(*table)
    return {
        "chi_square": chi_square,
        "neg_log10_p": chi_square_neg_log10_p(chi_square),
        "odds_ratio": odds_ratio(*table),
    }


def _weighted(counts: np.ndarray, weights: _Weights) -> Columns:
    """Compute, for each name, the weighted sum of the counts (m, groups, 3): int64 (m,)."""
    cells = counts.shape[1] * counts.shape[2]
    matrix = np.array(list(weights.values()), np.int64).reshape(len(weights), cells)
    return dict(zip(weights, weighted_sums(counts.reshape(len(counts), cells), matrix), strict=True))


def _narrow(column: np.ndarray) -> np.ndarray:
    return column.astype(np.int32) if column.dtype == np.int64 else column
