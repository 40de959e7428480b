"""Variants whose logistic models are being fitted: what is known about them so far, and their result rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.algorithms.regression.case_control import CaseControlCounts
from unpooled.algorithms.regression.pool import Calls, Pool, table_of
from unpooled.algorithms.regression.symmetric import pairs, square
from unpooled.algorithms.shared.coding import most_copies, unit
from unpooled.algorithms.shared.genotype_counts import Counted
from unpooled.algorithms.shared.groups import COMPLETE, MEN
from unpooled.kernels import least_squares as codes
from unpooled.kernels.newton import entangled, newton
from unpooled.plan import EXACT, Plan
from unpooled.procedure import Rows
from unpooled.statistics import normal_neg_log10_p


@dataclass(frozen=True, eq=False)
class CovariatesModel:
    """The model without genotype, for a class of chromosomes."""

    name: ClassVar[str] = "logistic/covariates-model"

    with_sex: bool
    people: int
    centre: np.ndarray
    exponent: np.ndarray
    beta: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    likelihood: float
    code: int
    """Why there is no estimate: `unpooled.kernels.least_squares`."""

    @property
    def units(self) -> np.ndarray:
        """What turns estimates, for genotype, covariates and sex, into those for the columns of the files."""
        unit = np.ldexp(1.0, -self.exponent.astype(np.int32))
        return np.concatenate([[1.0], unit, [1.0] * self.with_sex])

    def refusals(self, hessian: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Code of each of m fitted models: whether PLINK 1.9 would print its estimates."""
        means = np.concatenate([[0.0], self.centre, [0.0] * self.with_sex]) * self.units
        tiny = (variance[:, 1:] * self.units**2 < codes.LEAST_VARIANCE).any(axis=1)
        code = np.where(tiny, codes.NO_RESIDUAL, codes.FITTED)
        return np.where(entangled(hessian, means), codes.UNSTABLE, code)


@dataclass(frozen=True, eq=False)
class Fitting:
    """Variants of a chunk that are being fitted."""

    name: ClassVar[str] = "logistic/fitting"

    pool: Pool
    model: CovariatesModel
    coding: str
    """How copies count: `unpooled.algorithms.shared.coding`."""
    variants: Counted
    n: np.ndarray
    """int64 (m,): people in the regression."""
    code: np.ndarray
    """uint8 (m,): why there can be no estimate; FITTED if there may be one."""
    counts_first: np.ndarray
    """bool (m,): the genotype is the number of copies of the panel's first allele."""
    first_is_a1: np.ndarray

    @classmethod
    def of(
        cls, plan: Plan, coding: str, pool: Pool, model: CovariatesModel, variants: Counted
    ) -> tuple[Fitting, Calls, np.ndarray]:
        """What follows from the genotype counts: also the calls, and which variants are ties, bool (m,)."""
        counts, groups, exact = variants.table.counts, variants.table.groups, plan.missing == EXACT
        first_is_a1, tied = variants.order()
        calls = Calls.of(counts, groups, coding, pool, exact)
        separated = CaseControlCounts.of(counts, groups, coding, exact).separated
        n = calls.called.sum(axis=1) if exact else np.full(len(counts), calls.people.sum())
        code = np.full(len(counts), model.code, np.uint8)
        code = np.where(separated, codes.SEPARATED, code)
        code = np.where(_constant(calls), codes.CONSTANT, code)
        code = np.where(n <= len(model.beta) + 1, codes.TOO_FEW, code).astype(np.uint8)
        counted = tied | first_is_a1  # what is counted until a tie is settled
        return cls(pool, model, coding, variants, n, code, counted, counted), calls, tied

    def some(self, which: np.ndarray) -> Fitting:
        """Some of the variants: bool (m,)."""
        return replace(
            self,
            variants=self.variants.some(which),
            n=self.n[which],
            code=self.code[which],
            counts_first=self.counts_first[which],
            first_is_a1=self.first_is_a1[which],
        )

    def rows(
        self,
        plan: Plan,
        code: np.ndarray,
        beta: np.ndarray | None = None,
        hessian: np.ndarray | None = None,
    ) -> Rows:
        """Result rows, with the code of each; estimates, if any, as cohorts count copies."""
        model, m = self.model, len(self.n)
        tests = 1 if plan.hide_covar else 1 + len(model.centre) + self.pool.sex_varies
        shown = {name: np.full((m, tests), np.nan) for name in ("beta", "se")}
        if beta is not None and hessian is not None:
            beta, hessian = self._of_a1(beta, hessian)
            variance = newton(np.zeros_like(beta), hessian)[2]
            code = np.where(code == codes.FITTED, model.refusals(hessian, variance), code).astype(np.uint8)
            width = min(tests, len(model.units))
            good = np.isin(code, (codes.FITTED, *codes.REFUSED))[:, None]
            shown["beta"][:, :width] = np.where(good, beta[:, 1:] * model.units, np.nan)[:, :width]
            shown["se"][:, :width] = np.where(good, np.sqrt(variance[:, 1:]) * model.units, np.nan)[:, :width]
        for column in shown.values():
            column[:, 0] *= unit(self.coding)
        return Rows(
            table_of(self.coding),
            {
                "variant": self.variants.variants,
                "a1_freq": self._frequency(plan),
                "n": self.n.astype(np.int32),
                "code": code,
                **shown,
                "neg_log10_p": normal_neg_log10_p(shown["beta"] / shown["se"]),
                **self.variants.table.columns(self.first_is_a1),
            },
        )

    def _frequency(self, plan: Plan) -> np.ndarray:
        """Frequency of A1 among the people in the regression: float64 (m,); NaN without a call."""
        table = self.variants.table
        calls = Calls.of(table.counts, table.groups, self.coding, self.pool, plan.missing == EXACT)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = calls.copies.sum(axis=1) / (calls.called * most_copies(self.coding)).sum(axis=1)
        return np.asarray(np.where(self.first_is_a1, share, 1 - share))

    def counted_calls(self, plan: Plan) -> CaseControlCounts:
        """The genotype counts by copies of the allele that is counted."""
        table = self.variants.table
        counts = CaseControlCounts.of(table.counts, table.groups, self.coding, plan.missing == EXACT)
        return counts.of_other_allele(~self.counts_first)

    def _of_a1(self, beta: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Models of copies of A1, from models of the copies that cohorts counted: of a tie these may differ.

        Copies of the other allele are all copies less those of this one. How many those are in all depends
        on sex on X, so that there the coefficient of sex is another, too.
        """
        turned = self.counts_first != self.first_is_a1
        most = most_copies(self.coding)
        other = np.eye(beta.shape[1])
        other[1, 1] = -1
        if self.model.with_sex:
            other[1, 0], other[1, -1] = most[1], most[0] - most[1]
        else:
            other[1, 0] = most[0] if len(most) == 1 or self.pool.of(COMPLETE, MEN) else most[1]
        turned_hessian = other @ square(hessian[turned], len(other)) @ other.T
        beta, hessian = beta.copy(), hessian.copy()
        beta[turned] = beta[turned] @ other
        hessian[turned] = turned_hessian[:, *pairs(len(other))]
        return beta, hessian


def _constant(calls: Calls) -> np.ndarray:
    """Whether everyone called has the same coded genotype."""
    n, total, squares = (part.sum(axis=1) for part in (calls.called, calls.copies, calls.squares))
    return np.asarray(n * squares == total * total)
