"""Linear regression of a quantitative phenotype on each variant (PLINK's --linear), covariates included.

    Census, standardising                     see unpooled.algorithms.regression and .standardise
    Block           sums of covariates and phenotype and of their products: once for all variants
    CountGenotypes  per variant the genotype counts, hence the sums of the genotype and of its square
    Sums            per variant the sums of genotype x covariate and of genotype x phenotype; and, by the rule
                    `exact`, for variants with missing calls the products of covariates and phenotype summed
                    over the people without a call, which is what the block has too much there

The residual sum of squares follows from the sums: y'y - b'X'y, harmless after standardising. By the rule
`mean` a missing call is taken to be the mean of the pool's calls (on X, of the same sex), and no sum is over
the people without a call alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.algorithms import plausible, regression
from unpooled.algorithms.algorithm import Algorithm
from unpooled.algorithms.chi_square import Chunk, chunks, foreseen_chunks
from unpooled.algorithms.coding import (
    PLACES,
    X2_KNOWN,
    has_place,
)
from unpooled.algorithms.genotype_table import X, Y
from unpooled.algorithms.groups import (
    COMPLETE,
    MEN,
    NOT_MEN,
    UNKNOWN,
    WOMEN,
    members,
)
from unpooled.algorithms.linear_fit import CountGenotypes, Sums, pairs, standardised
from unpooled.algorithms.regression import (
    AlleleOrder,
    Census,
    Sizes,
    asked_chunks,
    columns_of,
    everyone,
    plan_of,
    wanted_groups,
)
from unpooled.algorithms.standardise import (
    Magnitude,
    Mean,
    Spread,
    fraction_bits,
)
from unpooled.cohort import Cohort
from unpooled.formats import regression_report
from unpooled.panel import Panel
from unpooled.plan import EXACT, Plan
from unpooled.protocol import codec
from unpooled.sizes import Sizes as Own
from unpooled.step import Arrays, Foreseen, Real, Rows, Step, server_only


@dataclass(frozen=True, eq=False)
class Block(regression.Counted):
    """Sums of the standardised columns, and of their products."""

    name: ClassVar[str] = "linear/block"
    title: ClassVar[str] = "Sum covariates and phenotype"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("sexes", "columns"),
            "bound",
            "bits",
            "sums of covariates and phenotype; if there are variants on X or Y, men apart, and with plink2's "
            "report by the rule `exact` people of unknown sex: either may be few",
            "means of covariates and phenotype in the pool; where those apart are one person, that person's",
        ),
        Real(
            "products",
            ("sexes", "pairs"),
            "bound",
            "bits",
            "sums of products of two of these, likewise",
            "how covariates and phenotype go together in the pool; where those apart are one person, that "
            "person's",
        ),
    )
    each: ClassVar[dict[str, str]] = {"sexes": "sex", "columns": "column", "pairs": "pair of columns"}
    ring_bits: ClassVar[int] = 128

    people: int
    men_apart: bool
    """For variants on X and Y."""
    sex_known: bool
    """There are plink2's numbers of X to be had, without people of unknown sex."""
    centre: np.ndarray
    exponent: np.ndarray
    cohorts: int
    chunks: tuple[Chunk, ...] = server_only(())
    plan: bytes = server_only(b"")
    sizes: tuple[int, ...] = server_only(())

    def __post_init__(self) -> None:
        good = plausible.pool(self.people, self.cohorts) and plausible.columns(self.centre, self.exponent)
        plausible.require(good, "covariates and phenotype")

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Own | None) -> Foreseen | None:
        asked = foreseen_chunks(plan, sizes)
        if asked is None:
            return None
        columns = len(plan.covariate_columns) + 1
        block = _block(plan, asked)._among(everyone(plan), plan)
        block = replace(block, centre=np.zeros(columns), exponent=np.zeros(columns, np.int64))
        return Foreseen([block], exact=not block.men_apart)

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def sexes(self) -> int:
        return len(self._apart)

    @property
    def _apart(self) -> tuple[str, ...]:
        if not self.men_apart:
            return ("",)
        return (MEN, WOMEN, UNKNOWN) if self.sex_known else (MEN, NOT_MEN)

    @property
    def pairs(self) -> int:
        return self.columns * (self.columns + 1) // 2

    @property
    def bound(self) -> int:
        return 2 * max(self.people, 1)

    @property
    def bits(self) -> int:
        return fraction_bits(self.bound, self.cohorts)

    def local(self, cohort: Cohort) -> Arrays:
        z = standardised(cohort.samples, self.centre, self.exponent)
        i, j = pairs(self.columns)
        parts = [z[members((sex,) if sex else (), cohort.samples)] for sex in self._apart]
        return {
            "sums": np.array([part.sum(axis=0) for part in parts]),
            "products": np.array([np.einsum("ni,ni->i", part[:, i], part[:, j]) for part in parts]),
        }

    def agrees(self, plan: Plan) -> bool:
        """People of unknown sex apart only by the rule that shows single people."""
        allowed = plan.missing == EXACT or not self.sex_known
        return allowed and (self.columns, self.cohorts) == (len(plan.covariate_columns) + 1, plan.cohorts)

    def fits_panel(self, chromosomes: np.ndarray, plan: Plan) -> bool:
        """People are apart by sex only where there are variants on X or Y."""
        men = not self.men_apart or any(has_place(place, chromosomes, plan) for place in (X, Y))
        return men and (not self.sex_known or has_place(X2_KNOWN, chromosomes, plan))

    def counted(self, people: tuple[int, ...]) -> Iterator[Step | Rows]:
        plan = plan_of(self.plan)
        following = self._among(Sizes(plan.trait, people), plan)
        columns = len(plan.covariate_columns) + 1
        yield Magnitude.first(following.people, columns, True, plan.cohorts, following)

    def _among(self, sizes: Sizes, plan: Plan) -> Block:
        """The same of a pool that was counted."""
        codings = {coding for _, _, coding in asked_chunks(self.chunks, sizes, plan)}
        return replace(
            self,
            people=sizes.of(COMPLETE),
            sizes=sizes.people,
            men_apart=any(PLACES[coding] in (X, Y) for coding in codings),
            sex_known=X2_KNOWN in codings,
        )

    def standardised(self, centre: np.ndarray, exponent: np.ndarray) -> Iterator[Step | Rows]:
        yield replace(self, centre=centre, exponent=exponent)

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        plan = plan_of(self.plan)
        sizes = Sizes(plan.trait, self.sizes)
        for start, stop, chromosome in asked_chunks(self.chunks, sizes, plan):
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
                sizes=self.sizes,
                centre=self.centre,
                exponent=self.exponent,
                sums=total["sums"],
                products=total["products"],
            )


def first(plan: Plan, panel: Panel) -> Iterable[Step]:
    """A study starts with the census."""
    return [Census.of(plan, _block(plan, chunks(panel, plan)))]


def _block(plan: Plan, asked: Iterable[Chunk]) -> Block:
    nothing = np.zeros(0)
    return Block(
        people=0,
        men_apart=False,
        sex_known=False,
        centre=nothing,
        exponent=nothing.astype(np.int64),
        cohorts=plan.cohorts,
        chunks=tuple(asked),
        plan=codec.encode(plan),
    )


LINEAR = Algorithm(
    name="linear",
    title="Linear regression",
    method="The phenotype was regressed on the copies of A1 by least squares, as plink1.9 --linear and "
    "plink2 --glm compute it.",
    traits=("quantitative",),
    steps=(Census, Magnitude, Mean, Spread, Block, CountGenotypes, AlleleOrder, Sums),
    first=first,
    files=regression_report.LINEAR_WRITERS,
    usual_files=("assoc",),
    options=regression.OPTIONS,
    file_name=regression_report.file_name,
    columns=columns_of,
)
