"""Questions about loci, of which it is looked for credible sets: genotypes, and sums of products of two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Real, Sent
from unpooled.asking.sizes import Sizes
from unpooled.kernels.fixed_order import pairs
from unpooled.methods.regression.listed import CountAutosomes
from unpooled.methods.regression.null_model import BesideNull
from unpooled.methods.shared.block import OfBlock
from unpooled.methods.shared.chunks import foreseen_autosomal
from unpooled.methods.shared.genotype_counts import CountListed
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.standardise import is_number
from unpooled.methods.shared.without_any import ON_RUNGS, on_rungs
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.plan.result_files import SUSIE

MOST_LOCI, MOST_VARIANTS = 50, 500
"""Largest numbers of loci, and of variants of a locus: their products take a megabyte."""


def has_credible_sets(plan: Plan) -> bool:
    return SUSIE in plan.files


@dataclass(frozen=True, eq=False)
class CountLoci(CountAutosomes, name="susie/genotypes", title="Count the genotypes of loci"):
    """Genotype counts of the variants of all loci, and about how many people there are."""

    sends: ClassVar[tuple[Count, ...]] = (*CountListed.sends, ON_RUNGS)
    asked_if: ClassVar[Condition] = has_credible_sets

    def local(self, cohort: Cohort) -> Arrays:
        people = int(np.count_nonzero(complete(cohort.samples)))
        return {**super().local(cohort), ON_RUNGS.name: on_rungs(people)}


@dataclass(frozen=True, eq=False)
class SumLocus(BesideNull, OfBlock, name="susie/sums", title="Sum the genotypes of a locus", ring_bits=64):
    """Sums of products of two variants of a locus, and of each with covariates and phenotype."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "products",
            ("pairs",),
            "bound",
            "per pair of variants of a locus: sum of the products of their copies, less the pool's means, "
            "where a call is missing 0; of cases and controls each person times the weight in the "
            "covariates' model",
            "how the variants of a locus go together in the pool; only of variants of which each allele has "
            f"at least {FEWEST_AT_A_LEVEL} carriers there without any one cohort; of cases and controls, "
            "where one person carries both, that person's weight by the covariates, without name or cohort",
            of_one=True,
        ),
        Real(
            "columns",
            ("count", "width"),
            "bound",
            "per variant: sums of the same copies times covariate and times phenotype; of cases and controls "
            "times covariate and its weight in the covariates' model, and times the residual there",
            "how each variant of a locus is associated with the phenotype and the covariates in the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"pairs": "pair of variants", "count": "variant", "width": "column"}
    asked_if: ClassVar[Condition] = has_credible_sets
    only_server: ClassVar[Condition] = lambda plan: True

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Foresee as many of the largest loci as there can be; as a rule there are few."""
        chunks = foreseen_autosomal(plan, sizes)
        if chunks is None:
            return None
        m = min(MOST_VARIANTS, sum(chunk.variants for chunk in chunks))
        one = cls(plan, np.zeros(m, np.uint32), np.zeros(m), *cls.foreseen_null(plan))
        return Foreseen([one], rounds=MOST_LOCI, exact=False, usual_rounds=1)

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Return what is sent; unweighted products are counts of carriers, and without covariates all weights
        are alike."""
        of_one = not is_number(plan) and bool(plan.covariate_columns)
        return tuple(replace(array, of_one=array.of_one and of_one) for array in super().sends_under(plan))

    @property
    def width(self) -> int:
        return len(self.beta) + 1

    def local(self, cohort: Cohort) -> Arrays:
        columns, weight = self.null_design(cohort.samples)
        products, with_columns = np.zeros((self.count,) * 2), np.zeros((self.count, self.width))
        for some, x in self.genotypes(cohort):
            products += (x * weight[some, None]).T @ x
            with_columns += x.T @ columns[some]
        return {"products": products[pairs(self.count)], "columns": with_columns}
