"""The questions of logistic regression: the covariates' model, and models of the variants of a chunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from unpooled.asking.cohort import MALE, Cohort, Samples
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real, Sent, fraction_bits
from unpooled.asking.sizes import Sizes
from unpooled.errors import ProtocolError
from unpooled.kernels.elementary import log
from unpooled.kernels.fixed_order import pairs, settled, step_of
from unpooled.kernels.logistic import Design, Regressions
from unpooled.methods.regression.about_variants import INCOMPLETE, AboutVariants, OfPeople
from unpooled.methods.regression.ascent import MOST_EVALUATIONS
from unpooled.methods.regression.counts import TIES
from unpooled.methods.regression.options import is_exact
from unpooled.methods.regression.pool import Pool, everyone, foreseen_fits
from unpooled.methods.shared.allele_coding import MT2, X2, X2_KNOWN, Y2, counted, of_one_copy, on_x, sexes
from unpooled.methods.shared.chunks import DIPLOID, MT, Chunk, X, Y, foreseen_of
from unpooled.methods.shared.copies import Copies
from unpooled.methods.shared.groups import CASE, COMPLETE, CONTROL, complete
from unpooled.methods.shared.options import is_apart
from unpooled.methods.shared.standardise import Columns
from unpooled.plan.genotype_model import Terms, terms_of
from unpooled.plan.plan import Plan


@dataclass(frozen=True, eq=False)
class People:
    """People in the regressions of a class of chromosomes at one cohort, with their covariates."""

    covariates: np.ndarray
    """float64 (n, c): standardised, then on X, if sex varies, 1 for men; 0 for whoever is not inside."""
    inside: np.ndarray
    case: np.ndarray
    unit: np.ndarray
    """Value of one copy: 1/2 where there is one allele, of which a homozygous call has two copies."""
    group: np.ndarray
    """int64: which of the `sexes` of this class each person belongs to."""

    @classmethod
    def of(
        cls, samples: Samples, chromosome: str, with_sex: bool, centre: np.ndarray, exponent: np.ndarray
    ) -> People:
        if samples.covariates.shape[1] != len(centre):
            raise ProtocolError("the question has another number of covariates than this cohort's data")
        men = samples.sex == MALE
        inside = complete(samples) & counted(chromosome, samples)
        values = Columns(centre, exponent).apply(np.where(inside[:, None], samples.covariates, 0))
        columns = [values, men[:, None]] if with_sex else [values]
        return cls(
            np.where(inside[:, None], np.concatenate(columns, axis=1), 0),
            inside,
            np.where(inside, samples.phenotype, 0),
            np.where(of_one_copy(chromosome, samples), 0.5, 1.0),
            np.where(men | (len(sexes(chromosome)) == 1), 0, 1),
        )

    def null(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate the model without genotype: design (n, 1 + c), weights, residuals, log-likelihoods; 0
        outside.
        """
        x = np.where(self.inside[:, None], np.column_stack([np.ones(len(self.case)), self.covariates]), 0)
        # Not a product of matrices: BLAS adds in an order that goes with the processor and its cores.
        eta = np.clip(np.einsum("ni,i->n", x, beta), -40, 40)
        p = 1 / (1 + np.exp(-eta))
        likelihood = self.case * eta - np.logaddexp(0, eta)
        weight, residual = p * (1 - p), self.case - p
        weight, residual, likelihood = (np.where(self.inside, a, 0) for a in (weight, residual, likelihood))
        return x, weight, residual, likelihood


class LikelihoodBounded(OfPeople):
    """Bounds that include sums of log-likelihoods, none beyond 64: linear predictors are clipped at +-40."""

    @property
    def parameters(self) -> int:
        """Number of coefficients of a model."""
        raise NotImplementedError

    @property
    def triangle(self) -> int:
        return self.parameters * (self.parameters + 1) // 2

    @property
    def likelihoods(self) -> int:
        return 64 * max(self.people, 1)


OF_MODEL, _OF_VARIANT = 30, 20
"""Bits after the point of the covariates' coefficients, and of a variant's: see `step_of`."""

_SHARED = {MT: DIPLOID, MT2: DIPLOID, X2: X, Y2: Y}
"""Codings that share the covariates' model of another, because how copies count makes no difference to it."""


def model_of(coding: str) -> str:
    """The coding whose covariates' model a coding has."""
    return _SHARED.get(coding, coding)


def models_of(chunks: Iterable[Chunk]) -> list[str]:
    """The codings that have a covariates' model of their own, among those of some chunks."""
    found = {model_of(chunk.chromosome) for chunk in chunks}
    return [coding for coding in (DIPLOID, X, X2_KNOWN, Y) if coding in found]


