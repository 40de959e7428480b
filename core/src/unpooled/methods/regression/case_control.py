"""Separation and starting values, as genotype counts of cases and controls show them before any fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unpooled.kernels import genotype_alone, penalty
from unpooled.kernels.dosages import COPY
from unpooled.kernels.elementary import log
from unpooled.kernels.fixed_order import total
from unpooled.methods.shared.allele_coding import haploid, heterozygous_missing, sexes
from unpooled.methods.shared.dosage_table import DosageTable
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import CASE, COMPLETE, CONTROL, Group
from unpooled.plan.genotype_model import Terms


@dataclass(frozen=True, eq=False)
class CaseControlCounts:
    """Cases and controls with complete data and a call of m variants, by copies of an allele and sex."""

    cases: np.ndarray
    """float64 (m, k)"""
    controls: np.ndarray
    copies: np.ndarray
    """float64 (k,): how many copies of the panel's first allele these people have."""

    @classmethod
    def of(cls, table: GenotypeTable | DosageTable, chromosome: str, exact: bool) -> CaseControlCounts:
        """Build from a table of counts. `exact` is the rule for missing calls."""
        if isinstance(table, DosageTable):
            return CaseControlDosages._of(
                _as_calls(table.counts[..., :3]), table.groups, chromosome, exact=True
            )
        return cls._of(table.counts, table.groups, chromosome, exact)

    @classmethod
    def _of(
        cls, counts: np.ndarray, groups: tuple[Group, ...], chromosome: str, exact: bool
    ) -> CaseControlCounts:
        """Build from counts (m, groups, 3)."""
        cases: list[np.ndarray] = []
        controls: list[np.ndarray] = []
        copies = []
        for sex in sexes(chromosome):
            called = [1, 0, 1] if heterozygous_missing(chromosome, sex, exact) else [1, 1, 1]
            for phenotype, people in ((CASE, cases), (CONTROL, controls)):
                every = {COMPLETE, phenotype, *([sex] if sex else [])}
                inside = [k for k, group in enumerate(groups) if every <= set(group)]
                people.append(total(counts[:, inside], 1) * called)
            copies += [1.0 if haploid(chromosome, sex) else 2.0, 1.0, 0.0]
        return cls(np.concatenate(cases, axis=1), np.concatenate(controls, axis=1), np.array(copies))

    def separated(self, terms: Terms) -> np.ndarray:
        """Mark the variants whose genotype alone separates cases from controls, so that there is no estimate.

        One column does so if all cases have at least (or at most) as much of it as any control; two do so if
        only cases, or only controls, have some genotype.
        """
        if terms.has_two:
            one_sided = (self.cases == 0) != (self.controls == 0)
            return np.asarray(one_sided.any(axis=1))
        coded = self._coded(terms)
        (fewest, most), (fewest_control, most_control) = (
            _range(people, coded) for people in (self.cases, self.controls)
        )
        return np.asarray((most <= fewest_control) | (most_control <= fewest))

    def _coded(self, terms: Terms) -> np.ndarray:
        """Return the value of each genotype in the first column of the model: float64 (k,)."""
        values = np.array(terms.coded[0].values, np.float64)
        return np.asarray(values[self.copies.astype(np.int64)])

    @property
    def has_both(self) -> np.ndarray:
        """True where there are both cases and controls: bool (m,)."""
        return np.asarray((self.cases > 0).any(axis=1) & (self.controls > 0).any(axis=1))

    @property
    def log_odds(self) -> np.ndarray:
        """Log odds of being a case, with a half added to both counts: float64 (m,)."""
        return log((total(self.cases, 1) + 0.5) / (total(self.controls, 1) + 0.5))

    def of_other_allele(self, which: np.ndarray) -> CaseControlCounts:
        """Count copies of the other allele for some variants: bool (m,)."""
        cases, controls = (
            np.where(which[:, None], _backwards(people), people) for people in (self.cases, self.controls)
        )
        return replace(self, cases=cases, controls=controls)

    def estimated_from(self, first_step: np.ndarray) -> np.ndarray:
        """Correct Newton's first step, (m, p), so that it ends near the estimate.

        It would end there if there were no covariates: the whole step overshoots where few people are cases,
        and many of a variant's carriers.
        """
        share, intercept = genotype_alone.correction(*self._as_numbers()).T
        found = share[:, None] * first_step
        found[:, 0] += intercept
        return np.asarray(found)

    def penalised(self, terms: Terms) -> np.ndarray:
        """Intercept and coefficient of the genotype by Firth's fit without covariates: (m, 2)."""
        cases, controls, _ = self._as_numbers()
        return np.asarray(penalty.from_counts(cases, controls, self._coded(terms)))

    def _as_numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cases, controls = (np.ascontiguousarray(people, np.float64) for people in (self.cases, self.controls))
        return cases, controls, self.copies


@dataclass(frozen=True, eq=False)
class CaseControlDosages(CaseControlCounts):
    """The same from sums of dosages: so many calls as have these sums, which need not be whole numbers."""

    def separated(self, terms: Terms) -> np.ndarray:
        """Mark the variants of which all cases, or all controls, lack an allele: dosages tell no more
        beforehand.

        Where a dosage tells cases from controls otherwise the iteration runs off, and says so.
        """
        found = np.zeros(len(self.cases), bool)
        for people in (self.cases, self.controls):
            fewest, most = _range(people, self.copies)
            found |= (fewest == most) & np.isin(most, (0.0, 2.0))
        return found


def _as_calls(sums: np.ndarray) -> np.ndarray:
    """Counts of calls with the same people, copies and, if there can be, squares: float64 (m, groups, 3).

    They only say where iterations begin.
    """
    people, copies, squares = np.moveaxis(sums / np.array([1, COPY, COPY**2]), -1, 0)
    two = np.maximum(np.maximum((squares - copies) / 2, 0), copies - people)
    return np.stack([two, copies - 2 * two, people - copies + two], axis=-1)


def _range(people: np.ndarray, coded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least that any of these people have, and the most."""
    values = np.where(people > 0, coded, np.inf), np.where(people > 0, coded, -np.inf)
    return values[0].min(axis=1), values[1].max(axis=1)


def _backwards(people: np.ndarray) -> np.ndarray:
    """The three counts of each sex the other way round."""
    kinds = people.shape[1] // 3
    return people.reshape(len(people), kinds, 3)[:, :, ::-1].reshape(people.shape)
