"""Sums that a fit of a polygenic score is built on, none of which depends on a direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from unpooled.kernels.fixed_order import product, solve_positive
from unpooled.methods.polygenic.counts import FITTED, LEFT_OUT
from unpooled.methods.polygenic.questions import SumColumns

OF_SOME, OF_ALL = 0, 1
"""The two fits: without the people that are left out, and to everyone."""


@dataclass(frozen=True, eq=False)
class Part:
    """The variants of a chunk that are in the score."""

    name: ClassVar[str] = "polygenic/part"

    kept: np.ndarray
    """bool (variants of the chunk,)"""
    mean: np.ndarray
    """float64 (kept,): copies of the panel's first allele in the pool"""
    scale: np.ndarray
    """float64 (kept,): 1 / deviation of the copies, a missing call being the mean"""
    first_is_a1: np.ndarray
    """bool (kept,)"""
    crossed: np.ndarray
    """float64 (kept, groups, 2 + covariates): genotype, in deviations, times one, covariates, phenotype"""


@dataclass(frozen=True, eq=False)
class Base:
    """All variants of the score, m, with c covariates and one: q = 1 + c columns and the phenotype."""

    name: ClassVar[str] = "polygenic/ground"

    design: SumColumns
    kept: np.ndarray
    """bool (variants of the panel up to the last that is kept,)"""
    mean: np.ndarray
    scale: np.ndarray
    first_is_a1: np.ndarray
    crossed: np.ndarray
    """float64 (m, groups, q + 1)"""
    products: np.ndarray
    """float64 (groups, q + 1, q + 1)"""
    without_any: int
    """People of the pool without any one cohort, at least."""

    @classmethod
    def of(
        cls,
        design: SumColumns,
        starts: Sequence[int],
        parts: Sequence[Part],
        sums: np.ndarray,
        without_any: int,
    ) -> Base:
        """`sums` are the triangles of products, float64 (groups, pairs)."""
        kept = np.zeros(max((s + len(p.kept) for s, p in zip(starts, parts, strict=True)), default=0), bool)
        for start, part in zip(starts, parts, strict=True):
            kept[start : start + len(part.kept)] = part.kept
        products = np.zeros((len(sums), design.width, design.width))
        upper = np.triu_indices(design.width)
        products[:, upper[0], upper[1]] = products[:, upper[1], upper[0]] = sums
        return cls(
            design,
            kept,
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.scale for part in parts]),
            np.concatenate([part.first_is_a1 for part in parts]),
            np.concatenate([part.crossed for part in parts]),
            products,
            without_any,
        )

    @property
    def variants(self) -> np.ndarray:
        """Panel indices: int64 (m,)."""
        return np.flatnonzero(self.kept)

    @cached_property
    def people(self) -> np.ndarray:
        """Number of people in each fit: float64 (fits,)."""
        return np.array([self.products_of(fit)[0, 0] for fit in (OF_SOME, OF_ALL)])

    def crossed_of(self, fit: int) -> np.ndarray:
        """X'C and X'y of the people of a fit: float64 (m, q + 1)."""
        return of_fit(self.crossed.swapaxes(0, 1), fit)

    def products_of(self, fit: int) -> np.ndarray:
        """Return the products of one, the covariates and the phenotype: float64 (q + 1, q + 1)."""
        return of_fit(self.products, fit)

    def on_columns(self, fit: int, with_columns: np.ndarray) -> np.ndarray:
        """The regression of v on one and the covariates, from C'v: float64 (q,)."""
        return solve_positive(self.products_of(fit)[:-1, :-1], with_columns)

    def without_columns(self, fit: int, with_variants: np.ndarray, with_columns: np.ndarray) -> np.ndarray:
        """X'Mv from X'v, float64 (m,), and C'v, (q,); M takes from v what one and the covariates explain."""
        explained = self.on_columns(fit, with_columns)
        return np.asarray(with_variants - product(self.crossed_of(fit)[:, :-1], explained))

    def target(self, fit: int) -> np.ndarray:
        """X'My: float64 (m,)."""
        return self.without_columns(fit, self.crossed_of(fit)[:, -1], self.products_of(fit)[:-1, -1])


def of_fit(sums: np.ndarray, fit: int) -> np.ndarray:
    """Sums over the people of a fit, from those over the two groups."""
    return np.asarray(sums[FITTED] if fit == OF_SOME else sums[FITTED] + sums[LEFT_OUT])