_NULL_TELLS = "how the covariates are associated with being a case in the pool, step by step"


@dataclass(frozen=True, eq=False)
class FitCovariates(LikelihoodBounded, Question, name="logistic/null", title="Fit covariates"):
    """Log-likelihood, gradient and Hessian of the model without genotype."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "likelihood",
            (),
            "likelihoods",
            "log-likelihood of the covariates' model",
            "how well the covariates tell cases from controls in the pool",
        ),
        Real("gradient", ("parameters",), "bound", "its gradient", _NULL_TELLS),
        Real("hessian", ("triangle",), "bound", "its second derivatives", _NULL_TELLS),
    )
    each: ClassVar[dict[str, str]] = {"parameters": "parameter", "triangle": "pair of parameters"}
    asked_if: ClassVar[Condition] = lambda plan: not is_apart(plan)

    chromosome: str
    with_sex: bool
    people: int
    centre: np.ndarray
    exponent: np.ndarray
    beta: np.ndarray
    iteration: int
    """Number of the step that leads here; 0 at the start. Cohorts are told it only to show progress."""
    evaluation: int
    """Number of the evaluation, from 1; refused trials count, too."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        asked = foreseen_fits(plan, sizes)
        if asked is None:
            return None
        count = len(plan.covariate_columns)
        columns = Columns(np.zeros(count), np.zeros(count, np.int64))
        questions = [cls.first(plan, everyone(plan), columns, coding) for coding in models_of(asked)]
        return Foreseen(questions, MOST_EVALUATIONS, exact=False, usual_rounds=6)

    @classmethod
    def first(cls, plan: Plan, pool: Pool, columns: Columns, coding: str) -> FitCovariates:
        """The first question: all coefficients are 0, but for the intercept."""
        with_sex = on_x(coding) and pool.sex_varies
        cases, controls = (
            sum(pool.of(COMPLETE, phenotype, *filter(None, [sex])) for sex in sexes(coding))
            for phenotype in (CASE, CONTROL)
        )
        beta = np.zeros(1 + len(columns.centre) + with_sex)
        beta[0] = log(np.array(cases / controls)) if cases and controls else 0.0
        return cls(
            chromosome=coding,
            with_sex=with_sex,
            people=cases + controls,
            centre=columns.centre,
            exponent=columns.exponent,
            beta=beta,
            iteration=0,
            evaluation=1,
        )

    @property
    def grid(self) -> float:
        """Step of the grid that coefficients are rounded to."""
        return step_of(OF_MODEL, self.people)

    def further(self, beta: np.ndarray, iteration: int) -> FitCovariates:
        """The next question, at other coefficients: on their grid."""
        trial = settled(beta, self.grid)
        return replace(self, beta=trial, iteration=iteration, evaluation=self.evaluation + 1)

    @property
    def parameters(self) -> int:
        return len(self.beta)

    def local(self, cohort: Cohort) -> Arrays:
        people = People.of(cohort.samples, self.chromosome, self.with_sex, self.centre, self.exponent)
        x, weight, residual, likelihood = people.null(self.beta)
        i, j = pairs(self.parameters)
        return {
            "likelihood": np.array(likelihood.sum()),
            "gradient": np.einsum("n,ni->i", residual, x),  # as in People.null: not by BLAS
            "hessian": np.einsum("n,ni,ni->i", weight, x[:, i], x[:, j]),
        }


Asked = TypeVar("Asked", bound="OfModels")


