"""Selection of one phenotype's share of sums over the covariates and several phenotypes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unpooled.kernels.fixed_order import pairs
from unpooled.methods.regression.least_squares import Block, places_of_sex
from unpooled.methods.regression.own_columns import OwnSums
from unpooled.methods.shared.standardise import PooledColumns
from unpooled.plan.genotype_model import Terms
from unpooled.plan.plan import Plan


def among(plan: Plan) -> tuple[Among, ...]:
    """Each phenotype of a plan among all of them."""
    count = len(plan.phenotype_names)
    return tuple(Among(place, count, len(plan.covariate_columns) + count) for place in range(count))


@dataclass(frozen=True)
class Among:
    """Covariates and one phenotype, q columns, among covariates and all phenotypes."""

    place: int
    phenotypes: int
    columns: int
    """Number of covariates and phenotypes together."""

    @cached_property
    def _own(self) -> np.ndarray:
        """Their places among all columns: int64 (q,)."""
        covariates = self.columns - self.phenotypes
        return np.append(np.arange(covariates), covariates + self.place)

    @cached_property
    def _pairs(self) -> np.ndarray:
        """The places of their products among all that are sent: int64 (q (q + 1) / 2,)."""
        i, j = pairs(self.columns, self.phenotypes)
        return np.flatnonzero(np.isin(i, self._own) & np.isin(j, self._own))

    def of_columns(self, all_of: PooledColumns) -> PooledColumns:
        """Return the standardisation of these columns."""
        own = self._own
        return PooledColumns(
            all_of.centre[own], all_of.exponent[own], all_of.origin[own], all_of.unit[own], all_of.conditions
        )

    def of_block(self, block: Block) -> Block:
        """Their sums over everyone."""
        return Block(_some(block.sums, self._own), _some(block.products, self._pairs))

    def of_genotype(self, terms: Terms, sums: np.ndarray) -> np.ndarray:
        """Their sums with genotypes: (m, s, own sums) from (m, s, all sums)."""
        own = OwnSums(terms, len(self._own))
        return _some(sums, own.among(OwnSums(terms, self.columns), self._own.tolist()))

    def of_sex(self, sums: np.ndarray, chromosome: str) -> np.ndarray:
        """Their sums over men, and over people of known sex, as `places_of_sex` has them."""
        own = set(self._own.tolist()) | set((self.columns + self._pairs).tolist())
        sent = np.concatenate(places_of_sex(self.columns, self.phenotypes, chromosome))
        return _some(sums, np.flatnonzero([place in own for place in sent.tolist()]))

    def of_missing(self, sums: np.ndarray) -> np.ndarray:
        """Their sums over people without a call: of columns, of products, and on X of columns of men."""
        products = self.columns + len(pairs(self.columns, self.phenotypes)[0])
        parts = [self._own, self.columns + self._pairs]
        if sums.shape[1] > products:
            parts.append(products + self._own)
        return _some(sums, np.concatenate(parts))


def _some(sums: np.ndarray, which: np.ndarray | list[int]) -> np.ndarray:
    """Some of the last dimension, as contiguous as all were: what adds them up adds in the same order."""
    return np.take(sums, which, axis=-1)
