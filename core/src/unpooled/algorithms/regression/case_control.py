"""What genotype counts of cases and controls reveal before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unpooled.algorithms.shared.coding import haploid, heterozygous_missing, sexes
from unpooled.algorithms.shared.groups import CASE, COMPLETE, CONTROL, Group
from unpooled.kernels import genotype_alone


@dataclass(frozen=True, eq=False)
class CaseControlCounts:
    """Cases and controls with complete data and a call of m variants, by copies of an allele and sex."""

    cases: np.ndarray
    """int64 (m, k)"""
    controls: np.ndarray
    copies: np.ndarray
    """float64 (k,): how many copies of the panel's first allele these people have."""

    @classmethod
    def of(
        cls, counts: np.ndarray, groups: tuple[Group, ...], chromosome: str, exact: bool
    ) -> CaseControlCounts:
        """From counts (m, groups, 3). `exact` is the rule for missing calls."""
        cases: list[np.ndarray] = []
        controls: list[np.ndarray] = []
        copies = []
        for sex in sexes(chromosome):
            called = [1, 0, 1] if heterozygous_missing(chromosome, sex, exact) else [1, 1, 1]
            for phenotype, people in ((CASE, cases), (CONTROL, controls)):
                every = {COMPLETE, phenotype, *([sex] if sex else [])}
                inside = [k for k, group in enumerate(groups) if every <= set(group)]
                people.append(counts[:, inside].sum(axis=1) * called)
            copies += [1.0 if haploid(chromosome, sex) else 2.0, 1.0, 0.0]
        return cls(np.concatenate(cases, axis=1), np.concatenate(controls, axis=1), np.array(copies))

    @property
    def separated(self) -> np.ndarray:
        """Whether all cases have at least (or at most) as many copies as any control: no estimate then."""
        (fewest, most), (fewest_control, most_control) = map(self._range, (self.cases, self.controls))
        return np.asarray((most <= fewest_control) | (most_control <= fewest))

    def _range(self, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The fewest copies that any of these people have, and the most."""
        copies = np.where(people > 0, self.copies, np.inf), np.where(people > 0, self.copies, -np.inf)
        return copies[0].min(axis=1), copies[1].max(axis=1)

    def of_other_allele(self, which: np.ndarray) -> CaseControlCounts:
        """By copies of the other allele for some variants: bool (m,)."""
        cases, controls = (
            np.where(which[:, None], _backwards(people), people) for people in (self.cases, self.controls)
        )
        return CaseControlCounts(cases, controls, self.copies)

    def estimated_from(self, first_step: np.ndarray) -> np.ndarray:
        """What Newton's first step, (m, p), is to be so that it ends near the estimate.

        It would end there if there were no covariates: the whole step overshoots where few people are cases,
        and many of a variant's carriers.
        """
        cases, controls = (np.ascontiguousarray(people, np.float64) for people in (self.cases, self.controls))
        share, intercept = genotype_alone.correction(cases, controls, self.copies).T
        found = share[:, None] * first_step
        found[:, 0] += intercept
        return np.asarray(found)


def _backwards(people: np.ndarray) -> np.ndarray:
    """The three counts of each sex the other way round."""
    return people.reshape(len(people), -1, 3)[:, :, ::-1].reshape(people.shape)
