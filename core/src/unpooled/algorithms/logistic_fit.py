"""Logistic regressions of many variants at once, from the null model to their estimates.

See unpooled.algorithms.logistic_regression for the whole; here are the steps `Start` and `Evaluate`, who is
in them at a cohort, and what the server keeps meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from unpooled.algorithms import plausible
from unpooled.algorithms.about_variants import INCOMPLETE, TIED, AboutVariants
from unpooled.algorithms.chi_square import Chunk
from unpooled.algorithms.coding import most_copies, on_x, unit
from unpooled.algorithms.linear_fit import pairs
from unpooled.algorithms.logistic_people import LikelihoodBounded, People
from unpooled.algorithms.regression import (
    TIES,
    Calls,
    CountGenotypes,
    Sizes,
    foreseen_chunks,
    plan_of,
    settled,
    table_of,
)
from unpooled.cohort import Cohort
from unpooled.errors import ProtocolError
from unpooled.kernels import least_squares as codes
from unpooled.kernels import products as kernel
from unpooled.kernels.logistic import Design, evaluate
from unpooled.kernels.newton import entangled, newton
from unpooled.plan import EXACT, Plan
from unpooled.sizes import Sizes as Own
from unpooled.statistics import normal_neg_log10_p
from unpooled.step import Arrays, Count, Foreseen, Real, Rows, Step, server_only

CONVERGED = 1e-12
"""Half the Newton decrement at which a variant leaves."""

SMALL_STEP = 3e-7
"""And the largest step left, in log odds: so that the Hessian is the estimate's, even if nearly separated."""

_WORSE = 1e-9  # of the log-likelihood: less is rounding


@dataclass(frozen=True, eq=False)
class NullModel(Step):
    """The model without genotype, for a class of chromosomes. Not a question: it stays at the server."""

    name: ClassVar[str] = "logistic/null-model"
    title: ClassVar[str] = "Fit covariates"
    sends: ClassVar[tuple[Real, ...]] = ()

    with_sex: bool
    people: int
    centre: np.ndarray
    exponent: np.ndarray
    beta: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    likelihood: float
    code: int
    """Why there is none: `unpooled.kernels.least_squares`."""
    sizes: tuple[int, ...]

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

    def pool(self, plan: Plan) -> Sizes:
        """The pool's people, in the finest groups."""
        return Sizes(plan.trait, self.sizes)


@dataclass(frozen=True, eq=False)
class Work(Step):
    """What the server keeps of variants that are being fitted. Not a question: it stays at the server."""

    name: ClassVar[str] = "logistic/work"
    title: ClassVar[str] = "Fit variants"
    sends: ClassVar[tuple[Real, ...]] = ()

    question: CountGenotypes
    null: NullModel
    variants: np.ndarray
    counts: np.ndarray
    n: np.ndarray
    code: np.ndarray
    """Why there can be no estimate; FITTED if there may be one."""
    counted: np.ndarray
    """bool (m,): the genotype counts copies of the panel's first allele."""
    first_is_a1: np.ndarray

    def some(self, which: np.ndarray) -> Work:
        """Some of the variants: bool (m,)."""
        parts = (self.variants, self.counts, self.n, self.code, self.counted, self.first_is_a1)
        return Work(self.question, self.null, *(part[which] for part in parts))

    def frequency(self, plan: Plan) -> np.ndarray:
        """Frequency of A1 among the people in the regression: float64 (m,); NaN without a call."""
        chromosome, sizes = self.question.chromosome, self.null.pool(plan)
        calls = Calls.of(self.counts, self.question.groups, chromosome, sizes, plan.missing == EXACT)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = calls.copies.sum(axis=1) / (calls.called * most_copies(chromosome)).sum(axis=1)
        return np.asarray(np.where(self.first_is_a1, share, 1 - share))

    def rows(
        self,
        which: np.ndarray,
        code: np.ndarray,
        beta: np.ndarray | None = None,
        variance: np.ndarray | None = None,
    ) -> Rows:
        """Result rows of some variants; estimates, if any, are for the standardised covariates."""
        done, null = self.some(which), self.null
        plan = plan_of(self.question.plan)
        sizes = null.pool(plan)
        c = len(null.centre)
        tests = 1 if plan.hide_covar else 1 + c + sizes.sex_varies
        shown = {name: np.full((len(done.variants), tests), np.nan) for name in ("beta", "se")}
        if beta is not None and variance is not None:
            width = min(tests, len(null.units))
            good = np.isin(code, (codes.FITTED, *codes.REFUSED))[:, None]
            turned = np.where(done.counted == done.first_is_a1, 1.0, -1.0)
            effect = np.column_stack([beta[:, 1] * turned, beta[:, 2:]])
            shown["beta"][:, :width] = np.where(good, effect * null.units, np.nan)[:, :width]
            shown["se"][:, :width] = np.where(good, np.sqrt(variance[:, 1:]) * null.units, np.nan)[:, :width]
        for column in shown.values():
            column[:, 0] *= unit(self.question.chromosome)
        return Rows(
            table_of(self.question.chromosome),
            {
                "variant": done.variants,
                "a1_freq": done.frequency(plan),
                "n": done.n.astype(np.int32),
                "code": code,
                **shown,
                "neg_log10_p": normal_neg_log10_p(shown["beta"] / shown["se"]),
                **self.question.table(done.counts).columns(done.first_is_a1),
            },
        )


