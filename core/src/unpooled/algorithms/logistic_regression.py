"""Logistic regression of cases and controls on each variant (PLINK's --logistic), covariates included.

    Census, standardising   see unpooled.algorithms.regression and .standardise
    Null            Newton on the covariates alone: a few tiny rounds, for each class of chromosomes
    CountGenotypes  per variant the genotype counts of cases and controls: A1, filters, separation
    Start           the first evaluation of every variant, at the null model: all have the same weights, so it
                    costs and sends what linear regression does
    Approach        gradient and Hessian at each variant's first trial, in single precision
    Evaluate        the same with the log-likelihood in double precision, again and again; those that have
                    converged leave (both in unpooled.algorithms.logistic_fit)

The first trial follows from Start's step and from the genotype counts: unpooled.algorithms.logistic_counts.
When a trial is taken, and when a variant has converged, decides unpooled.algorithms.ascent; its standard
errors come from the Hessian there. Without a maximum within the plan's limit it is reported as unfinished,
not as a number. It is separated, with no estimate, if no case has fewer (or none has more) copies than any
control.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.algorithms import plausible, regression
from unpooled.algorithms.about_variants import FIRST, INCOMPLETE, SECOND, TIED
from unpooled.algorithms.algorithm import Algorithm
from unpooled.algorithms.ascent import MOST_EVALUATIONS, Ascent
from unpooled.algorithms.chi_square import Chunk, chunks, foreseen_chunks
from unpooled.algorithms.coding import (
    MT2,
    PLACES,
    X2,
    X2_KNOWN,
    Y2,
    has_place,
    most_copies,
    on_x,
    sexes,
)
from unpooled.algorithms.genotype_table import DIPLOID, MT, X, Y
from unpooled.algorithms.groups import CASE, COMPLETE, CONTROL
from unpooled.algorithms.linear_fit import pairs
from unpooled.algorithms.logistic_counts import CaseControlCounts
from unpooled.algorithms.logistic_fit import (
    Approach,
    Evaluate,
    NullModel,
    Start,
    Work,
)
from unpooled.algorithms.logistic_people import LikelihoodBounded, People
from unpooled.algorithms.regression import (
    AlleleOrder,
    Calls,
    Census,
    Sizes,
    asked_chunks,
    columns_of,
    everyone,
    plan_of,
    wanted_groups,
)
from unpooled.algorithms.standardise import Magnitude, Mean, Spread
from unpooled.cohort import Cohort
from unpooled.errors import ProtocolError
from unpooled.formats import regression_report
from unpooled.kernels import least_squares as codes
from unpooled.panel import Panel
from unpooled.plan import EXACT, Plan
from unpooled.protocol import codec
from unpooled.sizes import Sizes as Own
from unpooled.step import Arrays, Asking, Foreseen, Real, Rows, Step, server_only

_SHARED = {MT: DIPLOID, MT2: DIPLOID, X2: X, Y2: Y}
"""Classes of chromosomes that have the null model of another: how copies count makes no difference to it."""


_NULL_TELLS = "how the covariates go with being a case in the pool, step by step"


@dataclass(frozen=True, eq=False)
class Null(LikelihoodBounded, regression.Counted):
    """Log-likelihood, gradient and Hessian of the model without genotype."""

    name: ClassVar[str] = "logistic/null"
    title: ClassVar[str] = "Fit covariates"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "likelihood",
            (),
            "likelihoods",
            "likelihood_bits",
            "log-likelihood of the covariates' model",
            "how well the covariates tell cases from controls in the pool",
        ),
        Real("gradient", ("parameters",), "bound", "bits", "its gradient", _NULL_TELLS),
        Real("hessian", ("triangle",), "bound", "bits", "its second derivatives", _NULL_TELLS),
    )
    each: ClassVar[dict[str, str]] = {"parameters": "parameter", "triangle": "pair of parameters"}

    chromosome: str
    with_sex: bool
    people: int
    centre: np.ndarray
    exponent: np.ndarray
    beta: np.ndarray
    cohorts: int
    iteration: int
    """Which step leads here; 0 where the iteration begins. Cohorts are told it for the people who watch."""
    evaluation: int
    """From 1: it is more where a trial was refused."""
    ascent: Ascent | None = server_only(None)  # noqa: RUF009
    chunks: tuple[Chunk, ...] = server_only(())
    plan: bytes = server_only(b"")
    sizes: tuple[int, ...] = server_only(())

    def __post_init__(self) -> None:
        good = (
            self.chromosome in PLACES
            and plausible.pool(self.people, self.cohorts)
            and plausible.columns(self.centre, self.exponent)
            and plausible.real(self.beta, (1 + len(self.centre) + self.with_sex,))
        )
        plausible.require(good, "covariates")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Own | None) -> Foreseen | None:
        asked = foreseen_chunks(plan, sizes)
        if asked is None:
            return None
        columns = len(plan.covariate_columns)
        null = replace(_null(plan, asked), sizes=everyone(plan).people)
        models = null._of_each_class(np.zeros(columns), np.zeros(columns, np.int64))
        return Foreseen(models, MOST_EVALUATIONS, exact=False, usual_rounds=6)

    @property
    def turn(self) -> int:
        return self.iteration

    def fits_panel(self, chromosomes: np.ndarray, plan: Plan) -> bool:
        """People are apart by sex only where there are variants on X or Y."""
        return has_place(self.chromosome, chromosomes, plan)

    def asking(self) -> Asking:
        return Asking(self.chromosome, most=MOST_EVALUATIONS)

    @property
    def parameters(self) -> int:
        return len(self.beta)

    @property
    def triangle(self) -> int:
        return self.parameters * (self.parameters + 1) // 2

    def local(self, cohort: Cohort) -> Arrays:
        people = People.of(cohort.samples, self.chromosome, self.with_sex, self.centre, self.exponent)
        x, weight, residual, likelihood = people.null(self.beta)
        i, j = pairs(self.parameters)
        return {
            "likelihood": np.array(likelihood.sum()),
            "gradient": x.T @ residual,
            "hessian": np.einsum("n,ni,ni->i", weight, x[:, i], x[:, j]),
        }

    def agrees(self, plan: Plan) -> bool:
        """Without people of unknown sex only by the rule that shows single people."""
        allowed = plan.missing == EXACT or self.chromosome != X2_KNOWN
        allowed &= 0 <= self.iteration <= plan.max_iterations and 1 <= self.evaluation <= MOST_EVALUATIONS
        return allowed and (len(self.centre), self.cohorts) == (len(plan.covariate_columns), plan.cohorts)

    def counted(self, people: tuple[int, ...]) -> Iterator[Step | Rows]:
        plan = plan_of(self.plan)
        following = replace(self, sizes=people)
        columns, among = len(plan.covariate_columns), Sizes(plan.trait, people).of(COMPLETE)
        if columns:
            yield Magnitude.first(among, columns, False, plan.cohorts, following)
        else:
            yield from following.standardised(np.zeros(0), np.zeros(0, np.int64))

    def standardised(self, centre: np.ndarray, exponent: np.ndarray) -> Iterator[Step | Rows]:
        yield from self._of_each_class(centre, exponent)

    def _of_each_class(self, centre: np.ndarray, exponent: np.ndarray) -> Iterator[Null]:
        """The first questions, one for each class of chromosomes that has a model of its own."""
        plan = plan_of(self.plan)
        sizes = Sizes(plan.trait, self.sizes)
        asked = asked_chunks(self.chunks, sizes, plan)
        for chromosome in (DIPLOID, X, X2_KNOWN, Y):
            some = tuple(chunk for chunk in asked if _SHARED.get(chunk[2], chunk[2]) == chromosome)
            if some:
                with_sex = on_x(chromosome) and sizes.sex_varies
                cases, controls = (
                    sum(sizes.of(COMPLETE, phenotype, *filter(None, [sex])) for sex in sexes(chromosome))
                    for phenotype in (CASE, CONTROL)
                )
                beta = np.zeros(1 + len(centre) + with_sex)
                beta[0] = np.log(cases / controls) if cases and controls else 0.0
                yield replace(
                    self,
                    chromosome=chromosome,
                    with_sex=with_sex,
                    people=cases + controls,
                    centre=centre,
                    exponent=exponent,
                    beta=beta,
                    ascent=Ascent.begin(beta[None]),
                    chunks=some,
                )

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        plan = plan_of(self.plan)
        if self.ascent is None:
            raise ProtocolError("covariates can only be fitted where the study is run")
        sums = total["likelihood"][None], total["gradient"][None], total["hessian"][None]
        found = self.ascent.advance(self.beta[None], *sums, plan)
        code = found.code[0]
        if not found.ended[0] and code == codes.FITTED:
            if self.evaluation < MOST_EVALUATIONS:
                yield replace(
                    self,
                    beta=found.following[0],
                    ascent=found.ascent,
                    iteration=1 + int(found.ascent.taken[0]),
                    evaluation=self.evaluation + 1,
                )
                return
            code = codes.UNFINISHED
        sizes = Sizes(plan.trait, self.sizes)
        null = NullModel(
            with_sex=self.with_sex,
            people=self.people,
            centre=self.centre,
            exponent=self.exponent,
            beta=self.beta,
            gradient=total["gradient"],
            hessian=total["hessian"],
            likelihood=float(total["likelihood"]),
            code=int(code),
            sizes=self.sizes,
        )
        for start, stop, chromosome in self.chunks:
            wanted = wanted_groups(chromosome, sizes, plan)
            yield CountGenotypes(
                start=start,
                stop=stop,
                groups=tuple(wanted),
                most=max(wanted.values(), default=0),
                chromosome=chromosome,
                people=sum(wanted.values()),
                files=plan.files,
                cohorts=plan.cohorts,
                plan=self.plan,
                null=null,
            )


@dataclass(frozen=True, eq=False)
class CountGenotypes(regression.CountGenotypes):
    """Genotype counts of one chunk, with what fitting its variants will need."""

    name: ClassVar[str] = "logistic/genotypes"

    null: NullModel | None = server_only(None)  # noqa: RUF009

    def fit(self, variants: np.ndarray, counts: np.ndarray, first_is_a1: np.ndarray) -> Iterator[Step | Rows]:
        if self.null is None:
            raise ProtocolError("variants can only be fitted where the null model is")
        plan, tied = plan_of(self.plan), self.tied(counts)
        sizes = self.null.pool(plan)
        exact = plan.missing == EXACT
        calls = Calls.of(counts, self.groups, self.chromosome, sizes, exact)
        separated = CaseControlCounts.of(counts, self.groups, self.chromosome, exact).separated
        code = np.full(len(variants), self.null.code, np.uint8)
        code = np.where(separated, codes.SEPARATED, code)
        n = calls.called.sum(axis=1) if exact else np.full(len(variants), calls.people.sum())
        code = np.where(_constant(calls), codes.CONSTANT, code)
        code = np.where(n <= len(self.null.beta) + 1, codes.TOO_FEW, code).astype(np.uint8)
        open_ = tied | (code == codes.FITTED)
        first_is_a1 = tied | first_is_a1  # what is counted until a tie is settled
        work = Work(self, self.null, variants, counts, n, code, first_is_a1, first_is_a1)
        if (~open_).any():
            yield work.rows(~open_, code[~open_])
        if open_.any():
            ask = np.where(first_is_a1, FIRST, SECOND) + INCOMPLETE * calls.incomplete + TIED * tied
            asked = np.zeros(self.variants, np.uint8)
            asked[variants[open_] - self.start] = ask[open_]
            most = most_copies(self.chromosome)
            fill = np.where(first_is_a1[:, None], calls.means, most - calls.means)
            yield Start(
                start=self.start,
                asked=asked,
                chromosome=self.chromosome,
                with_sex=self.null.with_sex,
                exact=exact,
                fill=fill[open_ & calls.incomplete & (not exact)],
                people=self.null.people,
                centre=self.null.centre,
                exponent=self.null.exponent,
                beta=self.null.beta,
                cohorts=plan.cohorts,
                work=work.some(open_),
            )


def _constant(calls: Calls) -> np.ndarray:
    """Whether everyone called has the same coded genotype."""
    n, total, squares = (part.sum(axis=1) for part in (calls.called, calls.copies, calls.squares))
    return np.asarray(n * squares == total * total)


def first(plan: Plan, panel: Panel) -> Iterable[Step]:
    """A study starts with the census."""
    return [Census.of(plan, _null(plan, chunks(panel, plan)))]


def _null(plan: Plan, asked: Iterable[Chunk]) -> Null:
    return Null(
        chromosome=DIPLOID,
        with_sex=False,
        people=0,
        centre=np.zeros(0),
        exponent=np.zeros(0, np.int64),
        beta=np.zeros(1),
        cohorts=plan.cohorts,
        iteration=0,
        evaluation=1,
        chunks=tuple(asked),
        plan=codec.encode(plan),
    )


LOGISTIC = Algorithm(
    name="logistic",
    title="Logistic regression",
    method="Being a case was regressed on the copies of A1 by maximum likelihood, as plink1.9 --logistic and "
    "plink2 --glm compute it.",
    traits=("case/control",),
    steps=(
        Census,
        Magnitude,
        Mean,
        Spread,
        Null,
        CountGenotypes,
        AlleleOrder,
        Start,
        Approach,
        Evaluate,
        Ascent,
        NullModel,
        Work,
    ),
    first=first,
    files=regression_report.LOGISTIC_WRITERS,
    usual_files=("assoc",),
    options=regression.OPTIONS | {"beta", "max_iterations", "tolerance"},
    file_name=regression_report.file_name,
    columns=columns_of,
)
