"""Questions of a whole-genome regression about covariates, and about blocks of variants.

With X the genotypes of a block about the pool's means, each without what the covariates explain and in its
deviation, a missing call 0, and y the phenotype likewise,

    genotypes     counts of each variant among the people with complete data
    columns       C'C, C'y, y'y, with C one and the covariates
    block         X'X, X'C, X'y
    predict       has each cohort keep its people's predictions X (X'X + k I)⁻¹ X'y for some k, each as if the
                  person had not been in the sums

Who has incomplete data is 0 everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort, derived
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Question, Real
from unpooled.asking.sizes import Sizes
from unpooled.kernels import pairs as kernel
from unpooled.kernels.fixed_order import pairs, square
from unpooled.methods.ld.questions import PRUNING_ASKS
from unpooled.methods.loco.views import PREDICTIONS
from unpooled.methods.shared import far_out, filters, genotype_counts
from unpooled.methods.shared.block import OfBlock
from unpooled.methods.shared.chunks import DIPLOID, Chunk, foreseen_autosomal
from unpooled.methods.shared.column_products import OfColumnProducts
from unpooled.methods.shared.dosage_counts import CarriedDosages
from unpooled.methods.shared.groups import COMPLETE, Group, complete
from unpooled.methods.shared.kept_autosomes import times_genotypes
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.without_any import ON_RUNGS, on_rungs
from unpooled.plan.common_options import REQUIRE_PHENO
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

MOST_VARIANTS = 500
"""Largest number of variants of a block."""
SHARES = (0.01, 0.25, 0.5, 0.75, 0.99)
"""Shares of variance, as in regenie: each block predicts once with the penalty of each."""
PEOPLE_A_COLUMN, OTHERS_A_COLUMN = 10, 5
"""Smallest number of people in the pool for each variant of a block, and for each of the blocks' predictions;
and in the pool without any one cohort."""
MOST_BLOCKS = 200
"""Largest number of blocks: 100,000 variants, and a thousand predictions, whose products are 4 MB."""

MOST_OF_ONE = 64
"""Bound, per person, of a squared prediction or error in the phenotype's deviations."""

PEOPLE: tuple[Group, ...] = ((COMPLETE,),)


@dataclass(frozen=True)
class CountPeople(Question, name="loco/people", title="Count people", ring_bits=64):
    """Asks about how many people with complete data there are without any one cohort."""

    sends: ClassVar[tuple[Count, ...]] = (ON_RUNGS,)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls()])

    def local(self, cohort: Cohort) -> Arrays:
        return {ON_RUNGS.name: on_rungs(int(np.count_nonzero(complete(cohort.samples))))}


@dataclass(frozen=True)
class CountGenotypes(genotype_counts.CountCarried, name="loco/genotypes"):
    """Genotype counts of whoever is in the regression, on the autosomes."""

    asked_if: ClassVar[Condition] = lambda plan: not DOSAGES.of(plan) or filters.of_calls(plan)

    @classmethod
    def foreseen_chunks(cls, plan: Plan, sizes: Sizes | None) -> list[Chunk] | None:
        return foreseen_autosomal(plan, sizes)

    @classmethod
    def foreseen_groups(cls, chromosome: str, plan: Plan) -> tuple[Group, ...]:
        return PEOPLE if chromosome == DIPLOID else ()


@dataclass(frozen=True)
class CountDosages(CarriedDosages, CountGenotypes, name="loco/dosages"):
    """Sums of dosages of whoever is in the regression, likewise."""

    asked_if: ClassVar[Condition] = DOSAGES.of


