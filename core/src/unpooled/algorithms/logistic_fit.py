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
from unpooled.algorithms.ascent import MOST_EVALUATIONS, Advance, Ascent
from unpooled.algorithms.chi_square import Chunk
from unpooled.algorithms.coding import most_copies, on_x, unit
from unpooled.algorithms.groups import COMPLETE, MEN
from unpooled.algorithms.linear_fit import pairs, square
from unpooled.algorithms.logistic_counts import CaseControlCounts
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

_TAME = 0.1
"""Half the Newton decrement up to which a step in single precision is taken without a look: half a standard
error, on which a likelihood hardly bends."""

_NOISE = 1e-10
"""And below which single precision does not know the step."""


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
        hessian: np.ndarray | None = None,
    ) -> Rows:
        """Result rows of some variants, with the code of each; estimates, if any, as cohorts count copies."""
        done, null = self.some(which), self.null
        plan = plan_of(self.question.plan)
        tests = 1 if plan.hide_covar else 1 + len(null.centre) + null.pool(plan).sex_varies
        shown = {name: np.full((len(done.variants), tests), np.nan) for name in ("beta", "se")}
        if beta is not None and hessian is not None:
            beta, hessian = done.of_a1(beta, hessian, null.pool(plan))
            variance = newton(np.zeros_like(beta), hessian)[2]
            code = np.where(code == codes.FITTED, null.refusals(hessian, variance), code).astype(np.uint8)
            width = min(tests, len(null.units))
            good = np.isin(code, (codes.FITTED, *codes.REFUSED))[:, None]
            shown["beta"][:, :width] = np.where(good, beta[:, 1:] * null.units, np.nan)[:, :width]
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

    @property
    def counted_calls(self) -> CaseControlCounts:
        """The counts by copies of the allele that is counted."""
        question, exact = self.question, plan_of(self.question.plan).missing == EXACT
        counts = CaseControlCounts.of(self.counts, question.groups, question.chromosome, exact)
        return counts.of_other_allele(~self.counted)

    def of_a1(self, beta: np.ndarray, hessian: np.ndarray, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
        """Models of copies of A1, from models of the copies that cohorts counted: of a tie these may differ.

        Copies of the other allele are all copies less those of this one. How many those are in all depends
        on sex on X, so that there the coefficient of sex is another, too.
        """
        turned = self.counted != self.first_is_a1
        most = most_copies(self.question.chromosome)
        other = np.eye(beta.shape[1])
        other[1, 1] = -1
        if self.null.with_sex:
            other[1, 0], other[1, -1] = most[1], most[0] - most[1]
        else:
            other[1, 0] = most[0] if len(most) == 1 or sizes.of(COMPLETE, MEN) else most[1]
        turned_hessian = other @ square(hessian[turned], len(other)) @ other.T
        beta, hessian = beta.copy(), hessian.copy()
        beta[turned] = beta[turned] @ other
        hessian[turned] = turned_hessian[:, *pairs(len(other))]
        return beta, hessian


@dataclass(frozen=True, eq=False)
class OfModels(LikelihoodBounded, AboutVariants):
    """A question about models of some variants of a chunk."""

    usual_rounds: ClassVar[int] = 1
    """How often as a rule: about most variants less often."""

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
        return Foreseen(questions, cls.most_rounds, exact=False, usual_rounds=cls.usual_rounds)

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        """The other fields of a question about a chunk."""
        raise NotImplementedError

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
        null_model = np.tile(np.insert(self.beta, 1, 0.0), (m, 1))
        order = settled(self.work.first_is_a1, self.flagged(TIED), total["first"], self.cohorts)
        work = replace(self.work, first_is_a1=order)
        plan = plan_of(work.question.plan)
        found = Ascent.begin(null_model).advance(null_model, likelihood, gradient, hessian, plan)
        trial = null_model + work.counted_calls.estimated_from(found.following - null_model)
        found = replace(found, ascent=replace(found.ascent, whole=np.zeros(m, bool)), following=trial)
        yield from _go_on(self, Approach, work, found, hessian, evaluation=1)


@dataclass(frozen=True, eq=False)
class Evaluate(OfModels):
    """Log-likelihood, gradient and Hessian of each variant at its own coefficients, (m, parameters)."""

    most_rounds: ClassVar[int] = MOST_EVALUATIONS
    usual_rounds: ClassVar[int] = 3
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
    evaluation: int
    """From 1, too: it is more where a trial was refused."""
    work: Work | None = server_only(None)  # noqa: RUF009
    ascent: Ascent | None = server_only(None)  # noqa: RUF009

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        (start, stop, chromosome), columns = chunk, len(plan.covariate_columns)
        beta = np.zeros((stop - start, 2 + columns + on_x(chromosome)))
        return {"with_sex": on_x(chromosome), "beta": beta, "iteration": 1, "evaluation": 1}

    @property
    def coefficients(self) -> tuple[int, ...]:
        return self.variants, self.parameters

    @property
    def turn(self) -> int:
        return self.iteration

    def agrees(self, plan: Plan) -> bool:
        within = self.iteration <= plan.max_iterations and self.evaluation <= MOST_EVALUATIONS
        return super().agrees(plan) and within and min(self.iteration, self.evaluation) >= 1

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
        if self.work is None or self.ascent is None:
            raise ProtocolError("variants can only be fitted where the null model is")
        plan = plan_of(self.work.question.plan)
        found = self.ascent.advance(self.beta, total["likelihood"], total["gradient"], total["hessian"], plan)
        yield from _go_on(self, Evaluate, self.work, found, total["hessian"], self.evaluation + 1)


@dataclass(frozen=True, eq=False)
class Approach(Evaluate):
    """Gradient and Hessian in single precision, one step from the null model: nothing is decided by them."""

    most_rounds: ClassVar[int] = 1
    usual_rounds: ClassVar[int] = 1
    name: ClassVar[str] = "logistic/approach"
    title: ClassVar[str] = "Approach the estimates"
    sends: ClassVar[tuple[Real, ...]] = tuple(array for array in Evaluate.sends if array.name != "likelihood")

    def local(self, cohort: Cohort) -> Arrays:
        return {name: sums for name, sums in super().local(cohort).items() if name != "likelihood"}

    @property
    def turn(self) -> int:
        return 0

    def design_of(self, people: People) -> Design:
        return super().design_of(people).in_single_precision()

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        step, decrement, _, code = newton(total["gradient"], total["hessian"])
        tame = (code == codes.FITTED) & (decrement <= _TAME) & (decrement >= _NOISE)
        same = {field.name: getattr(self, field.name) for field in fields(self)}
        yield Evaluate(**same | {"beta": np.where(tame[:, None], self.beta + step, self.beta)})


def _go_on(
    asked: OfModels,
    following: type[Evaluate],
    work: Work,
    found: Advance,
    hessian: np.ndarray,
    evaluation: int,
) -> Iterator[Step | Rows]:
    """Result rows of the variants that have ended, or have no estimate, and a question about the others."""
    code = np.where(work.code == codes.FITTED, found.code, work.code).astype(np.uint8)
    going = ~found.ended & (code == codes.FITTED)
    if evaluation > MOST_EVALUATIONS:
        code[going], going = codes.UNFINISHED, np.zeros_like(going)
    if not going.all():
        yield work.rows(~going, code[~going], found.following[~going], hessian[~going])
    if going.any():
        ascent = found.ascent.some(going)
        places = np.flatnonzero(asked.asked)
        left = np.zeros_like(asked.asked)
        left[places[going]] = asked.asked[places[going]]
        yield following(
            start=asked.start,
            asked=left,
            chromosome=asked.chromosome,
            with_sex=asked.with_sex,
            exact=asked.exact,
            fill=asked.fill if asked.exact else asked.fill[going[asked.flagged(INCOMPLETE)]],
            people=asked.people,
            centre=asked.centre,
            exponent=asked.exponent,
            beta=found.following[going],
            cohorts=asked.cohorts,
            iteration=1 + int(ascent.taken.max()),
            evaluation=evaluation,
            work=work.some(going),
            ascent=ascent,
        )
