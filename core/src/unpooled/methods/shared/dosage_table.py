"""The pool's sums of dosages by group, and what follows from them as plink2 computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.kernels.dosages import COPY, NO_DOSAGE, count_dosages
from unpooled.methods.shared.chunks import DIPLOID, X, Y
from unpooled.methods.shared.groups import CASE, COMPLETE, CONTROL, MEN, NONFOUNDER, UNKNOWN, Group, members


@dataclass(frozen=True, eq=False)
class DosageTable:
    """Sums of dosages of m variants on one class of chromosomes, by group of people."""

    name: ClassVar[str] = "dosage table"

    counts: np.ndarray
    """int64 (m, groups, 3): people with a dosage, copies of the panel's first allele that they have in units
    of 1 / `COPY`, and the squares of these numbers. Or (m, groups, 5): of copies up to one the same two sums,
    too."""
    groups: tuple[Group, ...]
    chromosome: str
    """Class of chromosomes, as in `GenotypeTable`."""

    def take(self, which: np.ndarray) -> DosageTable:
        """Select variants: bool (m,), or their places."""
        return replace(self, counts=self.counts[which])

    def frequency_alleles(self) -> tuple[np.ndarray, np.ndarray]:
        """Sum the copies of the first and of the second allele in founders: int64 (m,) each, in one unit.

        As in plink2 men have one copy on X, half of what their dosage says.
        """
        found = np.zeros((2, len(self.counts)), np.int64)
        for k, group in enumerate(self.groups):
            if NONFOUNDER not in group:
                people, dosages = self.counts[:, k, :2].T
                halves = 1 if self.chromosome == X and MEN in group else 2
                found += halves * np.array([dosages, 2 * COPY * people - dosages])
        return found[0], found[1]

    def mach_r2(self) -> np.ndarray:
        """Imputation quality of founders, float64 (m,): NaN on X and MT, and where it is 0/0.

        On Y it is half of what it would be elsewhere, as in plink2, which halves dosages there.
        """
        founders = [NONFOUNDER not in group for group in self.groups]
        people, dosages, squares = self.counts[:, founders, :3].sum(axis=1, dtype=np.int64).T
        found = mach_r2(people, dosages / COPY, squares / COPY**2)
        return found * {DIPLOID: 1.0, Y: 0.5}.get(self.chromosome, np.nan)

    def columns(self, first_is_a1: np.ndarray) -> dict[str, np.ndarray]:
        """The result columns; bool (m,) says whether the panel's first allele is A1.

        Of cases and controls also `common_a1` and `common_a2`, as of `GenotypeTable`.
        """
        found = {"first_is_a1": first_is_a1}
        first, second = (self._common(turned) for turned in (False, True))
        if first is not None and second is not None:
            found["common_a1"] = np.where(first_is_a1, first, second)
            found["common_a2"] = np.where(first_is_a1, second, first)
        return found

    def _common(self, second: bool) -> np.ndarray | None:
        """Mark the variants whose allele both cases and controls in the regression have: bool (m,). None
        without cases.
        """
        shown = []
        for phenotype in (CASE, CONTROL):
            inside = [{COMPLETE, phenotype} <= set(group) and UNKNOWN not in group for group in self.groups]
            people, dosages = self.counts[:, inside, :2].sum(axis=1, dtype=np.int64).T
            shown.append((2 * COPY * people - dosages if second else dosages) > 0)
        return np.minimum(*shown) if any(CASE in group for group in self.groups) else None


def counted(cohort: Cohort, variants: slice | np.ndarray, groups: Sequence[Group]) -> np.ndarray:
    """Count the people with a dosage in each group, and sum their dosages of the panel's first allele and the
    squares of these, in units of 1 / `COPY` and its square: int64 (m, groups, 3).
    """
    found = cohort.dosages(variants)
    people, sums, squares = np.moveaxis(count_dosages(found.values, _inside(cohort, groups)), -1, 0)
    # Of the other allele: 2 - d each, and 4 - 4 d + d^2.
    turned, both = found.swapped[:, None], 2 * COPY
    return np.stack(
        [
            people,
            np.where(turned, both * people - sums, sums),
            np.where(turned, both**2 * people - 2 * both * sums + squares, squares),
        ],
        axis=-1,
    )


def counted_up_to_one(cohort: Cohort, variants: slice | np.ndarray, groups: Sequence[Group]) -> np.ndarray:
    """Sum copies up to one, and their squares, as `counted` sums all: int64 (m, groups, 2)."""
    found = cohort.dosages(variants)
    has_one = found.values != NO_DOSAGE
    of_first = np.where(found.swapped[:, None], 2 * COPY - found.values.astype(np.int64), found.values)
    values = np.where(has_one, np.minimum(of_first, COPY), NO_DOSAGE).astype(np.uint16)
    return count_dosages(values, _inside(cohort, groups))[..., 1:]


def _inside(cohort: Cohort, groups: Sequence[Group]) -> np.ndarray:
    """Mark the people of each group: bool (groups, n)."""
    inside = [members(group, cohort.samples) for group in groups]
    return np.array(inside, bool).reshape(len(inside), len(cohort.samples))


def nearest(cohort: Cohort, variants: slice | np.ndarray, groups: Sequence[Group]) -> np.ndarray:
    """People of each group whose dosage of the panel's first allele is nearest to two, one and no copies:
    int64 (m, groups, 3)."""
    return nearest_in(cohort, variants, [members(group, cohort.samples) for group in groups])


def nearest_in(cohort: Cohort, variants: slice | np.ndarray, inside: Sequence[np.ndarray]) -> np.ndarray:
    """Count as `nearest` does, in groups of which bool (n,) each says who is in."""
    found = cohort.dosages(variants)
    copies = np.where(found.values == NO_DOSAGE, -1, (found.values.astype(np.int64) + COPY // 2) // COPY)
    counts = [[np.count_nonzero(copies[:, some] == n, axis=1) for n in (2, 1, 0)] for some in inside]
    both = np.moveaxis(np.array(counts, np.int64), -1, 0)
    return np.where(found.swapped[:, None, None], both[..., ::-1], both)


def mach_r2(people: np.ndarray, copies: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """MaCH's R²: variance of copies over 2 p (1 - p), from people, sum and sum of squares of copies, (m,).

    Li and others, Genet Epidemiol 34:816 (2010), as plink2 computes it. NaN of one allele only.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2 * (people * squares - copies**2) / (copies * (2 * people - copies)))
