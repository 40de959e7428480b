"""The calls of a chunk's variants in a regression, and their sums as columns of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unpooled.kernels.dosages import COPY
from unpooled.kernels.fixed_order import congruent, of_rows, total
from unpooled.methods.regression.pool import Pool
from unpooled.methods.shared.allele_coding import haploid, heterozygous_missing, most_copies, sexes
from unpooled.methods.shared.dosage_table import DosageTable, mach_r2
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.groups import COMPLETE
from unpooled.plan.common_options import GLM_COLS
from unpooled.plan.genotype_model import Terms
from unpooled.plan.glm_columns import MACH_R2
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of people with complete data, sums of copies and of squares, for m variants in each of s sexes.

    Copies of the panel's first allele, 0 to 2, or 0 to 1 where haploid. (m, s) each; `people` (s,). Whole
    numbers, of dosages float64: whole multiples of 1 / `COPY` and its square, exact up to 2^23 people.
    """

    people: np.ndarray
    called: np.ndarray
    copies: np.ndarray
    squares: np.ndarray
    genotypes: np.ndarray
    """int64 (m, s, 3): how many of those called have two copies, one, none. Of dosages float64 (m, s, 2):
    sums of copies up to one, and of their squares; or (m, s, 0) where copies count as they are."""

    @classmethod
    def of(cls, table: GenotypeTable | DosageTable, chromosome: str, pool: Pool, exact: bool) -> Calls:
        """Build from a table of counts. `exact` is the rule for missing calls."""
        if isinstance(table, DosageTable):
            return cls._of_dosages(table, chromosome, pool)
        counts, counted = table.counts, table.groups
        people, called, copies, squares, genotypes = [], [], [], [], []
        for sex in sexes(chromosome):
            every = {COMPLETE, *([sex] if sex else [])}
            inside = [k for k, group in enumerate(counted) if every <= set(group)]
            two, one, none = np.moveaxis(counts[:, inside].sum(axis=1, dtype=np.int64), 1, 0)
            single = haploid(chromosome, sex)
            people.append(pool.of(*every))
            if heterozygous_missing(chromosome, sex, exact):
                one = np.zeros_like(one)
            called.append(two + one + none)
            copies.append(two if single else 2 * two + one)
            squares.append(two if single else 4 * two + one)
            genotypes.append(np.stack([two, one, none], axis=1))
        each = (called, copies, squares, genotypes)
        return cls(np.array(people), *(np.stack(column, axis=1) for column in each))

    @classmethod
    def _of_dosages(cls, table: DosageTable, chromosome: str, pool: Pool) -> Calls:
        people, sums = [], []
        for sex in sexes(chromosome):
            every = {COMPLETE, *([sex] if sex else [])}
            inside = [k for k, group in enumerate(table.groups) if every <= set(group)]
            people.append(pool.of(*every))
            sums.append(table.counts[:, inside].sum(axis=1, dtype=np.int64))
        each = np.stack(sums, axis=1)
        called, copies, squares = np.moveaxis(each[..., :3], -1, 0)
        up_to_one = each[..., 3:] / np.array([COPY, COPY**2])[: each.shape[2] - 3]
        return cls(np.array(people), called, copies / COPY, squares / COPY**2, up_to_one)

    def some(self, which: np.ndarray) -> Calls:
        """Select some of the variants: bool (m,)."""
        each = (self.called, self.copies, self.squares, self.genotypes)
        return Calls(self.people, *(column[which] for column in each))

    @property
    def means(self) -> np.ndarray:
        """Mean copies among those called, float64 (m, s); 0 where nobody is."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.nan_to_num(self.copies / self.called))

    @property
    def mach_r2(self) -> np.ndarray:
        """Imputation quality of the people in the regression, float64 (m,); NaN where it is 0/0."""
        return mach_r2(*self._in_all)

    @property
    def alike(self) -> np.ndarray:
        """True where everyone called has the same number of copies: bool (m,)."""
        n, copies, squares = self._in_all
        return np.asarray(n * squares == copies * copies)

    @property
    def _in_all(self) -> tuple[np.ndarray, ...]:
        """Calls, copies and squares of all sexes: (m,) each."""
        return tuple(total(part, 1) for part in (self.called, self.copies, self.squares))

    def quality(self, plan: Plan) -> dict[str, np.ndarray]:
        """The column of a result with this, where it is asked for."""
        return {MACH_R2: self.mach_r2} if MACH_R2 in GLM_COLS.of(plan) else {}

    @property
    def incomplete(self) -> np.ndarray:
        """True for variants with a missing call among people with complete data: bool (m,)."""
        return np.asarray((self.called < self.people).any(axis=1))


@dataclass(frozen=True, eq=False)
class CodedCalls:
    """People, sums of the model's k columns, and sums of products, for m variants in each of s sexes."""

    people: np.ndarray
    """float64 (m, s)"""
    sums: np.ndarray
    """float64 (m, s, k)"""
    products: np.ndarray
    """float64 (m, s, k, k)"""

    @classmethod
    def of(cls, calls: Calls, terms: Terms, chromosome: str, first: np.ndarray) -> CodedCalls:
        """Sum over the people called; where `first`, bool (m,), count copies of the panel's first allele."""
        if not calls.genotypes.shape[2]:
            return cls._of_dosages(calls, first)
        if calls.genotypes.shape[2] == 2:
            return cls._of_coded_dosages(calls, terms, first)
        counts = np.where(first[:, None, None], calls.genotypes, calls.genotypes[:, :, ::-1])
        half = most_copies(chromosome) / 2
        values = np.array([coded.values for coded in terms.coded], float)[:, ::-1]  # of two copies, one, none
        k = len(values)
        each = (values[:, None] * values).reshape(k * k, 3)
        sums = of_rows(counts.astype(float), values) * half[:, None]
        products = of_rows(counts.astype(float), each).reshape(*sums.shape, k) * half[:, None, None] ** 2
        return cls(calls.called.astype(np.float64), sums, products)

    @classmethod
    def _of_dosages(cls, calls: Calls, first: np.ndarray) -> CodedCalls:
        called, copies, squares = calls.called, calls.copies, calls.squares
        sums = np.where(first[:, None], copies, 2 * called - copies)
        products = np.where(first[:, None], squares, 4 * called - 4 * copies + squares)
        return cls(called.astype(np.float64), sums[:, :, None], products[:, :, None, None])

    @classmethod
    def _of_coded_dosages(cls, calls: Calls, terms: Terms, first: np.ndarray) -> CodedCalls:
        """Sum what is interpolated between whole copies: with a = min(copies, 1) and b = copies - a a column
        is one + (two - one) times these, and ab = b, for where b is above 0, a is 1.
        """
        n, (up_to_one, squares) = calls.called, np.moveaxis(calls.genotypes, -1, 0)
        beyond = calls.copies - up_to_one
        others = calls.squares - squares - 2 * beyond
        turned = n - beyond, n - up_to_one, n - 2 * beyond + others, n - 2 * up_to_one + squares
        a, b, aa, bb = np.where(first[:, None], (up_to_one, beyond, squares, others), turned)
        each = np.stack([a, b], axis=-1), np.stack([aa, b, b, bb], axis=-1).reshape(*n.shape, 2, 2)
        slopes = np.diff([coded.values for coded in terms.coded], axis=1).astype(np.float64)
        return cls(n.astype(np.float64), of_rows(each[0], slopes), congruent(slopes, each[1]))

    @property
    def means(self) -> np.ndarray:
        """Mean of each column among the people called: float64 (m, s, k); 0 where there are none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.nan_to_num(self.sums / self.people[:, :, None]))

    @property
    def fill(self) -> np.ndarray:
        """Values that replace missing calls under the rule `mean`, in the shape questions use: (m, s k)."""
        return self.means.reshape(len(self.means), -1)

    @property
    def still(self) -> np.ndarray:
        """True for columns that are the same for everyone called: bool (m, k)."""
        n, sums = total(self.people, 1)[:, None], total(self.sums, 1)
        squares = total(np.diagonal(self.products, axis1=2, axis2=3), 1)
        return np.asarray(n * squares == sums * sums)

    def filled(self, people: np.ndarray) -> CodedCalls:
        """Extend the sums to all `people`, (s,), with the mean for each missing call."""
        without, mean = people - self.people, self.means
        each = mean[:, :, :, None] * mean[:, :, None, :]
        return CodedCalls(
            self.people + without,
            self.sums + without[:, :, None] * mean,
            self.products + without[:, :, None, None] * each,
        )