@dataclass(frozen=True, eq=False)
class OfModels(LikelihoodBounded, AboutVariants):
    """A question about models of some variants of a chunk."""

    with_sex: bool
    beta: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Own | None) -> Foreseen | None:
        chunks = foreseen_chunks(plan, sizes)
        if chunks is None:
            return None
        questions = (
            cls(**cls.foreseen_fields(plan, chunk), **cls.foreseen_models(plan, chunk)) for chunk in chunks
        )
        return Foreseen(questions, cls.most_rounds(plan), exact=False)

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        """The other fields of a question about a chunk."""
        raise NotImplementedError

    @classmethod
    def most_rounds(cls, plan: Plan) -> int:
        """How often it is asked about a variant at most."""
        return 1

    def __post_init__(self) -> None:
        super().__post_init__()
        plausible.require(plausible.real(self.beta, self.coefficients), "models")

    @property
    def coefficients(self) -> tuple[int, ...]:
        """The shape of `beta`."""
        raise NotImplementedError

    @property
    def parameters(self) -> int:
        """Intercept, genotype, covariates."""
        return 2 + len(self.centre) + self.with_sex

    @property
    def triangle(self) -> int:
        return self.parameters * (self.parameters + 1) // 2

    def people_of(self, cohort: Cohort) -> People:
        return People.of(cohort.samples, self.chromosome, self.with_sex, self.centre, self.exponent)


_MODEL_TELLS = (
    "the pool's estimate of each variant, step by step; of a variant that one person carries, that person's "
    "covariates and phenotype, without name or cohort"
)


