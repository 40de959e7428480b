"""Linear regressions of many variants at once, from genotype counts and sums to result rows.

See unpooled.algorithms.linear_regression for the whole; here are its last two steps, and the fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.algorithms import regression
from unpooled.algorithms.about_variants import FIRST, INCOMPLETE, TIED, AboutVariants
from unpooled.algorithms.coding import PLACES, X2_KNOWN, by_sex, counted, most_copies, on_x, unit
from unpooled.algorithms.genotype_table import Y
from unpooled.algorithms.groups import COMPLETE, complete
from unpooled.algorithms.regression import (
    TIES,
    Calls,
    Sizes,
    foreseen_chunks,
    plan_of,
    settled,
    table_of,
)
from unpooled.algorithms.standardise import Columns, real_columns
from unpooled.cohort import MALE, Cohort, Samples
from unpooled.errors import ProtocolError
from unpooled.kernels import products as kernel
from unpooled.kernels.least_squares import least_squares
from unpooled.plan import EXACT, Plan
from unpooled.sizes import Sizes as Own
from unpooled.statistics import t_neg_log10_p
from unpooled.step import Arrays, Count, Foreseen, Real, Rows, Step, server_only


def standardised(samples: Samples, centre: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Covariates and phenotype, standardised: float64 (n, columns); 0 for whoever has incomplete data."""
    values = real_columns(samples, phenotype=True)
    if values.shape[1] != len(centre):
        raise ProtocolError("the question has another number of columns than this cohort's data")
    inside = complete(samples)
    return np.where(inside[:, None], Columns(centre, exponent).apply(np.where(inside[:, None], values, 0)), 0)


