"""Linear regressions of many variants at once, from the pool's sums to result rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import pairs, square, total
from unpooled.kernels.least_squares import least_squares
from unpooled.kernels.statistics import t_neg_log10_p
from unpooled.methods.regression.calls import Calls, CodedCalls
from unpooled.methods.regression.options import is_exact
from unpooled.methods.regression.own_columns import OwnColumns, OwnSums, raw_products, says_singular, shifts
from unpooled.methods.regression.pool import Pool
from unpooled.methods.regression.results import joint_test, reported_tests, table_of
from unpooled.methods.shared.allele_coding import PLACES, X2_KNOWN, most_copies, on_x, unit
from unpooled.methods.shared.chunks import X, Y
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.standardise import PooledColumns
from unpooled.plan.genotype_model import Terms, terms_of
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class Block:
    """Sums of the standardised columns over everyone."""

    name: ClassVar[str] = "linear/block"

    sums: np.ndarray
    """float64 (columns,)"""
    products: np.ndarray
    """float64 (pairs of columns,)"""


def places_of_sex(columns: int, phenotypes: int, chromosome: str) -> tuple[np.ndarray, np.ndarray]:
    """Name the sums of columns, and of their products behind them, that a variant takes by sex.

    The first are over men, the others over people of known sex.

    On X men's columns go with sex, which is one more; on Y only men count.
    """
    every = np.arange(columns + len(pairs(columns, phenotypes)[0]))
    none, place = every[:0], PLACES[chromosome]
    if place == Y:
        return every, none
    return (every[:columns] if place == X else none), (every if chromosome == X2_KNOWN else none)


@dataclass(frozen=True, eq=False)
class Problem:
    """The regressions of m variants on p predictors without the intercept, about the means of all of them."""

    products: np.ndarray
    """float64 (m, p, p)"""
    with_y: np.ndarray
    """float64 (m, p)"""
    y_squares: np.ndarray
    """float64 (m,)"""
    means: np.ndarray
    """float64 (m, p): of the predictors, in the units of the products"""
    people: np.ndarray
    """float64 (m,)"""
    lost: int = 0
    """Degrees of freedom that are lost beside those of predictors and intercept."""
    singular: np.ndarray | bool = False
    """bool (m,): which predictors depend on one another, whatever the products say"""


@dataclass(frozen=True, eq=False)
class Fitting:
    """Fit of some variants of a chunk."""

    plan: Plan
    coding: str
    """Coding of copies: `unpooled.methods.shared.allele_coding`."""
    pool: Pool
    columns: PooledColumns
    """Covariates, and the phenotype last."""
    counted: Counted
    calls: Calls
    coded: CodedCalls
    """The calls as the variants' own columns have them."""

    def rows_of(self, problem: Problem, first_is_a1: np.ndarray) -> Rows:
        """The result rows; `first_is_a1`, bool (m,), says whether A1 is the panel's first allele."""
        with_sex, c, n = self.with_sex, len(self.columns.centre) - 1, problem.people
        at = self.terms.places(c, with_sex)
        p = problem.with_y.shape[1]
        scale = self.columns.scales
        # The genotype, sex and their product are whole numbers; covariates come in units of their own.
        of_own = [1.0 if k in (-1, c) else scale[k] for _, k in self.terms.extra]
        scales = np.concatenate([[1.0], scale[:c], [1.0] * with_sex, of_own, scale[c:]])
        everyone = float(self.pool.complete)
        whole = np.full(c + 1, everyone)
        # A product with a covariate comes from one with the covariate about its centre: a difference, too.
        size = 1 + self.columns.means**2
        products_of = [0.0 if k in (-1, c) else whole[k] * size[k] for _, k in self.terms.extra]
        full = np.concatenate([[0.0], whole[:c], [everyone] * with_sex, products_of, whole[c:]])
        tested = np.array(at[: self.terms.jointly], np.int64)
        beta, se, code, covariance = least_squares(
            problem.products,
            problem.with_y,
            problem.y_squares,
            np.rint(n).astype(np.int64) - problem.lost,
            problem.means,
            scales,
            full,
            tested,
        )
        still = (code == codes.CONSTANT) & ~self.calls.alike
        still &= self.coded.still.any(axis=1) | bool(self.terms.interacting)
        code[still] = codes.STILL
        code[still & says_singular(self.calls, self.terms, p)] = codes.SINGULAR
        singular = problem.singular & (code != codes.TOO_FEW) & ~self.calls.alike
        code[singular], beta[singular], se[singular] = codes.SINGULAR, np.nan, np.nan
        with np.errstate(invalid="ignore", divide="ignore"):
            frequency = self._frequency(first_is_a1)
        joint = joint_test(beta[:, tested], covariance)
        beta[:, at] *= unit(self.coding)
        se[:, at] *= unit(self.coding)
        shown = self._shown(problem, beta, se) | joint
        counts = self.counted.table.columns(first_is_a1)
        counts |= self.calls.quality(self.plan)
        variant = {"variant": self.counted.variants}
        return Rows(
            table_of(self.coding, self.plan),
            {
                **variant,
                **shown,
                "code": code,
                **counts,
                "a1_freq": frequency,
                **self.calls.quality(self.plan),
            },
        )

    @property
    def with_sex(self) -> bool:
        """True if sex is a covariate."""
        return on_x(self.coding) and self.pool.sex_varies

    @property
    def terms(self) -> Terms:
        return terms_of(self.plan, self.with_sex)

    def _frequency(self, first_is_a1: np.ndarray) -> np.ndarray:
        """Frequency of A1 among the people in the regression: float64 (m,)."""
        people, copies = (part.astype(np.float64) for part in (self.calls.called, self.calls.copies))
        if not is_exact(self.plan):
            without = self.calls.people - people
            people, copies = people + without, copies + without * self.calls.means
        most = most_copies(self.coding)
        copies = np.where(first_is_a1[:, None], copies, most * people - copies)
        return np.asarray(total(copies, 1) / total(most * people, 1))

    def _shown(self, problem: Problem, beta: np.ndarray, se: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of the tests that are reported."""
        n = problem.people
        freedom = np.rint(n).astype(np.int64) - problem.lost - beta.shape[1] - 1
        shown = reported_tests(self.plan, self.pool, beta, se, self.with_sex)
        return {
            "n": np.rint(n).astype(np.int32),
            "freedom": freedom.astype(np.int32),
            **shown,
            "neg_log10_p": t_neg_log10_p(shown["beta"] / shown["se"], freedom[:, None]),
        }


@dataclass(frozen=True, eq=False)
class Fit(Fitting):
    """The regressions of some variants of a chunk, from sums over everyone."""

    block: Block

    def rows(
        self, with_genotype: np.ndarray, of_sex: np.ndarray, over_missing: np.ndarray, first_is_a1: np.ndarray
    ) -> Rows:
        """Compute the result rows from the sums of genotype times column, (m, s, sums).

        On X and Y `of_sex` are the sums that `places_of_sex` names. `over_missing` are the sums over people
        without a call of the variants that lack calls, by the rule `exact`; `first_is_a1`, bool (m,), says
        whether A1 is the panel's first allele. Where copies alone are in the model, that was counted; else
        A1 was.
        """
        column_sums = self._column_sums(of_sex, over_missing)
        return self.rows_of(self._problem(with_genotype, column_sums, first_is_a1), first_is_a1)

    def _problem(
        self,
        with_genotype: np.ndarray,
        column_sums: tuple[np.ndarray, np.ndarray, np.ndarray],
        first_is_a1: np.ndarray,
    ) -> Problem:
        """The predictors' products about the means, in the order genotype, covariates, sex, the others."""
        with_sex = self.with_sex
        own = self._own(with_genotype)
        z, zz, men_z = column_sums
        if self.terms.is_plain:
            called_z = np.stack([men_z, z - men_z], axis=1) if on_x(self.coding) else z[:, None]
            own = own.turned(~first_is_a1, most_copies(self.coding), called_z)

        c = len(self.columns.centre) - 1
        at, m = self.terms.places(c, with_sex), len(z)
        p = c + with_sex + len(at)
        n = total(own.people, 1)
        a, b, sums = np.zeros((m, p, p)), np.zeros((m, p)), np.zeros((m, p))
        products, with_z = total(own.products, 1), total(own.with_columns, 1)
        a[:, np.array(at)[:, None], at] = products
        a[:, at, 1 : c + 1] = with_z[:, :, :c]
        a[:, 1 : c + 1, at] = with_z[:, :, :c].swapaxes(1, 2)
        a[:, 1 : c + 1, 1 : c + 1] = zz[:, :c, :c]
        b[:, at], b[:, 1 : c + 1] = with_z[:, :, c], zz[:, :c, c]
        sums[:, at], sums[:, 1 : c + 1] = total(own.sums, 1), z[:, :c]
        if with_sex:
            s, men = c + 1, own.people[:, 0]
            a[:, at, s] = a[:, s, at] = own.sums[:, 0]
            a[:, 1:s, s] = a[:, s, 1:s] = men_z[:, :c]
            a[:, s, s] = sums[:, s] = men
            b[:, s] = men_z[:, c]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / n[:, None]
            y_squares = zz[:, c, c] - z[:, c] ** 2 / n
            about = a - sums[:, :, None] * means[:, None, :]
            b = b - means * z[:, c, None]
        whole_numbers = [place for place, (_, k) in zip(at, self.terms.own, strict=True) if k in (-1, c)]
        for i, j in itertools.product(whole_numbers, repeat=2):
            about[:, i, j] = _about_mean(a[:, i, j], sums[:, i], sums[:, j], n)
        means[:, 1 : c + 1] += self.columns.means[:c]
        return Problem(about, b, y_squares, means, n)

    def _own(self, with_genotype: np.ndarray) -> OwnColumns:
        """Sums over the variants' own columns."""
        coded = self.coded
        if not is_exact(self.plan):
            coded = coded.filled(self.calls.people)
        asked, c = OwnSums(terms_of(self.plan), len(self.columns.centre)), len(self.columns.centre) - 1
        own = OwnColumns.of(asked, coded, with_genotype * asked.units(self.coding))
        if self.terms != asked.terms:
            own = own.times_sex()
        return own.times(raw_products(self.terms, shifts(self.columns.means[:c], self.coding)))

    def _column_sums(
        self, of_sex: np.ndarray, over_missing: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums, products and sums in men of the columns over each variant's people: (m, c + 1), ... ."""
        q, lacking = len(self.columns.centre), self.calls.incomplete
        everyone = np.concatenate([self.block.sums, self.block.products])
        of_all = np.repeat(everyone[None], len(lacking), axis=0)
        men = np.zeros((len(lacking), 0))
        if PLACES[self.coding] == Y:
            of_all = of_sex.copy()
        elif on_x(self.coding):
            men = of_sex[:, :q].copy()
            of_all = of_sex[:, q:].copy() if self.coding == X2_KNOWN else of_all
        z, zz = of_all[:, :q], of_all[:, q:]
        if is_exact(self.plan):
            z[lacking] -= over_missing[:, :q]
            zz[lacking] -= over_missing[:, q : q + zz.shape[1]]
            if on_x(self.coding):
                men[lacking] -= over_missing[:, q + zz.shape[1] :]
        return z, square(zz, q), men


def _about_mean(products: np.ndarray, one: np.ndarray, other: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Products about the means, exact for whole numbers; 0 of nobody."""
    return np.asarray((n * products - one * other) / np.maximum(n, 1))
