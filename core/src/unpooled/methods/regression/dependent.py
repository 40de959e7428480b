"""Covariates of the pool that determine one another: with them no variant has a result."""

from __future__ import annotations

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.errors import Refuse, listed
from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import square
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import COVARIATES
from unpooled.plan.plan import Plan

_RIDGE = 1e-10
"""Added to the correlations' diagonal, so that there is an inverse: a column that others determine has a
variance inflation factor near to one over it."""


def about_means(sums: np.ndarray, products: np.ndarray, weight: float) -> np.ndarray:
    """Products of columns about their means, (c, c), from weighted sums (c,) and the upper triangle of
    weighted products; `weight` is the sum of the weights."""
    return np.asarray(square(products, len(sums)) - np.outer(sums, sums) / weight)


def refuse_dependent(plan: Plan, products: np.ndarray, most: float = codes.MOST_INFLATED) -> None:
    """Refuse if a covariate has a variance inflation factor beyond `most` in the pool.

    `products` are those about the means; what comes after the covariates is not looked at.
    """
    names = plan.covariate_columns
    factors = inflation(products[: len(names), : len(names)])
    if dependent := [names[k] for k in np.flatnonzero(factors > most)]:
        raise Refuse(
            COVARIATES.name,
            f"the covariates {listed(dependent, 6)} determine one another in the pool, or nearly, so that no "
            "variant has a result",
            "Leave one of them out.",
        )


def sex_is_determined(plan: Plan, panel: Panel, rows: Arrays) -> bool:
    """Tell whether covariates determine the sex, which is one more of them on X, so that X has no results.

    If they determined one another, there would be no results at all; a genotype does so at few variants.
    """
    code = rows["code"][panel.chromosome[rows["variant"]] == plan.autosomes + 1]
    determined = np.isin(code, (codes.CORRELATED, codes.COLLINEAR, codes.SINGULAR))
    others = np.isin(code, (codes.TOO_FEW, codes.CONSTANT, codes.STILL, codes.SEPARATED))
    return bool((determined | others).all() and 2 * determined.sum() > (code != codes.CONSTANT).sum())


def inflation(products: np.ndarray) -> np.ndarray:
    """Variance inflation factor of each column, float64 (c,); 1 for a column that does not vary."""
    spread = np.sqrt(np.maximum(np.diag(products), 0))
    varies = np.flatnonzero(spread > 0)
    correlation = products[np.ix_(varies, varies)] / np.outer(spread[varies], spread[varies])
    found = np.ones(len(products))
    found[varies] = np.diag(_inverse(correlation + _RIDGE * np.eye(len(varies))))
    return found


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Invert a positive definite matrix by Gauss-Jordan elimination.

    LAPACK is avoided because its last bit may differ where a study is replayed: the same sums must be refused
    everywhere.
    """
    found = matrix.copy()
    for k in range(len(found)):
        pivot, row, column = found[k, k].item(), found[k] / found[k, k], found[:, k].copy()
        found -= column[:, None] * row
        found[k], found[:, k], found[k, k] = row, -column / pivot, 1 / pivot
    return found
