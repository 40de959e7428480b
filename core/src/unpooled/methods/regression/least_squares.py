"""Linear regressions of many variants at once, from the pool's sums to result rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import congruent, pairs, product, square, total
from unpooled.kernels.least_squares import least_squares
from unpooled.kernels.newton import sandwich
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
    of_sums: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """float64 (m, p + 1): means of predictors and phenotype about the centres that sums are about"""


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

    def rows_of(
        self,
        problem: Problem,
        first_is_a1: np.ndarray,
        *,
        few: bool = False,
        squares: np.ndarray | None = None,
    ) -> Rows:
        """The result rows; `first_is_a1`, bool (m,), says whether A1 is the panel's first allele.

        Errors are robust given the `squares` of `SquareLinearResiduals`. Of `few` carriers none is shown.
        """
        at, p = self.places, problem.with_y.shape[1]
        tested = np.array(at[: self.terms.jointly], np.int64)
        beta, se, code, covariance = self._solved(problem, tested)
        if squares is not None:
            whole = self._robust_covariance(problem, squares)
            variance = np.where(np.isnan(beta), np.nan, np.diagonal(whole, axis1=1, axis2=2))
            none = (variance < codes.LEAST_VARIANCE).any(axis=1)
            code[none], beta[none], variance[none] = codes.NO_RESIDUAL, np.nan, np.nan
            se, covariance = np.sqrt(variance), np.ascontiguousarray(whole[:, tested][:, :, tested])
        if few:
            code[~np.isnan(beta).all(axis=1)] = codes.FEW
            beta, se = np.full((2, *beta.shape), np.nan)
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
    def places(self) -> list[int]:
        """Return the indices of the genotype's own columns among the predictors."""
        return self.terms.places(len(self.columns.centre) - 1, self.with_sex)

    @property
    def scales(self) -> np.ndarray:
        """Size of 1 in each predictor, and last in the phenotype, in the units of the report: (p + 1,).

        The genotype, sex and their product are whole numbers; covariates come in units of their own.
        """
        scale, c = self.columns.scales, len(self.columns.centre) - 1
        of_own = [1.0 if k in (-1, c) else scale[k] for _, k in self.terms.extra]
        return np.concatenate([[1.0], scale[:c], [1.0] * self.with_sex, of_own, scale[c:]])

    def _solved(self, problem: Problem, tested: np.ndarray) -> tuple[np.ndarray, ...]:
        """Fit all variants, as `unpooled.kernels.least_squares` returns it."""
        with_sex, c, n = self.with_sex, len(self.columns.centre) - 1, problem.people
        everyone = float(self.pool.complete)
        whole = np.full(c + 1, everyone)
        # A product with a covariate comes from one with the covariate about its centre: a difference, too.
        size = 1 + self.columns.means**2
        products_of = [0.0 if k in (-1, c) else whole[k] * size[k] for _, k in self.terms.extra]
        full = np.concatenate([[0.0], whole[:c], [everyone] * with_sex, products_of, whole[c:]])
        people = np.rint(n).astype(np.int64) - problem.lost
        sums = problem.products, problem.with_y, problem.y_squares
        found: tuple[np.ndarray, ...] = least_squares(*sums, people, problem.means, self.scales, full, tested)
        return found

    def _robust_covariance(self, problem: Problem, squares: np.ndarray) -> np.ndarray:
        """The covariance of the estimates by `squares`, (m, pairs): float64 (m, p, p)."""
        n, p, scales = problem.people, problem.with_y.shape[1], self.scales
        raw, own = np.eye(1 + p), 1 + np.array(self.places)
        raw[np.ix_(own, own)] = self._raw_products
        of_all = congruent(raw, square(squares, 1 + p))
        mean, with_one = problem.of_sums[:, :-1], of_all[:, 0, 1:]
        unit, upper = scales[-1] / scales[:-1], pairs(p)
        with np.errstate(divide="ignore", invalid="ignore"):
            off = mean[:, :, None] * (with_one - of_all[:, :1, 0] * mean / 2)[:, None]
            about = of_all[:, 1:, 1:] - off - off.swapaxes(1, 2)
            found = sandwich(problem.products[:, *upper], about[:, *upper], p)
            return np.asarray(found * (n / (n - p - 1))[:, None, None] * unit[:, None] * unit)

    @property
    def _raw_products(self) -> np.ndarray:
        """Return the matrix that turns own columns into those with covariates as in the files: (t, t)."""
        return raw_products(self.terms, shifts(self.columns.means[:-1], self.coding))

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
        self,
        sums: Arrays,
        first_is_a1: np.ndarray,
        *,
        few: bool = False,
        squares: np.ndarray | None = None,
    ) -> Rows:
        """Compute the result rows from the sums of `SumWithGenotypes`.

        Of these `genotype` are (m, s, sums). On X and Y `of_sex` are the sums that `places_of_sex` names.
        `missing` are the sums over people without a call of the variants that lack calls, by the rule
        `exact`. `first_is_a1`, bool (m,), says whether A1 is the panel's first allele: where copies alone are
        in the model, the first was counted; else A1 was. The rest is as of `rows_of`.
        """
        return self.rows_of(self._problem(sums, first_is_a1), first_is_a1, few=few, squares=squares)

    def coefficients(self, sums: Arrays, first_is_a1: np.ndarray) -> np.ndarray:
        """Estimates of a model of standardised columns, as `SquareLinearResiduals` has it: (m, 1 + p).

        They are 0 where there are none.
        """
        problem, scales = self._problem(sums, first_is_a1), self.scales
        beta = np.nan_to_num(self._solved(problem, np.zeros(0, np.int64))[0]) * scales[:-1] / scales[-1]
        with np.errstate(invalid="ignore"):  # of a variant that nobody is called for
            intercept = problem.of_sums[:, -1] - total(beta * problem.of_sums[:, :-1], 1)
        beta[:, self.places] = product(beta[:, self.places], self._raw_products)
        return np.concatenate([np.nan_to_num(intercept)[:, None], beta], axis=1)

    def _problem(self, found: Arrays, first_is_a1: np.ndarray) -> Problem:
        """The predictors' products about the means, in the order genotype, covariates, sex, the others."""
        with_sex = self.with_sex
        own = self._own(found["genotype"])
        z, zz, men_z = self._column_sums(found["of_sex"], found["missing"])
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
            of_sums = np.concatenate([means, z[:, c:] / n[:, None]], axis=1)
        whole_numbers = [place for place, (_, k) in zip(at, self.terms.own, strict=True) if k in (-1, c)]
        for i, j in itertools.product(whole_numbers, repeat=2):
            about[:, i, j] = _about_mean(a[:, i, j], sums[:, i], sums[:, j], n)
        means[:, 1 : c + 1] += self.columns.means[:c]
        return Problem(about, b, y_squares, means, n, of_sums=of_sums)

    def _own(self, with_genotype: np.ndarray) -> OwnColumns:
        """Sums over the variants' own columns."""
        coded = self.coded
        if not is_exact(self.plan):
            coded = coded.filled(self.calls.people)
        asked = OwnSums(terms_of(self.plan), len(self.columns.centre))
        own = OwnColumns.of(asked, coded, with_genotype * asked.units(self.coding))
        if self.terms != asked.terms:
            own = own.times_sex()
        return own.times(self._raw_products)

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