@dataclass(frozen=True, eq=False)
class OfModels(LikelihoodBounded, AboutVariants):
    """A question about models of some variants of a chunk."""

    usual_rounds: ClassVar[int] = 1
    """Usual number of rounds; most variants need fewer."""

    with_sex: bool
    beta: np.ndarray

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return foreseen_of(
            foreseen_fits(plan, sizes),
            lambda chunk: cls(**cls.foreseen_fields(plan, chunk), **cls.foreseen_models(plan, chunk)),
            rounds=cls.most_rounds,
            usual_rounds=cls.usual_rounds,
        )

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        """The other fields of a question about a chunk."""
        raise NotImplementedError

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Return what is sent; under the rule `mean`, floors ensure that no sum is of one person."""
        return tuple(replace(array, of_one=is_exact(plan)) for array in super().sends_under(plan))

    @property
    def coefficients(self) -> tuple[int, ...]:
        """The shape of `beta`."""
        raise NotImplementedError

    @property
    def grid(self) -> float:
        """Step of the grid that coefficients are rounded to."""
        return step_of(_OF_VARIANT, self.people)

    @property
    def terms(self) -> Terms:
        """Terms of the model, including the product of genotype and sex if there are other interactions; sex
        is the last covariate.
        """
        terms = super().terms
        if not (self.with_sex and terms.interacting):
            return terms
        return replace(terms, interacting=(*terms.interacting, self.covariates))

    @property
    def parameters(self) -> int:
        """Intercept, genotype, covariates, and what else the genotype becomes."""
        return 2 + self.covariates + self.with_sex + len(self.terms.extra)

    @property
    def covariates(self) -> int:
        return len(self.plan.covariate_columns)

    def people_of(self, cohort: Cohort) -> People:
        return People.of(cohort.samples, self.chromosome, self.with_sex, self.centre, self.exponent)


def about_some(
    kind: type[Asked], question: OfModels, which: np.ndarray, beta: np.ndarray, **changes: Any
) -> Asked:
    """A question about some of the variants, bool (m,), of another kind or with other fields.

    It is asked at `beta` on its grid: an iteration goes on from the question's.
    """
    places = np.flatnonzero(question.asked)
    left = np.zeros_like(question.asked)
    left[places[which]] = question.asked[places[which]]
    fill = question.fill if question.exact else question.fill[which[question.flagged(INCOMPLETE)]]
    names = {field.name for field in fields(kind)}
    same = {field.name: getattr(question, field.name) for field in fields(question) if field.name in names}
    trial = settled(beta, question.grid)
    return kind(**same | {"asked": left, "fill": fill, "beta": trial} | changes)


_MODEL_TELLS = (
    "the pool's estimate of each variant, step by step; by the rule `exact`, for a variant that only one "
    "person carries, that person's covariates and phenotype, without name or cohort"
)


@dataclass(frozen=True, eq=False)
class Start(OfModels, name="logistic/start", title="Start from the covariates' model"):
    """Sums at the null model, which all variants share."""

    sends: ClassVar[tuple[Count | Real, ...]] = (
        TIES,
        Real(
            "genotype",
            ("variants", "genotype_sums"),
            "bound",
            "per variant: sums of genotype times residual, weight, and weighted covariate, and of its square "
            "times weight",
            "how each variant is associated with being a case and with the covariates in the pool; by the "
            "rule `exact`, for a variant that only one person carries, that person's covariates and "
            "phenotype, without name or cohort",
            of_one=True,
        ),
        Real(
            "missing",
            ("incomplete", "missing_sums"),
            "likelihoods",
            "per variant with missing calls, under the rule `exact` only: sums over the people without a "
            "call of residuals, weights, their products with covariates, and log-likelihoods. With few "
            "missing calls these are values of single people, without name or cohort",
            "covariates and phenotype of people without a call: if they are few, of single people",
            of_one=True,
        ),
    )
    asked_if: ClassVar[Condition] = lambda plan: terms_of(plan).is_plain and not is_apart(plan)

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        with_sex = on_x(chunk.chromosome)
        return {"with_sex": with_sex, "beta": np.zeros(1 + len(plan.covariate_columns) + with_sex)}

    @property
    def coefficients(self) -> tuple[int, ...]:
        return (1 + len(self.centre) + self.with_sex,)  # without genotype

    @property
    def genotype_sums(self) -> int:
        return 3 + len(self.beta) - 1

    @property
    def missing_sums(self) -> int:
        q = len(self.beta)
        return 1 + q + q * (q + 1) // 2

    def local(self, cohort: Cohort) -> Arrays:
        people = self.people_of(cohort)
        copies, lacking = self.copies_of(cohort), self.flagged(INCOMPLETE)
        x, weight, residual, likelihood = people.null(self.beta)
        unit = people.unit[:, None]
        columns = np.column_stack([residual, weight[:, None] * x]) * unit
        squared = weight[:, None] * unit**2
        sums = copies.with_squares(columns, squared)
        first = self.first_of_ties(copies.second)
        if self.exact:
            i, j = pairs(len(self.beta))
            each = np.column_stack([likelihood, x * residual[:, None], x[:, i] * x[:, j] * weight[:, None]])
            return {"first": first, "genotype": sums, "missing": copies.over_missing(lacking, each)}
        for k in range(self.fill.shape[1]):
            among = (people.group == k)[:, None]
            whole = np.column_stack([residual, weight[:, None] * x, weight])
            over = copies.over_missing(lacking, whole * among)
            fill = self.fill[:, k : k + 1]
            sums[lacking] += over * np.concatenate([np.repeat(fill, x.shape[1] + 1, axis=1), fill**2], axis=1)
        return {"first": first, "genotype": sums, "missing": np.zeros((0, self.missing_sums))}


@dataclass(frozen=True, eq=False)
class Evaluate(OfModels, name="logistic/evaluate", title="Fit model"):
    """Log-likelihood, gradient and Hessian of each variant at its own coefficients, (m, parameters)."""

    most_rounds: ClassVar[int] = MOST_EVALUATIONS
    usual_rounds: ClassVar[int] = 3
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "likelihood",
            ("variants",),
            "likelihoods",
            "per variant: log-likelihood",
            "how well each variant with the covariates tells cases from controls in the pool",
        ),
        Real(
            "gradient",
            ("variants", "parameters"),
            "bound",
            "per variant: its gradient",
            _MODEL_TELLS,
            of_one=True,
        ),
        Real(
            "hessian",
            ("variants", "triangle"),
            "bound",
            "per variant: its second derivatives",
            _MODEL_TELLS,
            of_one=True,
        ),
    )
    each: ClassVar[dict[str, str]] = {
        **OfModels.each,
        "parameters": "parameter",
        "triangle": "pair of parameters",
    }
    asked_if: ClassVar[Condition] = lambda plan: not is_apart(plan)

    iteration: int
    """Number of the step, from 1. Cohorts are told it only to show progress."""
    evaluation: int
    """Number of the evaluation, from 1; refused trials count, too."""

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        with_sex = on_x(chunk.chromosome)
        columns = 2 + len(plan.covariate_columns) + with_sex + len(terms_of(plan, with_sex).extra)
        beta = np.zeros((chunk.variants, columns))
        return {"with_sex": with_sex, "beta": beta, "iteration": 1, "evaluation": 1}

    @property
    def coefficients(self) -> tuple[int, ...]:
        return self.variants, self.parameters

    def local(self, cohort: Cohort) -> Arrays:
        regressions = self.regressions_of(cohort, self.copies_of(cohort))
        likelihood, gradient, hessian = regressions.evaluate(self.beta)
        return {"likelihood": likelihood, "gradient": gradient, "hessian": hessian}

    def regressions_of(self, cohort: Cohort, copies: Copies) -> Regressions:
        fill, lacking = np.zeros((self.variants, 2)), self.flagged(INCOMPLETE)
        if not self.exact:
            fill[lacking, : self.fillings] = self.fill
        design = self.design_of(self.people_of(cohort))
        return Regressions(copies.values, copies.second, lacking, design, fill, self.exact)

    def fields_of(self, part: slice) -> dict[str, Any]:
        return {"beta": self.beta[part]}

    def design_of(self, people: People) -> Design:
        coded = np.array([coded.values for coded in self.terms.coded], np.float64)
        extra = np.array(self.terms.extra, np.int64).reshape(-1, 2)
        each = (people.covariates, people.inside, people.case, people.unit, people.group)
        return Design.of(*each, coded, extra)


@dataclass(frozen=True, eq=False)
class StartApart(Evaluate, name="logistic/start-apart", title="Start from a model without effects"):
    """The same at models without effects, where the genotype is more, or something else, than copies."""

    most_rounds: ClassVar[int] = 1
    usual_rounds: ClassVar[int] = 1
    asked_if: ClassVar[Condition] = lambda plan: not terms_of(plan).is_plain

    @property
    def turn(self) -> int:
        return 0


@dataclass(frozen=True, eq=False)
class Approach(Evaluate, name="logistic/approach", title="Approach the estimates", ring_bits=32):
    """Gradient and Hessian in single precision, one step from the null model: nothing is decided by them.

    Half the bits are enough for the Hessian, by which a step is off by a share of itself. An error of the
    gradient is one of the estimate, so what is below its bits is sent as well.
    """

    most_rounds: ClassVar[int] = 1
    usual_rounds: ClassVar[int] = 1
    sends: ClassVar[tuple[Real, ...]] = (
        *Evaluate.sends[1:],
        Real(
            "rest",
            ("variants", "parameters"),
            1,
            "per variant: the remaining digits of its gradient",
            _MODEL_TELLS,
            of_one=True,
        ),
    )

    @property
    def bits(self) -> int:
        """Bits after the point of the gradient without its rest."""
        return fraction_bits(self.bound, self.plan.cohorts, self.ring_bits)

    def local(self, cohort: Cohort) -> Arrays:
        found = super().local(cohort)
        units = np.ldexp(found["gradient"], self.bits)
        whole = np.rint(units)
        gradient = np.ldexp(whole, -self.bits)
        return {"gradient": gradient, "hessian": found["hessian"], "rest": units - whole}

    def gradient(self, sums: Arrays) -> np.ndarray:
        """The whole gradient: float64 (m, parameters)."""
        return np.asarray(sums["gradient"] + np.ldexp(sums["rest"], -self.bits))

    @property
    def turn(self) -> int:
        return 0

    def design_of(self, people: People) -> Design:
        return super().design_of(people).in_single_precision()