@dataclass(frozen=True, eq=False)
class SumColumns(OfColumnProducts, name="loco/columns"):
    """Sums of the products of one, the standardised covariates and the phenotype."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "products",
            ("pairs",),
            "bound",
            "sums of covariates and phenotype, and of products of two of these",
            "how covariates and phenotype are associated in the pool",
        ),
    )

    def local(self, cohort: Cohort) -> Arrays:
        z, (i, j) = self.values(cohort), pairs(self.width)
        return {"products": np.einsum("ni,ni->i", z[:, i], z[:, j])}


@dataclass(frozen=True, eq=False)
class Residual:
    """The phenotype without what one and the covariates explain, with deviation 1."""

    name: ClassVar[str] = "loco/residual"

    design: SumColumns
    effects: np.ndarray
    """float64 (width - 1,): of one and the covariates"""
    deviation: float

    def in_cohort(self, cohort: Cohort) -> tuple[np.ndarray, np.ndarray]:
        """One and the covariates, float64 (n, width - 1), and the residual, (n,)."""
        z = self.design.values(cohort)
        return z[:, :-1], (z[:, -1] - z[:, :-1] @ self.effects) / self.deviation


@dataclass(frozen=True, eq=False)
class CountFarOut(far_out.CountFarOut, name="loco/far-out"):
    """Counts the people who could outweigh all others in predictions."""

    asked_if: ClassVar[Condition] = lambda plan: True


@dataclass(frozen=True, eq=False)
class SumBlock(OfBlock, name="loco/block", title="Sum the genotypes of a block", ring_bits=64):
    """Sums of products of the genotypes of a block with one another, and with covariates and phenotype."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "products",
            ("pairs",),
            "people",
            "per pair of variants of a block: sum of the product of their copies, less one each; a missing "
            "call is the pool's mean",
            "how the variants of a block go together in the pool; only of variants of which each allele has "
            f"at least {FEWEST_AT_A_LEVEL} carriers there without any one cohort",
        ),
        Real(
            "columns",
            ("count", "width"),
            "bound",
            "per variant: sums of the genotype, and of genotype times covariate and times phenotype",
            "means of covariates and phenotype by genotype in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"pairs": "pair of variants", "count": "variant", "width": "column"}

    design: SumColumns
    pairs_too: bool
    """False where the products of the genotypes are known: of several phenotypes of the same people the first
    has asked about them."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        design, pairs_too = SumColumns.none(plan), not (REQUIRE_PHENO.of(plan) and cls.place_of_phenotype)
        return _foreseen_blocks(
            plan,
            sizes,
            lambda m: cls(plan, np.arange(m, dtype=np.uint32), np.zeros(m), design, pairs_too),
        )

    @property
    def people(self) -> int:
        return self.design.people

    @property
    def pairs(self) -> int:
        return super().pairs if self.pairs_too else 0

    @property
    def width(self) -> int:
        return self.design.width

    @property
    def bound(self) -> int:
        return 4 * self.people

    def local(self, cohort: Cohort) -> Arrays:
        z, dosed = self.design.values(cohort), bool(DOSAGES.of(self.plan))
        columns = times_genotypes(cohort, self.items, self.mean, z, dosed=dosed)
        products = self._products(cohort, z[:, :1], dosed=dosed) if self.pairs_too else np.zeros(0)
        return {"products": products, "columns": columns}

    def _products(self, cohort: Cohort, inside: np.ndarray, *, dosed: bool) -> np.ndarray:
        if dosed:
            about_one = ((x + self.mean - 1) * inside[some] for some, x in self.genotypes(cohort))
            return np.asarray(sum(x.T @ x for x in about_one)[pairs(self.count)])
        packed = cohort.packed(self.items)
        sign = np.where(packed.swapped, 1.0, -1.0)  # copies of A2 are those of the panel's first if swapped
        planes = kernel.planes(packed.words, inside[:, 0] > 0)
        return kernel.products(planes, sign, self.mean - 1, *pairs(self.count))


@dataclass(frozen=True, eq=False)
class PredictByBlock(OfBlock, name="loco/predict", title="Predict by a block", ring_bits=64):
    """Have each cohort keep its people's predictions by a block."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "sums",
            ("penalties", 2),
            "bound",
            "per penalty: sums of the block's predictions, and of their squares",
            "how far the predictions of a block vary in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"penalties": "trial"}

    explained: np.ndarray
    """float64 (width - 1, m): of each variant by one and the covariates"""
    scale: np.ndarray
    """float64 (m,): 1 / deviation of what is left"""
    products: np.ndarray
    """float64 (pairs,): upper triangle of X'X"""
    with_y: np.ndarray
    """float64 (m,): X'y"""
    shifts: np.ndarray
    """float64 (penalties,): what is added to the diagonal of X'X"""
    residual: Residual
    block: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        def of_size(m: int) -> PredictByBlock:
            nothing, one = np.zeros(m), Residual(SumColumns.none(plan), np.zeros(0), 1.0)
            variants, few = np.zeros(m, np.uint32), np.zeros(0)
            return cls(plan, variants, nothing, few, nothing, few, nothing, np.ones(len(SHARES)), one, 0)

        return _foreseen_blocks(plan, sizes, of_size)

    @property
    def penalties(self) -> int:
        return len(self.shifts)

    @property
    def bound(self) -> int:
        return MOST_OF_ONE * self.residual.design.people

    @property
    def derived_as(self) -> str:
        return name_of_block(self.block)

    def derives(self, cohort: Cohort) -> np.ndarray:
        columns, y = self.residual.in_cohort(cohort)
        found, ridge = np.zeros((len(y), self.penalties)), Ridge(self.products, self.with_y, self.shifts)
        for some, x in self.genotypes(cohort):
            x = (x * columns[some, :1] - columns[some] @ self.explained) * self.scale
            found[some] = y[some, None] - ridge.errors(x, y[some])
        return np.asarray(found * columns[:, :1])

    def local(self, cohort: Cohort) -> Arrays:
        return {"sums": sums_of(derived(cohort, name_of_block(self.block)))}


def sums_of(found: np.ndarray) -> np.ndarray:
    """Sum predictions, (n, k), and their squares: float64 (k, 2)."""
    return np.stack([found.sum(axis=0), np.einsum("nk,nk->k", found, found)], axis=1)


def name_of_block(block: int) -> str:
    """The name under which a cohort keeps the predictions of a block."""
    return f"{PREDICTIONS} {block}"


def shifts_of(shares: Iterable[float], columns: int) -> np.ndarray:
    """The penalties under which so many columns explain these shares of the variance: float64 (shares,)."""
    return np.array([columns * (1 - share) / share for share in shares])


class Ridge:
    """Ridge regressions of n people of the pool, each as if the person were not in it.

    Of the whole pool there are the upper triangle of X'X, float64 (pairs,), X'y (m,), and shifts (k,).
    """

    def __init__(self, products: np.ndarray, with_y: np.ndarray, shifts: np.ndarray) -> None:
        values, self._vectors = np.linalg.eigh(square(products, len(with_y)))
        self._inverse = 1 / (np.maximum(values, 0)[:, None] + shifts)
        self._weights = self._inverse * (self._vectors.T @ with_y)[:, None]

    def errors(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Tell how far y is off, float64 (n, k), from columns x, (n, m).

        With h = x'(X'X + shift I)⁻¹x it is (y - fit) / (1 - h).
        """
        turned = x @ self._vectors
        return np.asarray((y[:, None] - turned @ self._weights) / (1 - (turned * turned) @ self._inverse))


def _foreseen_blocks(plan: Plan, sizes: Sizes | None, of_size: Callable[[int], Question]) -> Foreseen | None:
    """Foresee as many of the largest blocks as there can be."""
    chunks = foreseen_autosomal(plan, sizes)
    if chunks is None:
        return None
    variants = sum(chunk.variants for chunk in chunks)
    rounds = min(MOST_BLOCKS, variants)
    usual = min(rounds, plan.autosomes + variants // MOST_VARIANTS)
    return Foreseen([of_size(min(MOST_VARIANTS, variants))], rounds, exact=False, usual_rounds=usual)


ASKS: tuple[type[Question], ...] = (
    CountPeople,
    SumColumns,
    *PRUNING_ASKS,
    CountDosages,
    CountGenotypes,
    CountFarOut,
    SumBlock,
    PredictByBlock,
)
"""Questions until all blocks have predicted, once columns are standardised, in this order."""