@dataclass(frozen=True, eq=False)
class Start(OfModels):
    """Sums at the null model, which all variants share."""

    name: ClassVar[str] = "logistic/start"
    title: ClassVar[str] = "Start from the covariates' model"
    sends: ClassVar[tuple[Count | Real, ...]] = (
        TIES,
        Real(
            "genotype",
            ("variants", "genotype_sums"),
            "bound",
            "bits",
            "per variant: sums of genotype times residual, weight, and weighted covariate, and of its square "
            "times weight",
            "how each variant goes with being a case and with the covariates in the pool; of a variant that "
            "one person carries, that person's covariates and phenotype, without name or cohort",
        ),
        Real(
            "missing",
            ("incomplete", "missing_sums"),
            "likelihoods",
            "likelihood_bits",
            "per variant with missing calls, by the rule `exact` only: sums over the people without a call "
            "of residuals, weights, their products with covariates, and log-likelihoods. With few missing "
            "calls these are values of single people, without name or cohort",
            "covariates and phenotype of people without a call: with few of them, of single people",
        ),
    )

    work: Work | None = server_only(None)  # noqa: RUF009

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        with_sex = on_x(chunk[2])
        return {"with_sex": with_sex, "beta": np.zeros(1 + len(plan.covariate_columns) + with_sex)}

    @property
    def coefficients(self) -> tuple[int, ...]:
        return (self.parameters - 1,)  # without genotype

    @property
    def genotype_sums(self) -> int:
        return 3 + len(self.beta) - 1

    @property
    def missing_sums(self) -> int:
        q = len(self.beta)
        return 1 + q + q * (q + 1) // 2

    def local(self, cohort: Cohort) -> Arrays:
        people = self.people_of(cohort)
        words, second, lacking = self.words_of(cohort)
        x, weight, residual, likelihood = people.null(self.beta)
        unit = people.unit[:, None]
        columns = np.column_stack([residual, weight[:, None] * x]) * unit
        squared = weight[:, None] * unit**2
        sums = kernel.products(words, second, columns, squared)
        first = self.first_of_ties(second)
        if self.exact:
            i, j = pairs(len(self.beta))
            each = np.column_stack([likelihood, x * residual[:, None], x[:, i] * x[:, j] * weight[:, None]])
            return {"first": first, "genotype": sums, "missing": kernel.over_missing(words[lacking], each)}
        for k in range(self.fill.shape[1]):
            among = (people.group == k)[:, None]
            whole = np.column_stack([residual, weight[:, None] * x, weight])
            over = kernel.over_missing(words[lacking], np.ascontiguousarray(whole * among))
            fill = self.fill[:, k : k + 1]
            sums[lacking] += over * np.concatenate([np.repeat(fill, x.shape[1] + 1, axis=1), fill**2], axis=1)
        return {"first": first, "genotype": sums, "missing": np.zeros((0, self.missing_sums))}

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        if self.work is None:
            raise ProtocolError("variants can only be fitted where the null model is")
        null, q, m = self.work.null, len(self.beta), self.variants
        likelihood = np.full(m, null.likelihood)
        null_gradient, null_hessian = (np.tile(part, (m, 1)) for part in (null.gradient, null.hessian))
        if self.exact:
            lacking = self.flagged(INCOMPLETE)
            likelihood[lacking] -= total["missing"][:, 0]
            null_gradient[lacking] -= total["missing"][:, 1 : 1 + q]
            null_hessian[lacking] -= total["missing"][:, 1 + q :]
        sums = total["genotype"]
        gradient = np.concatenate([null_gradient[:, :1], sums[:, :1], null_gradient[:, 1:]], axis=1)
        whole = np.zeros((m, q + 1, q + 1))
        others = np.array([0, *range(2, q + 1)])
        i, j = pairs(q)
        whole[:, others[i], others[j]] = null_hessian
        whole[:, np.minimum(others, 1), np.maximum(others, 1)] = sums[:, 1 : 1 + q]
        whole[:, 1, 1] = sums[:, 1 + q]
        hessian = whole[:, *pairs(q + 1)]
        beta = np.tile(np.insert(self.beta, 1, 0.0), (m, 1))
        order = settled(self.work.first_is_a1, self.flagged(TIED), total["first"], self.cohorts)
        yield from _advance(
            self, replace(self.work, first_is_a1=order), 1, beta, likelihood, gradient, hessian, None
        )


