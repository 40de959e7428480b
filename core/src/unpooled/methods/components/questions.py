"""Questions for principal components: people, genotypes, and products with the genotypes.

With X the genotypes of everyone, (people, variants), each variant about twice its allele's frequency and a
missing call 0,

    people      how many there are
    genotypes   the counts of each variant, hence frequencies, and who has a call
    products    X'(X q) for the directions q of a block

X'X is never formed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.kernels.fixed_order import total
from unpooled.methods.components.krylov import Directions
from unpooled.methods.components.options import BEYOND, MOST_ROUNDS, USUAL_ROUNDS, number_of
from unpooled.methods.ld.questions import PRUNING_ASKS
from unpooled.methods.shared import filters, genotype_counts, groups
from unpooled.methods.shared.chunks import DIPLOID, Chunk, foreseen_autosomal
from unpooled.methods.shared.dosage_counts import CarriedDosages
from unpooled.methods.shared.far_out import CountFarOut
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.groups import FOUNDER, NONFOUNDER, Group
from unpooled.methods.shared.kept_autosomes import OfKept
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.without_any import ON_RUNGS, on_rungs
from unpooled.plan.common_options import COMPONENTS
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan


def groups_of(plan: Plan) -> tuple[Group, ...]:
    """Everyone, apart if only founders count in frequencies, the founders first."""
    return ((),) if plan.nonfounders else ((FOUNDER,), (NONFOUNDER,))


@dataclass(frozen=True)
class CountPeople(UnderPlan, name="components/people", title="Count people", ring_bits=64):
    """Question that counts all people, founders or not."""

    asked_if: ClassVar[Condition] = number_of
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "people",
            ("group_count",),
            MOST_PEOPLE,
            "number of people; founders and others apart, unless all count in frequencies",
            "how many people the pool has",
        ),
        ON_RUNGS,
    )
    each: ClassVar[dict[str, str]] = {"group_count": "group of people"}

    @property
    def group_count(self) -> int:
        return len(groups_of(self.plan))

    def local(self, cohort: Cohort) -> Arrays:
        people = groups.sizes(groups_of(self.plan), cohort.samples)
        return {"people": people, ON_RUNGS.name: on_rungs(int(people.sum()))}


@dataclass(frozen=True)
class CountGenotypes(genotype_counts.CountCarried, name="components/genotypes"):
    """Genotype counts of founders and of others, on the autosomes."""

    asked_if: ClassVar[Condition] = lambda plan: (
        number_of(plan) and (not DOSAGES.of(plan) or filters.of_calls(plan))
    )

    @classmethod
    def foreseen_chunks(cls, plan: Plan, sizes: Sizes | None) -> Iterable[Chunk] | None:
        return foreseen_autosomal(plan, sizes)

    @classmethod
    def foreseen_groups(cls, chromosome: str, plan: Plan) -> tuple[Group, ...]:
        return groups_of(plan) if number_of(plan) and chromosome == DIPLOID else ()


@dataclass(frozen=True)
class CountDosages(CarriedDosages, CountGenotypes, name="components/dosages"):
    """Sums of dosages of founders and of others, on the autosomes, and who carries each allele, capped."""

    asked_if: ClassVar[Condition] = lambda plan: number_of(plan) and DOSAGES.of(plan)


class OfPeople(OfKept):
    """About everyone who counts somewhere."""

    def scores(self, cohort: Cohort, weights: np.ndarray) -> np.ndarray:
        return np.asarray(super().scores(cohort, weights) * cohort.samples.kept[:, None])


@dataclass(frozen=True, eq=False)
class Multiply(OfPeople, name="components/products", title="Multiply with the genotypes", ring_bits=64):
    """X'(X q) for the directions q of a block."""

    asked_if: ClassVar[Condition] = number_of
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "products",
            ("block", "variants"),
            "most",
            "per direction and variant: the sum of genotype times the score in that direction",
            "one projection of the genotypes' covariances in the pool for each direction; only of variants "
            f"of which each allele has at least {FEWEST_AT_A_LEVEL} carriers there without any one cohort",
        ),
    )
    each: ClassVar[dict[str, str]] = {"block": "direction", "variants": "variant"}

    kept: np.ndarray
    mean: np.ndarray
    packed: np.ndarray
    """int32 (block, kept): the directions, for genotypes in their units, as `Directions` keeps them"""
    exponent: int
    most: int
    """Bound on the size of a product."""
    round: int
    """Number of the round, from 1."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        def of_all(kept: np.ndarray, mean: np.ndarray) -> Multiply:
            none = Directions.of(np.zeros((min(most_directions(plan), len(mean)), len(mean))))
            return cls(plan, kept, mean, none.packed, none.exponent, 1, 1)

        return cls.foreseen_widest(plan, sizes, of_all, MOST_ROUNDS, USUAL_ROUNDS)

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return MOST_ROUNDS

    @property
    def turn(self) -> int:
        return self.round

    @property
    def directions(self) -> Directions:
        return Directions(self.packed, self.exponent)

    @property
    def block(self) -> int:
        return self.directions.shape[0]

    @property
    def bound(self) -> int:
        return self.most

    def local(self, cohort: Cohort) -> Arrays:
        scores = self.scores(cohort, self.directions.rows() * scale_of(self.mean))
        products = self.times_genotypes(cohort, scores)
        return {"products": np.ascontiguousarray(products.T)}


@dataclass(frozen=True, eq=False)
class KeepScores(OfPeople, name="components/scores", title="Keep the people's scores", ring_bits=64):
    """Have each cohort keep its people's scores: covariates of what is asked after this."""

    asked_if: ClassVar[Condition] = lambda plan: COMPONENTS.of(plan)
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "squares",
            ("count",),
            "bound",
            "per component: the sum of the squared scores",
            "nothing: of the pool it is 1",
        ),
    )
    each: ClassVar[dict[str, str]] = {"count": "component"}
    bound: ClassVar[int] = 4

    kept: np.ndarray
    mean: np.ndarray
    weights: np.ndarray
    """float64 (components, kept): what a copy counts"""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        def of_all(kept: np.ndarray, mean: np.ndarray) -> KeepScores:
            return cls(plan, kept, mean, np.zeros((COMPONENTS.of(plan), len(mean))))

        return cls.foreseen_widest(plan, sizes, of_all)

    @property
    def count(self) -> int:
        return len(self.weights)

    def derives(self, cohort: Cohort) -> np.ndarray:
        return self.scores(cohort, self.weights)

    def local(self, cohort: Cohort) -> Arrays:
        scores = self.derives(cohort)
        return {"squares": np.einsum("ns,ns->s", scores, scores)}


def most_directions(plan: Plan) -> int:
    """Return the maximum number of directions of a block."""
    return number_of(plan) + BEYOND if number_of(plan) else 0


def scale_of(mean: np.ndarray) -> np.ndarray:
    """1 / √(2p(1 - p)), the unit of genotypes of which a person has `mean` = 2p copies: float64 (m,)."""
    return np.asarray(1 / np.sqrt(mean * (1 - mean / 2)))


def bound(squares: np.ndarray, scale: np.ndarray) -> int:
    """Bound any product with a direction of length 1, whichever people it is over.

    `squares`, float64 (m,), are the variants' sums of squares about their means in the pool. By Cauchy and
    Schwarz |x'(X q)| is at most |x| |X q|, and |X q|² at most the trace of X X'.
    """
    return math.ceil(math.sqrt(float(squares.max(initial=0)) * float(total(squares * scale * scale)))) + 1


ASKS: tuple[type[Question], ...] = (
    *PRUNING_ASKS,
    CountPeople,
    CountDosages,
    CountGenotypes,
    CountFarOut,
    Multiply,
)
"""Questions that a study of principal components may ask, in this order."""

ASKS_FIRST = (*ASKS, KeepScores)
"""Questions that a study may ask before a regression with components as covariates."""
