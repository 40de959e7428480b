"""Coordinate descent for lasso and elastic net, from covariances (Friedman, Hastie and Tibshirani 2010)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.fixed_order import product

TOLERANCE = 1e-12
"""Largest last change of a coordinate, relative to the largest coefficient."""
MOST_PASSES = 100_000


def descend(
    covariance: NDArray[np.float64],
    with_outcome: NDArray[np.float64],
    lasso: float,
    ridge: float,
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The w, float64 (m,), of least w'Sw/2 - c'w + lasso |w|_1 + ridge w'w/2, from a `start`.

    `covariance` S is (m, m) and `with_outcome` c is (m,). A column of variance 0 has the coefficient 0.
    """
    w = start.copy()
    _descend(covariance, with_outcome, lasso, ridge, w, product(covariance, w), TOLERANCE, MOST_PASSES)
    return w


@compiled
def _descend(S: Any, c: Any, lasso: Any, ridge: Any, w: Any, product: Any, tolerance: Any, most: Any) -> None:
    """Passes over all coordinates, and between these over those that are not 0 until they settle."""
    while most > 0:  # passes of both kinds together: without a penalty, copies of a column hardly settle
        most -= 1
        if _pass(S, c, lasso, ridge, w, product, False) <= tolerance * np.abs(w).max():
            return
        while most > 0:
            most -= 1
            if _pass(S, c, lasso, ridge, w, product, True) <= tolerance * np.abs(w).max():
                break


@compiled
def _pass(S: Any, c: Any, lasso: Any, ridge: Any, w: Any, product: Any, only_active: Any) -> Any:
    """Minimise along each coordinate in turn; the largest change. `product` is S w, kept up to date."""
    largest = 0.0
    for j in range(len(w)):
        if S[j, j] == 0.0 or (only_active and w[j] == 0.0):
            continue
        slope = c[j] - product[j] + S[j, j] * w[j]
        new = np.sign(slope) * max(abs(slope) - lasso, 0.0) / (S[j, j] + ridge)
        change = new - w[j]
        if change != 0.0:
            w[j] = new
            product += change * S[j]
            largest = max(largest, abs(change))
    return largest
