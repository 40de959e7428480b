"""Variants whose logistic models are being fitted: what is known about them so far, and their result rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import congruent, pairs, product, square, total
from unpooled.kernels.newton import dependent, entangled, inverses, newton, sandwich
from unpooled.kernels.statistics import normal_neg_log10_p
from unpooled.methods.regression.about_variants import INCOMPLETE
from unpooled.methods.regression.ascent import Advance, Ascent
from unpooled.methods.regression.calls import Calls, CodedCalls
from unpooled.methods.regression.case_control import CaseControlCounts
from unpooled.methods.regression.dependent import about_means, refuse_dependent
from unpooled.methods.regression.logistic_questions import FitCovariates, Start
from unpooled.methods.regression.options import ALWAYS, NEVER, choice, is_exact
from unpooled.methods.regression.own_columns import raw_products, says_singular, shifts
from unpooled.methods.regression.pool import Pool
from unpooled.methods.regression.results import TABLE_BY_FIRTH, joint_test, reported_tests, table_of
from unpooled.methods.shared.allele_coding import counts_as_plink2, most_copies, unit
from unpooled.methods.shared.chunks import ByVariant, Chunk
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.groups import COMPLETE, MEN
from unpooled.methods.shared.standardise import PooledColumns
from unpooled.plan.genotype_model import Terms, terms_of
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class CovariatesModel:
    """The model without genotype, for a class of chromosomes."""

    name: ClassVar[str] = "logistic/covariates-model"

    with_sex: bool
    people: int
    columns: PooledColumns
    beta: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    likelihood: float
    code: int
    """Why there is no estimate: `unpooled.kernels.least_squares`."""

    @classmethod
    def none(cls, asked: FitCovariates, columns: PooledColumns) -> CovariatesModel:
        """The model that is not fitted, for there are too few people."""
        size = len(asked.beta)
        zeros = np.zeros(size), np.zeros(size), np.zeros(size * (size + 1) // 2)
        return cls(asked.with_sex, asked.people, columns, *zeros, likelihood=0.0, code=codes.FEW)

    def terms(self, plan: Plan) -> Terms:
        """The columns that each variant has beside this model."""
        return terms_of(plan, self.with_sex)

    def units(self, terms: Terms) -> np.ndarray:
        """Factors that turn estimates, for genotype, covariates and sex, and for the other columns that the
        genotype becomes, into those of the report.
        """
        units = np.append(1 / self.columns.scales, [1.0] * self.with_sex)
        others = [1.0 if s < 0 else units[s] for _, s in terms.extra]
        return np.concatenate([[1.0], units, others])

    def as_in_report(
        self, terms: Terms, coding: str, beta: np.ndarray, hessian: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Models in which the genotype is multiplied with covariates as the report has them: coefficients
        (m, p) and upper triangles, from such with covariates about their centres."""
        if not terms.interacting:
            return beta, hessian
        size = beta.shape[1]
        matrix = self._with_raw_products(terms, coding, 1.0)
        turned = congruent(matrix, square(hessian, size))
        back = self._with_raw_products(terms, coding, -1.0)
        return product(beta, back), turned[:, *pairs(size)]

    def covariance(
        self, terms: Terms, coding: str, hessian: np.ndarray, squares: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the covariance of the estimates as reported, (m, p, p), from Hessians of models with centred
        covariates; they are inverted in that form, where columns depend less on one another. NaN where there
        is none. It is robust given sums of squared residuals.
        """
        size = len(self.beta) + len(terms.own)
        back = self._with_raw_products(terms, coding, -1.0)
        if squares is not None:
            return congruent(back.T, sandwich(hessian, squares, size))
        return congruent(back.T, square(inverses(hessian, size)[0], size))

    def _with_raw_products(self, terms: Terms, coding: str, sign: float) -> np.ndarray:
        """Return the matrix that turns a design with centred covariates into one with raw covariates, or
        back: (p, p).
        """
        own = 1 + np.array(terms.places(len(self.columns.centre), self.with_sex))
        found = np.eye(len(self.beta) + len(terms.own))
        found[np.ix_(own, own)] = raw_products(terms, sign * shifts(self.columns.means, coding))
        return found

    def dependence(self, terms: Terms, coding: str, hessian: np.ndarray) -> np.ndarray:
        """Why plink2 refuses the columns of m models, if it does, uint8 (m,), from Hessians where all weights
        are the same. PLINK 1.9 does not look at them in a logistic regression."""
        none = np.zeros((len(hessian), len(self.beta) + len(terms.own)))
        return np.asarray(dependent(self.as_in_report(terms, coding, none, hessian)[1], none.shape[1]))

    def refusals(self, terms: Terms, hessian: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Code of each of m fitted models: whether PLINK 1.9 would print its estimates."""
        units = self.units(terms)
        means = np.zeros(len(units))
        means[1 : 1 + len(self.columns.means)] = self.columns.means
        tiny = (variance[:, 1:] * units**2 < codes.LEAST_VARIANCE).any(axis=1)
        code = np.where(tiny, codes.NO_RESIDUAL, codes.FITTED)
        return np.where(entangled(hessian, means), codes.UNSTABLE, code)


@dataclass(frozen=True, eq=False)
class Fitting(ByVariant):
    """Variants of a chunk that are being fitted."""

    name: ClassVar[str] = "logistic/fitting"

    pool: Pool
    model: CovariatesModel
    coding: str
    """Coding of copies: `unpooled.methods.shared.allele_coding`."""
    variants: Counted
    n: np.ndarray
    """int64 (m,): people in the regression."""
    code: np.ndarray
    """uint8 (m,): why there can be no estimate; FITTED if there may be one."""
    counts_first: np.ndarray
    """bool (m,): the genotype is the number of copies of the panel's first allele."""
    first_is_a1: np.ndarray
    refused: np.ndarray
    """uint8 (m,): why plink2 has no estimate, though there is one; FITTED if it has."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        coding: str,
        pool: Pool,
        model: CovariatesModel,
        variants: Counted,
        order: tuple[np.ndarray, np.ndarray],
        few: np.ndarray,
    ) -> tuple[Fitting, Calls]:
        """Build a fit from the genotype counts; return it with the calls.

        `order`, bool (m,) each: whether the panel's first allele is A1, and whether that is not known yet.
        `few`, bool (m,): of which variants there may be no sums.
        """
        table, exact = variants.table, is_exact(plan)
        terms = model.terms(plan)
        first_is_a1, tied = order
        counted = tied | first_is_a1  # what is counted until a tie is settled
        calls = Calls.of(table, coding, pool, exact)
        separated = CaseControlCounts.of(table, coding, exact).of_other_allele(~counted).separated(terms)
        n = (
            calls.called.sum(axis=1, dtype=np.int64)
            if exact
            else np.full(len(table.counts), calls.people.sum(dtype=np.int64))
        )
        # A later reason replaces an earlier one: of several the last is reported.
        code = np.full(len(table.counts), model.code, np.uint8)
        code = np.where(few, codes.FEW, np.where(separated, codes.SEPARATED, code))
        still = CodedCalls.of(calls, terms, coding, counted).still.any(axis=1)
        singular = says_singular(calls, terms, len(model.beta) - 1 + len(terms.own))
        code = np.where(still, np.where(singular, codes.SINGULAR, codes.STILL), code)
        itself = np.isin(variants.variants, model.columns.conditions) & terms.has_copies
        code = np.where(itself, codes.CORRELATED, code)
        code = np.where(calls.alike, codes.CONSTANT, code)
        code = np.where(n <= len(model.beta) + len(terms.own), codes.TOO_FEW, code).astype(np.uint8)
        return cls(pool, model, coding, variants, n, code, counted, counted, np.zeros_like(code)), calls

    @classmethod
    def joined(cls, parts: Sequence[Fitting]) -> Fitting:
        """The variants of one or more, which share a pool, a model and a coding."""
        return replace(super().joined(parts), variants=Counted.joined([part.variants for part in parts]))

    def some(self, which: np.ndarray) -> Fitting:
        """Select some of the variants: bool (m,), or their places."""
        return replace(super().some(which), variants=self.variants.some(which))

    def rows(
        self,
        plan: Plan,
        code: np.ndarray,
        beta: np.ndarray | None = None,
        hessian: np.ndarray | None = None,
        *,
        squares: np.ndarray | None = None,
        penalised: bool = False,
    ) -> Rows:
        """Result rows, with the code of each; estimates, if any, as cohorts count copies.

        They are of the usual fit, or of Firth's penalised one. Errors are robust given `squares`, the sums of
        `SquareResiduals`.
        """
        model, m, terms = self.model, len(self.n), self.model.terms(plan)
        units = model.units(terms)
        estimates, errors = np.full((2, m, len(units)), np.nan)
        own = terms.places(len(model.columns.centre), model.with_sex)
        tested = np.array(own[: terms.jointly], np.int64)
        both = np.full((m, len(tested)), np.nan), np.full((m, len(tested), len(tested)), np.nan)
        if beta is not None and hessian is not None:
            squares = squares if squares is None else self._of_a1(beta, squares)[1]
            beta, hessian = self._of_a1(beta, hessian)
            variance = newton(np.zeros_like(beta), hessian)[2]
            if not terms.is_plain or squares is not None:
                covariance = model.covariance(terms, self.coding, hessian, squares)
                beta, hessian = model.as_in_report(terms, self.coding, beta, hessian)
                variance = np.diagonal(covariance, axis1=1, axis2=2)
            code = np.where(code == codes.FITTED, model.refusals(terms, hessian, variance), code)
            good = np.isin(code, (codes.FITTED, codes.PENALISED, *codes.REFUSED))[:, None]
            estimates = np.where(good, beta[:, 1:] * units, np.nan)
            if len(tested):  # in the units of the fit, for the test is the same in any
                of_tested = np.ascontiguousarray(covariance[:, 1 + tested][:, :, 1 + tested])
                both = np.where(good, beta[:, 1 + tested], np.nan), of_tested
            # A standard error has no sign, though a unit may have one.
            errors = np.where(good, np.sqrt(variance[:, 1:]) * np.abs(units), np.nan)
            refused = (self.refused != codes.FITTED) & np.isin(code, (codes.FITTED, codes.UNFINISHED))
            code = np.where(refused, self.refused, code).astype(np.uint8)
        joint = joint_test(*both)
        estimates[:, own] *= unit(self.coding)
        errors[:, own] *= unit(self.coding)
        shown = reported_tests(plan, self.pool, estimates, errors, model.with_sex)
        return Rows(
            TABLE_BY_FIRTH if penalised else table_of(self.coding, plan),
            {
                "variant": self.variants.variants,
                "a1_freq": self._frequency(plan),
                **self.calls(plan).quality(plan),
                "n": self.n.astype(np.int32),
                "code": code,
                **shown,
                **joint,
                "neg_log10_p": normal_neg_log10_p(shown["beta"] / shown["se"]),
                **self.variants.table.columns(self.first_is_a1),
            },
        )

    def calls(self, plan: Plan) -> Calls:
        """The calls of the people in the regression."""
        return Calls.of(self.variants.table, self.coding, self.pool, is_exact(plan))

    def _frequency(self, plan: Plan) -> np.ndarray:
        """Frequency of A1 among the people in the regression: float64 (m,); NaN without a call."""
        calls = self.calls(plan)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = total(calls.copies, 1) / total(calls.called * most_copies(self.coding), 1)
        return np.asarray(np.where(self.first_is_a1, share, 1 - share))

    def counted_calls(self, plan: Plan) -> CaseControlCounts:
        """The genotype counts by copies of the allele that is counted."""
        counts = CaseControlCounts.of(self.variants.table, self.coding, is_exact(plan))
        return counts.of_other_allele(~self.counts_first)

    def penalised_start(self, plan: Plan) -> np.ndarray:
        """Return the start of Firth's fit for each variant, (m, p): the fit to its genotype counts alone,
        combined with the covariates' model, or with none if covariates separate cases from controls.
        """
        terms = self.model.terms(plan)
        found = np.zeros((len(self.n), len(self.model.beta) + len(terms.own)))
        if self.model.code == codes.FITTED:
            found[:, 2 : 1 + len(self.model.beta)] = self.model.beta[1:]
            found[:, 0] = self.model.beta[0]
        if not terms.has_two:
            counts = self.counted_calls(plan)
            found[:, 0] -= counts.log_odds if self.model.code == codes.FITTED else 0.0
            found[:, :2] += counts.penalised(terms)
        return found

    def falls_back(self, plan: Plan, code: np.ndarray) -> np.ndarray:
        """Mark the variants that Firth's fit takes over, given the code with which the usual fit ended: bool
        (m,). They are of plink2's report.
        """
        answer = choice(plan) if counts_as_plink2(self.coding) else NEVER
        depends = self.model.code not in (codes.FITTED, codes.UNFINISHED)  # columns, on one another
        if depends or answer == NEVER:
            return np.zeros(len(code), bool)
        others = (codes.FITTED,) if answer == ALWAYS else ()
        without = np.isin(code, (codes.SEPARATED, codes.UNFINISHED, *others))
        return np.asarray(without & (self.refused == codes.FITTED) & self.counted_calls(plan).has_both)

    def start(self, plan: Plan, chunk: Chunk, calls: Calls, tied: np.ndarray) -> Start:
        """Build the question about these variants at the covariates' model."""
        model, first = self.model, self.counts_first
        fill = CodedCalls.of(calls, terms_of(plan), chunk.chromosome, first).fill
        asked = self.variants.variants, calls.incomplete, fill, first, tied
        about = plan, chunk, model.people, model.columns
        return Start.about(*about, *asked, with_sex=model.with_sex, beta=model.beta)

    def begin(self, plan: Plan) -> np.ndarray:
        """Models in which nothing has an effect, (m, p): there everybody has the same weight."""
        found = np.zeros((len(self.n), len(self.model.beta) + len(self.model.terms(plan).own)))
        found[:, 0] = self.counted_calls(plan).log_odds
        return found

    def looked_at(self, plan: Plan, hessian: np.ndarray) -> Fitting:
        """Record plink2's verdict on the columns of each variant, given the Hessians at `begin`."""
        refused = self.model.dependence(self.model.terms(plan), self.coding, hessian)
        ended = (refused != codes.FITTED) & (self.code == codes.SEPARATED)
        return replace(self, refused=refused, code=np.where(ended, refused, self.code))

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
        turned_hessian = congruent(other, square(hessian[turned], len(other)))
        beta, hessian = beta.copy(), hessian.copy()
        beta[turned] = product(beta[turned], other)
        hessian[turned] = turned_hessian[:, *pairs(len(other))]
        return beta, hessian


@dataclass(frozen=True, eq=False)
class Left:
    """Variants of a chunk that are dealt with later, together with those of other chunks."""

    name: ClassVar[str] = "logistic/left"

    ties: Counted
    """Filtered variants of which it is not known which allele is A1."""
    fallen: Fitting
    """Variants without an estimate, as their counts show, that are fitted by Firth's likelihood."""


def first_trial(plan: Plan, start: Start, fitting: Fitting, sums: Arrays) -> tuple[Advance, np.ndarray]:
    """Choose the first trial after the covariates' model; return it with the Hessians there, from the sums
    that `Start` asks for.
    """
    likelihood, gradient, hessian = _at_covariates_model(start, fitting.model, sums)
    here = np.tile(np.insert(start.beta, 1, 0.0), (start.variants, 1))
    found = Ascent.begin(here).advance(here, likelihood, gradient, hessian, plan, start.grid)
    trial = here + fitting.counted_calls(plan).estimated_from(found.following - here)
    ascent = replace(found.ascent, whole=np.zeros(start.variants, bool))
    return replace(found, ascent=ascent, following=trial), hessian


def _at_covariates_model(
    start: Start, model: CovariatesModel, sums: Arrays
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-likelihood, gradient and Hessian of each variant where its genotype has no effect."""
    q, m = len(start.beta), start.variants
    likelihood = np.full(m, model.likelihood)
    shared_gradient, shared_hessian = (np.tile(part, (m, 1)) for part in (model.gradient, model.hessian))
    if start.exact:
        lacking, over = start.flagged(INCOMPLETE), sums["missing"]
        likelihood[lacking] -= over[:, 0]
        shared_gradient[lacking] -= over[:, 1 : 1 + q]
        shared_hessian[lacking] -= over[:, 1 + q :]
    own = sums["genotype"]
    gradient = np.concatenate([shared_gradient[:, :1], own[:, :1], shared_gradient[:, 1:]], axis=1)
    whole = np.zeros((m, q + 1, q + 1))
    others = np.array([0, *range(2, q + 1)])
    i, j = pairs(q)
    whole[:, others[i], others[j]] = shared_hessian
    whole[:, np.minimum(others, 1), np.maximum(others, 1)] = own[:, 1 : 1 + q]
    whole[:, 1, 1] = own[:, 1 + q]
    return likelihood, gradient, whole[:, *pairs(q + 1)]


_DETERMINED = 1e6
"""Variance inflation factor of a covariate that others determine but for rounding."""


def refuse_without_a_model(plan: Plan, models: Sequence[CovariatesModel]) -> None:
    """Refuse if covariates determine one another wherever there are variants.

    Unlike in linear regression there is a result if they do so nearly, in PLINK 1.9 too.
    """
    if any(model.code != codes.COLLINEAR for model in models):
        return
    for model in models:
        weight, sums, products = np.split(
            model.hessian, [1, len(model.beta)]
        )  # the first are the intercept's
        refuse_dependent(plan, about_means(sums, products, weight.item()), _DETERMINED)
