"""Coordinate descent for lasso and elastic net, from covariances (Friedman, Hastie and Tibshirani 2010)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.fixed_order import product, solve_positive

TOLERANCE = 1e-12
"""Largest last change of a coordinate, relative to the largest coefficient."""
PASSES, MOST_TURNS = 1000, 100
"""Passes over the coordinates, after which equations are solved; and how often both are done at most."""
_SURE = 1e-12
"""A pivot that is a larger share of its diagonal is no rounding."""


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
    for _ in range(MOST_TURNS):
        if _descend(covariance, with_outcome, lasso, ridge, w, product(covariance, w), TOLERANCE, PASSES):
            break
        # Where columns are nearly copies, descent creeps along a valley, and would stop before its end.
        _solve_active(covariance, with_outcome, lasso, ridge, w)
    return w


def _solve_active(
    S: NDArray[np.float64], c: NDArray[np.float64], lasso: float, ridge: float, w: NDArray[np.float64]
) -> None:
    """Move w to the least value that coefficients other than 0 can have without a change of sign.

    One that would change its sign becomes 0, and the others are solved for once more (feature-sign search,
    Lee et al., NIPS 2006). Where columns determine one another, w stays as it is.
    """
    while len(active := np.flatnonzero(w)):
        own, signs = w[active], np.sign(w[active])
        matrix = S[np.ix_(active, active)] + ridge * np.eye(len(active))
        least = solve_positive(matrix, c[active] - lasso * signs, _SURE)
        if np.isnan(least).any():
            return
        crosses = least * signs <= 0
        if not crosses.any():
            w[active] = least
            return
        ways = np.where(crosses, own / np.where(crosses, own - least, 1.0), np.inf)
        first = int(ways.argmin())
        w[active] = own + ways[first] * (least - own)
        w[active[first]] = 0.0


@compiled
def _descend(S: Any, c: Any, lasso: Any, ridge: Any, w: Any, product: Any, tolerance: Any, most: Any) -> Any:
    """Passes over all coordinates, and between these over those that are not 0 until they settle.

    True once all have; False after `most` passes of both kinds together.
    """
    while most > 0:
        most -= 1
        if _pass(S, c, lasso, ridge, w, product, False) <= tolerance * np.abs(w).max():
            return True
        while most > 0:
            most -= 1
            if _pass(S, c, lasso, ridge, w, product, True) <= tolerance * np.abs(w).max():
                break
    return False


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
