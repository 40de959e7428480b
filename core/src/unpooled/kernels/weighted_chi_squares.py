"""The distribution of a sum of independent chi-squares with one degree of freedom, each times a weight.

P(Q > q) is an integral of exp(K(s) - q s) / s along a contour that leaves 0 to its left, K being the
logarithm of the moment generating function (Rice, Distribution of quadratic forms in normal random variables,
SIAM Journal on Scientific and Statistical Computing 1980). The contour here passes the saddle point, where
the integrand is largest, and bends away from the imaginary axis, so that little cancels: P has 11 digits or
more, however small it is, where Davies's method has an absolute error.

P values only make rows: NumPy's own sums and functions may be used.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_STEP, _NODES = 0.12, 170
"""Distance of the nodes, and how many there are: the last is 3e8 widths of the saddle point away."""
_BISECTIONS, _TURNS = 45, 60
_STEEPEST = 0.5
"""Largest angle, in radians, by which the contour bends."""
_NEGLIGIBLE = 1e-12
"""Weights that are less than this part of the largest count as 0."""
_SAME = 1e-12
"""Difference of -log10 P, or part of it, at which a quantile is found."""


def neg_log10_tail(q: ArrayLike, weights: ArrayLike) -> Floats:
    """-log10 P(Q > q), float64 (k,), for q (k,) and weights (m,), or (k, m), each row of its own.

    Weights are not negative, and one of each row is positive.
    """
    given = np.atleast_2d(np.asarray(weights, float))
    largest = given.max(axis=1, keepdims=True)
    a = np.where(given > _NEGLIGIBLE * largest, given / largest, 0)
    at = np.atleast_1d(np.asarray(q, float)) / (2 * largest[:, 0])
    a = np.broadcast_to(a, (len(at), a.shape[1]))
    found, inside = np.zeros(len(at)), at > 0
    found[inside] = _tails(at[inside], a[inside])
    return found


def quantiles(neg_log10_p: float, below: Floats, weights: Floats) -> Floats:
    """The q that are exceeded with this P, float64 (k,), none smaller than `below`; weights are (k, m)."""
    low, high = below, 2 * below + weights.sum(axis=1)
    at_low, at_high = neg_log10_tail(low, weights), neg_log10_tail(high, weights)
    while (short := at_high < neg_log10_p).any():
        high = np.where(short, 2 * high, high)
        at_high = neg_log10_tail(high, weights)
    for _ in range(_TURNS):
        # -log10 P is nearly a line: cut it, but stay away from the ends, of which one would never move.
        part = (neg_log10_p - at_low) / np.maximum(at_high - at_low, _SAME)
        middle = low + np.clip(part, 1e-4, 1 - 1e-4) * (high - low)
        at = neg_log10_tail(middle, weights)
        missed = np.abs(at - neg_log10_p) > _SAME * max(1.0, neg_log10_p)
        if not (missed & (high - low > _SAME * high)).any():
            break
        under = at < neg_log10_p
        low, at_low = np.where(under, middle, low), np.where(under, at, at_low)
        high, at_high = np.where(under, high, middle), np.where(under, at_high, at)
    return np.asarray(middle)


def _tails(q: Floats, a: Floats) -> Floats:
    """The same for q above 0 in units in which K(s) is the sum of -log(1 - a s) / 2; a is (k, m)."""
    mean, deviation = a.sum(axis=1) / 2, np.sqrt((a * a).sum(axis=1) / 2)
    upper = q > mean - deviation  # else the other tail is computed, on the other side of the pole at 0
    saddle = _saddle_points(q, a, upper)
    curvature = a / (1 - a * saddle[:, None])
    width = 1 / np.sqrt(0.5 * (curvature**2).sum(axis=1) + 1 / saddle**2)
    # Many weights make up for the bend: the more there are, the less it may be.
    bend = math.tan(min(_STEEPEST, 2 / math.sqrt(a.shape[1])))
    x = np.arange(_NODES) * _STEP
    s = saddle[:, None] + width[:, None] * (1j * np.sinh(x) + bend * (np.cosh(x) - 1))
    logarithm = -s * q[:, None] - np.log(np.where(upper, 1, -1)[:, None] * s)
    for weight in a.T:
        logarithm -= 0.5 * np.log(1 - weight[:, None] * s)
    top = logarithm[:, 0].real
    terms = (np.exp(logarithm - top[:, None]) * (np.cosh(x) - 1j * bend * np.sinh(x))).real
    terms[:, 0] /= 2
    log_p = top + np.log(terms.sum(axis=1) * width * (_STEP / np.pi))
    log_p = np.where(upper, log_p, np.log1p(-np.exp(np.minimum(log_p, 0))))
    return np.asarray(np.maximum(log_p / -math.log(10), 0.0))


def _saddle_points(q: Floats, a: Floats, upper: NDArray[np.bool_]) -> Floats:
    """Find about where K(s) - q s - log |s| is least: between 0 and 1, or below 0."""
    low, high = np.where(upper, 0.0, -(a.shape[1] / 2 + 1) / q), np.where(upper, 1.0, 0.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        rises = 0.5 * (a / (1 - a * middle[:, None])).sum(axis=1) - q - 1 / middle > 0
        low, high = np.where(rises, low, middle), np.where(rises, middle, high)
    return np.asarray((low + high) / 2)
