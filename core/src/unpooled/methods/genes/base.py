"""The null model, the variants and the sets of a study of sets of variants, as its branches hold them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.methods.shared.chunks import ByVariant
from unpooled.methods.shared.standardise import PooledColumns


@dataclass(frozen=True, eq=False)
class NullModel:
    """The model without genotypes, in standardised columns: q of them, one and the covariates."""

    name: ClassVar[str] = "gene-tests/null-model"

    columns: PooledColumns
    beta: np.ndarray
    """float64 (q,): where residuals and weights of cases and controls are taken; 0 for a number."""
    gradient: np.ndarray
    """float64 (q,): sums of these columns times the residual there, nearly 0, or times the number."""
    products: np.ndarray
    """float64 (q, q): weighted products of these columns; of a number all weights are 1."""
    variance: float
    """Residual variance of a number; 1 of cases and controls; NaN where there is no model."""
    people: int


@dataclass(frozen=True, eq=False)
class Variants(ByVariant):
    """Variants that are in sets and pass the filters."""

    name: ClassVar[str] = "gene-tests/variants"

    variants: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    counts_first: np.ndarray
    """bool (m,): the panel's first allele is the rarer one."""
    mean: np.ndarray
    """float64 (m,): copies of the rarer allele, of who has a call."""
    collapsed: np.ndarray
    """bool (m,): too few people carry it."""


@dataclass(frozen=True, eq=False)
class Batch(ByVariant):
    """The sets of a plan in one stretch, with their variants one after the other."""

    name: ClassVar[str] = "gene-tests/batch"

    first: int
    """Place of the first set in the plan's list."""
    sizes: tuple[int, ...]
    """Number of variants of each set."""
    left_out: tuple[int, ...]
    """Number of others, which too few people carry even together, or which are collapsed in another set."""
    variants: np.ndarray
    """Panel indices, uint32 (v,), and what `Variants` has of each."""
    counts_first: np.ndarray
    mean: np.ndarray
    collapsed: np.ndarray

    @property
    def set_of(self) -> np.ndarray:
        """The number of the set of each variant: int64 (v,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def without(self, left_out: np.ndarray) -> Batch:
        """Leave out some variants: bool (v,)."""
        kept = np.bincount(self.set_of[~left_out], minlength=len(self.sizes))
        lost = np.array(self.sizes) - kept + self.left_out
        return replace(self.some(~left_out), sizes=tuple(kept.tolist()), left_out=tuple(lost.tolist()))