def pairs(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The products of two columns that are sent, i <= j, in order."""
    return np.triu_indices(columns)


def square(products: np.ndarray, columns: int) -> np.ndarray:
    """Symmetric matrices (..., columns, columns) from their upper triangles (..., pairs)."""
    i, j = pairs(columns)
    matrix = np.zeros((*products.shape[:-1], columns, columns))
    matrix[..., i, j] = matrix[..., j, i] = products
    return matrix


@dataclass(frozen=True, eq=False)
class CountGenotypes(regression.CountGenotypes):
    """Genotype counts of one chunk, with what fitting its variants will need."""

    name: ClassVar[str] = "linear/genotypes"

    sizes: tuple[int, ...] = server_only(())
    centre: np.ndarray = server_only(None)  # noqa: RUF009
    exponent: np.ndarray = server_only(None)  # noqa: RUF009
    sums: np.ndarray = server_only(None)  # noqa: RUF009
    products: np.ndarray = server_only(None)  # noqa: RUF009

    def fit(self, variants: np.ndarray, counts: np.ndarray, first_is_a1: np.ndarray) -> Iterator[Step | Rows]:
        plan, tied = plan_of(self.plan), self.tied(counts)
        sizes = Sizes(plan.trait, self.sizes)
        calls = Calls.of(counts, self.groups, self.chromosome, sizes, plan.missing == EXACT)
        asked = np.zeros(self.variants, np.uint8)
        asked[variants - self.start] = FIRST + INCOMPLETE * calls.incomplete + TIED * tied
        fill = calls.means[calls.incomplete & (plan.missing != EXACT)]
        yield Sums(
            start=self.start,
            asked=asked,
            chromosome=self.chromosome,
            exact=plan.missing == EXACT,
            fill=fill,
            people=sizes.of(COMPLETE),
            centre=self.centre,
            exponent=self.exponent,
            cohorts=plan.cohorts,
            question=self,
            counts=counts,
            first_is_a1=first_is_a1,
        )


@dataclass(frozen=True, eq=False)
class Sums(AboutVariants):
    """Sums of genotype times column for some variants of a chunk; over missing calls, where exact."""

    name: ClassVar[str] = "linear/sums"
    title: ClassVar[str] = "Sum genotypes, covariates and phenotype"
    sends: ClassVar[tuple[Count | Real, ...]] = (
        TIES,
        Real(
            "genotype",
            ("variants", "sexes", "columns"),
            "bound",
            "bits",
            "per variant: sums of genotype times covariate, and of genotype times phenotype",
            "means of covariates and phenotype by genotype in the pool; of a variant that one person "
            "carries, that person's, standardised, without name or cohort",
        ),
        Real(
            "missing",
            ("incomplete", "pairs"),
            "bound",
            "bits",
            "per variant with missing calls, by the rule `exact` only: sums over the people without a call "
            "of covariates, phenotype, and products of two of these. With few missing calls these are values "
            "of single people, without name or cohort",
            "covariates and phenotype of people without a call: with few of them, of single people",
        ),
    )
    alleles: ClassVar[frozenset[int]] = frozenset({FIRST})

    question: CountGenotypes | None = server_only(None)  # noqa: RUF009
    counts: np.ndarray | None = server_only(None)  # noqa: RUF009
    first_is_a1: np.ndarray | None = server_only(None)  # noqa: RUF009

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def pairs(self) -> int:
        return missing_columns(self.columns, self.chromosome)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Own | None) -> Foreseen | None:
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        return Foreseen((cls(**cls.foreseen_fields(plan, chunk)) for chunk in chunks), exact=False)

    def local(self, cohort: Cohort) -> Arrays:
        words, second, lacking = self.words_of(cohort)
        z = standardised(cohort.samples, self.centre, self.exponent)
        apart = by_sex(self.chromosome, cohort.samples)
        columns = np.concatenate([z * who[:, None] for who in apart], axis=1)
        sums = kernel.products(words, second, columns)
        sums = sums.reshape(self.variants, self.sexes, self.columns)
        first = self.first_of_ties(second)
        if self.exact:
            over = kernel.over_missing(words[lacking], missing_values(z, cohort.samples, self.chromosome))
            return {"first": first, "genotype": sums, "missing": over}
        over = kernel.over_missing(words[lacking], columns).reshape(-1, self.sexes, self.columns)
        # The kernel counts a homozygous call as 2 everywhere.
        sums[lacking] += over * (2 / most_copies(self.chromosome) * self.fill)[:, :, None]
        return {"first": first, "genotype": sums, "missing": np.zeros((0, self.pairs))}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        if self.question is None or self.counts is None or self.first_is_a1 is None:
            raise ProtocolError("variants can only be fitted where the counts are")
        first_is_a1 = settled(self.first_is_a1, self.flagged(TIED), total["first"], self.cohorts)
        yield _Fit(self, self.question, self.counts, first_is_a1).rows(total)


def missing_columns(columns: int, chromosome: str) -> int:
    """How many numbers are sent of a variant with missing calls."""
    return columns + columns * (columns + 1) // 2 + (columns if on_x(chromosome) else 0)


def missing_values(z: np.ndarray, samples: Samples, chromosome: str) -> np.ndarray:
    """What is summed over people without a call: columns, products, and on X the columns of men."""
    z = z * counted(chromosome, samples)[:, None]
    i, j = pairs(z.shape[1])
    men = (samples.sex == MALE)[:, None]
    parts = [z, z[:, i] * z[:, j]] + ([z * men] if on_x(chromosome) else [])
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class _Fit:
    """The regressions of some variants of a chunk, from sums to result rows."""

    step: Sums
    question: CountGenotypes
    counts: np.ndarray
    first_is_a1: np.ndarray

    def rows(self, total: Arrays) -> Rows:
        plan = plan_of(self.question.plan)
        sizes = Sizes(plan.trait, self.question.sizes)
        chromosome = self.step.chromosome
        with_sex = on_x(chromosome) and sizes.sex_varies
        calls = Calls.of(self.counts, self.question.groups, chromosome, sizes, self.step.exact)
        people, g, gg, lacking = self._genotype_sums(calls)
        # Copies count 0 to 1 where there is one; the kernel counts homozygotes as 2.
        most = most_copies(chromosome)
        gz = total["genotype"] * (most / 2)[:, None]
        z, zz, men_z = self._columns(total, lacking)
        # From the panel's first allele to A1.
        turn = ~self.first_is_a1
        called_z = np.stack([men_z, z - men_z], axis=1) if on_x(chromosome) else z[:, None]
        gz[turn] = most[:, None] * called_z[turn] - gz[turn]
        gg[turn] = (most**2 * people - 2 * most * g + gg)[turn]
        g[turn] = (most * people - g)[turn]

        c = self.step.columns - 1
        m, p = len(g), 1 + c + with_sex
        n = people.sum(axis=1)
        a, b, sums = np.zeros((m, p, p)), np.zeros((m, p)), np.zeros((m, p))
        a[:, 0, 0] = gg.sum(axis=1)
        a[:, 0, 1 : c + 1] = a[:, 1 : c + 1, 0] = gz[:, :, :c].sum(axis=1)
        a[:, 1 : c + 1, 1 : c + 1] = zz[:, :c, :c]
        b[:, 0], b[:, 1 : c + 1] = gz[:, :, c].sum(axis=1), zz[:, :c, c]
        sums[:, 0], sums[:, 1 : c + 1] = g.sum(axis=1), z[:, :c]
        if with_sex:
            men = people[:, 0]
            a[:, 0, -1] = a[:, -1, 0] = g[:, 0]
            a[:, 1 : c + 1, -1] = a[:, -1, 1 : c + 1] = men_z[:, :c]
            a[:, -1, -1] = sums[:, -1] = men
            b[:, -1] = men_z[:, c]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / n[:, None]
            y_squares = zz[:, c, c] - z[:, c] ** 2 / n
            about = a - sums[:, :, None] * means[:, None, :]
            b = b - means * z[:, c, None]
        about[:, 0, 0] = _about_mean(gg.sum(axis=1), g.sum(axis=1), n)
        scale = np.ldexp(1.0, self.step.exponent.astype(np.int32))
        centre = self.step.centre / scale
        means[:, 1 : c + 1] += centre[:c]
        scales = np.concatenate([[1.0], scale[:c], [1.0] * with_sex, scale[c:]])
        whole = np.full(c + 1, float(self.step.people))
        full = np.concatenate([[0.0], whole[:c], [0.0] * with_sex, whole[c:]])
        beta, se, code = least_squares(about, b, y_squares, np.rint(n).astype(np.int64), means, scales, full)
        with np.errstate(invalid="ignore", divide="ignore"):
            frequency = g.sum(axis=1) / (most * people).sum(axis=1)
        beta[:, 0] *= unit(chromosome)
        se[:, 0] *= unit(chromosome)
        return Rows(
            table_of(chromosome), {**self._report(plan, sizes, n, beta, se, code), "a1_freq": frequency}
        )

    def _report(
        self, plan: Plan, sizes: Sizes, n: np.ndarray, beta: np.ndarray, se: np.ndarray, code: np.ndarray
    ) -> dict[str, np.ndarray]:
        c = len(plan.covariate_columns)
        tests = 1 if plan.hide_covar else 1 + c + sizes.sex_varies
        shown = {"beta": beta, "se": se}
        for name, values in shown.items():
            column = np.full((len(beta), tests), np.nan)
            width = min(tests, values.shape[1])
            column[:, :width] = values[:, :width]
            shown[name] = column
        freedom = np.rint(n).astype(np.int64) - beta.shape[1] - 1
        first = np.flatnonzero(self.step.asked)
        return {
            "variant": (self.step.start + first).astype(np.uint32),
            "n": np.rint(n).astype(np.int32),
            "freedom": freedom.astype(np.int32),
            "code": code,
            **shown,
            "neg_log10_p": t_neg_log10_p(shown["beta"] / shown["se"], freedom[:, None]),
            **self.question.table(self.counts).columns(self.first_is_a1),
        }

    def _genotype_sums(self, calls: Calls) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """People, copies and squares in the regression, float64 (m, s), and who lacks calls, bool (m,)."""
        people, g, gg = (part.astype(np.float64) for part in (calls.called, calls.copies, calls.squares))
        lacking = calls.incomplete
        if not self.step.exact:
            mean, without = calls.means, calls.people - people
            g, gg, people = g + without * mean, gg + without * mean**2, people + without
        return people, g, gg, lacking

    def _columns(self, total: Arrays, lacking: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums, products and sums in men of the columns over each variant's people: (m, c + 1), ... ."""
        q, m, chromosome = self.step.columns, len(lacking), self.step.chromosome
        sums, products = self.question.sums, self.question.products
        if PLACES[chromosome] == Y:
            sums, products = sums[:1], products[:1]
        if chromosome == X2_KNOWN:
            sums, products = sums[:2], products[:2]
        z = np.repeat(sums.sum(axis=0)[None], m, axis=0)
        zz = np.repeat(products.sum(axis=0)[None], m, axis=0)
        men = np.repeat(sums[:1], m, axis=0)
        if self.step.exact:
            missing = total["missing"]
            z[lacking] -= missing[:, :q]
            zz[lacking] -= missing[:, q : q + zz.shape[1]]
            if on_x(chromosome):
                men[lacking] -= missing[:, q + zz.shape[1] :]
        return z, square(zz, q), men


def _about_mean(squares: np.ndarray, total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Squares about the mean, exact for whole numbers; 0 of nobody."""
    return np.asarray((n * squares - total * total) / np.maximum(n, 1))