@dataclass(frozen=True, eq=False)
class Evaluate(OfModels):
    """Log-likelihood, gradient and Hessian of each variant at its own coefficients, (m, parameters)."""

    name: ClassVar[str] = "logistic/evaluate"
    title: ClassVar[str] = "Fit model"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "likelihood",
            ("variants",),
            "likelihoods",
            "likelihood_bits",
            "per variant: log-likelihood",
            "how well each variant with the covariates tells cases from controls in the pool",
        ),
        Real(
            "gradient", ("variants", "parameters"), "bound", "bits", "per variant: its gradient", _MODEL_TELLS
        ),
        Real(
            "hessian",
            ("variants", "triangle"),
            "bound",
            "bits",
            "per variant: its second derivatives",
            _MODEL_TELLS,
        ),
    )
    each: ClassVar[dict[str, str]] = {
        **OfModels.each,
        "parameters": "parameter",
        "triangle": "pair of parameters",
    }

    iteration: int
    """From 1. Cohorts are told it for the people who watch."""
    work: Work | None = server_only(None)  # noqa: RUF009
    before: np.ndarray | None = server_only(None)  # noqa: RUF009
    before_likelihood: np.ndarray | None = server_only(None)  # noqa: RUF009

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        (start, stop, chromosome), columns = chunk, len(plan.covariate_columns)
        beta = np.zeros((stop - start, 2 + columns + on_x(chromosome)))
        return {"with_sex": on_x(chromosome), "beta": beta, "iteration": 1}

    @classmethod
    def most_rounds(cls, plan: Plan) -> int:
        return plan.max_iterations

    @property
    def coefficients(self) -> tuple[int, ...]:
        return self.variants, self.parameters

    @property
    def turn(self) -> int:
        return self.iteration

    def agrees(self, plan: Plan) -> bool:
        return super().agrees(plan) and 1 <= self.iteration <= plan.max_iterations

    def local(self, cohort: Cohort) -> Arrays:
        people = self.people_of(cohort)
        words, second, lacking = self.words_of(cohort)
        fill = np.zeros((self.variants, 2))
        if not self.exact:
            fill[lacking, : self.sexes] = self.fill
        likelihood, gradient, hessian = evaluate(
            words, second, lacking, self.design_of(people), self.beta, fill, self.exact
        )
        return {"likelihood": likelihood, "gradient": gradient, "hessian": hessian}

    def design_of(self, people: People) -> Design:
        return Design.of(people.covariates, people.inside, people.case, people.unit, people.group)

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        if self.work is None or self.before is None or self.before_likelihood is None:
            raise ProtocolError("variants can only be fitted where the null model is")
        before = self.before, self.before_likelihood
        yield from _advance(
            self, self.work, self.iteration + 1, self.beta, total["likelihood"], total["gradient"],
            total["hessian"], before,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Approach(Evaluate):
    """Gradient and Hessian in single precision, one step from the null model: nothing is decided by them."""

    name: ClassVar[str] = "logistic/approach"
    title: ClassVar[str] = "Approach the estimates"
    sends: ClassVar[tuple[Real, ...]] = tuple(array for array in Evaluate.sends if array.name != "likelihood")

    @classmethod
    def most_rounds(cls, plan: Plan) -> int:
        return 1

    def local(self, cohort: Cohort) -> Arrays:
        return {name: sums for name, sums in super().local(cohort).items() if name != "likelihood"}

    @property
    def turn(self) -> int:
        return 0

    def design_of(self, people: People) -> Design:
        return super().design_of(people).in_single_precision()

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        step, _, _, code = newton(total["gradient"], total["hessian"])
        good = (code == codes.FITTED) & np.isfinite(step).all(axis=1)
        same = {field.name: getattr(self, field.name) for field in fields(self)}
        yield Evaluate(**same | {"beta": np.where(good[:, None], self.beta + step, self.beta)})


def _advance(
    asked: OfModels,
    work: Work,
    iteration: int,
    beta: np.ndarray,
    likelihood: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
    before: tuple[np.ndarray, np.ndarray] | None,
) -> Iterator[Step | Rows]:
    """Result rows of the variants that have converged or cannot, and the next evaluation of the others."""
    step, decrement, variance, code = newton(gradient, hessian)
    code = np.where(work.code == codes.FITTED, code, work.code).astype(np.uint8)
    following, kept, kept_likelihood = beta + step, beta, likelihood
    worse = np.zeros(len(beta), bool)
    if before is not None:
        worse = likelihood < before[1] - _WORSE * np.abs(before[1])
        following = np.where(worse[:, None], (before[0] + beta) / 2, following)
        kept = np.where(worse[:, None], before[0], beta)
        kept_likelihood = np.where(worse, before[1], likelihood)
        code = np.where(worse, codes.FITTED, code).astype(np.uint8)
    with np.errstate(invalid="ignore"):
        small = np.abs(step).max(axis=1) <= SMALL_STEP
    plan = plan_of(work.question.plan)
    converged = (decrement <= CONVERGED) & small
    if before is not None and plan.tolerance:
        converged |= np.abs(likelihood - before[1]) <= plan.tolerance
    converged &= ~worse & (code == codes.FITTED)
    going = ~converged & (code == codes.FITTED)
    stuck = going & ((iteration > plan.max_iterations) | ~np.isfinite(following).all(axis=1))
    code = np.where(stuck, codes.UNFINISHED, code).astype(np.uint8)
    code[converged] = work.null.refusals(hessian[converged], variance[converged])
    going &= ~stuck
    if not going.all():
        yield work.rows(~going, code[~going], following[~going], variance[~going])
    if going.any():
        places = np.flatnonzero(asked.asked)
        left = np.zeros_like(asked.asked)
        left[places[going]] = asked.asked[places[going]]
        kind = Approach if isinstance(asked, Start) else Evaluate
        yield kind(
            start=asked.start,
            asked=left,
            chromosome=asked.chromosome,
            with_sex=asked.with_sex,
            exact=asked.exact,
            fill=asked.fill if asked.exact else asked.fill[going[asked.flagged(INCOMPLETE)]],
            people=asked.people,
            centre=asked.centre,
            exponent=asked.exponent,
            beta=following[going],
            cohorts=asked.cohorts,
            work=work.some(going),
            iteration=iteration,
            before=kept[going],
            before_likelihood=kept_likelihood[going],
        )
