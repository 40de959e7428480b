"""Burden, SKAT, SKAT-O and ACAT-V of one set of variants, from scores and their covariance.

With S the scores of m columns, Phi their covariance under the null model, w the weights:

    burden   (w'S)^2 / w'Phi w
    SKAT     sum of (w_j S_j)^2, of the weights lambda, the eigenvalues of W Phi W (Wu and others 2011)
    SKAT-O   the least P of (1 - r) SKAT + r burden for r in `GRID`, and its own P (Lee and others 2012)
    ACAT-V   Cauchy's combination of the P of each column, by w^2 p (1 - p) (Liu and others 2019)

All only make rows.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.statistics import chi_square_neg_log10_p
from unpooled.kernels.weighted_chi_squares import neg_log10_tail, quantiles

Floats = NDArray[np.float64]

BURDEN, SKAT, SKATO, ACATV = TESTS = ("ADD", "ADD-SKAT", "ADD-SKATO", "ADD-ACATV")
"""The tests, as regenie calls them."""

GRID = (0.0, 0.01, 0.04, 0.09, 0.16, 0.25, 0.5, 1.0)
"""Shares of the burden that SKAT-O tries, those of the package SKAT."""

_NEGLIGIBLE = 1e-10
"""An eigenvalue below this part of their sum is 0 but for rounding."""
_NODES, _LONGEST = 10, 0.7
"""Nodes of Gauss's quadrature in a panel, and the longest panel, in standard deviations."""
_TINY_P = 300.0
"""-log10 of the least P that Cauchy's combination tells from others."""


def neg_log10_p(scores: Floats, covariance: Floats, weights: Floats, frequency: Floats) -> Floats:
    """-log10 P of each of the `TESTS`: float64 (4,), NaN without a column that varies.

    Columns that add up to what the covariates explain have no burden, and no SKAT-O.
    """
    varies = np.diag(covariance) > 0
    if not varies.any():
        return np.full(len(TESTS), np.nan)
    s, p, w = scores[varies] * weights[varies], frequency[varies], weights[varies]
    phi = covariance[np.ix_(varies, varies)] * np.outer(w, w)
    burden = of_both = np.nan
    if phi.sum() > _NEGLIGIBLE * np.trace(phi):
        burden = chi_square_neg_log10_p(np.array([s.sum() ** 2 / phi.sum()]))[0]
        of_both = skato(s, phi)
    each = chi_square_neg_log10_p(s**2 / np.diag(phi))
    return np.array([burden, skat(s, phi), of_both, cauchy(each, w * w * p * (1 - p))])


def skat(s: Floats, phi: Floats) -> float:
    """-log10 P of SKAT from weighted scores and their covariance."""
    return float(neg_log10_tail(s @ s, _eigenvalues(phi))[0])


def _eigenvalues(phi: Floats) -> Floats:
    """The eigenvalues of a covariance that are more than rounding."""
    found = np.linalg.eigvalsh((phi + phi.T) / 2)
    return np.asarray(found[found > _NEGLIGIBLE * np.abs(found).sum()])


def skato(s: Floats, phi: Floats) -> float:
    """-log10 P of SKAT-O from weighted scores and their covariance.

    Phi = z z' + R, the first of the mean of all columns, the second of what is left of them, so that
    Q(r) = (1 - r) (rest) + tau(r) (chi-square of the mean). Given that chi-square, the rest must exceed none
    of its bounds; its covariance with the mean's part only scales it, as Lee and others have it.
    """
    r = np.array(GRID)
    q = (1 - r) * (s @ s) + r * s.sum() ** 2
    lambdas = np.maximum(np.linalg.eigvalsh([_at(phi, share) for share in GRID]), 0)
    best = float(neg_log10_tail(q, lambdas).max())
    mean = phi.sum(axis=1) / math.sqrt(phi.sum())
    rest = phi - np.outer(mean, mean)
    of_rest = (
        _eigenvalues(rest) if len(s) > 1 and np.trace(rest) > _NEGLIGIBLE * np.trace(phi) else np.zeros(0)
    )
    if not len(of_rest):
        return best  # one direction only: all r are one test
    bounds = quantiles(best, q, lambdas)
    tau = (1 - r) * (mean @ mean) + r * phi.sum()
    both = 4 * mean @ rest @ mean
    variance = 2 * (of_rest**2).sum()
    shrunk = math.sqrt(variance / (variance + both))
    return _exceeds(bounds, tau, 1 - r, of_rest, shrunk)


def _at(phi: Floats, r: float) -> Floats:
    """The matrix with the eigenvalues of Q(r): R^(1/2) Phi R^(1/2), R = (1 - r) I + r 11'."""
    m = len(phi)
    root = math.sqrt(1 - r) * np.eye(m) + (math.sqrt(1 - r + r * m) - math.sqrt(1 - r)) / m
    return np.asarray(root @ phi @ root)


def _exceeds(bounds: Floats, tau: Floats, share: Floats, weights: Floats, shrunk: float) -> float:
    """-log10 P that Q(r) exceeds its bound for some r: over the chi-square of the mean, x = t^2, of the P
    that the rest exceeds the least of (bound - tau x) / share."""
    whole = share == 0
    last = float((bounds[whole] / tau[whole]).min())
    bounds, tau, share = (each[~whole] for each in (bounds, tau, share))
    edges = np.sqrt(_edges(bounds / share, tau / share, last))
    fine = np.concatenate([np.linspace(a, b, 1 + math.ceil((b - a) / _LONGEST)) for a, b in pairwise(edges)])
    fine = np.unique(fine)
    nodes, heavy = np.polynomial.legendre.leggauss(_NODES)
    half, middle = np.diff(fine)[:, None] / 2, (fine[1:] + fine[:-1])[:, None] / 2
    t, dt = (middle + half * nodes).ravel(), (half * heavy).ravel()
    least = ((bounds[:, None] - tau[:, None] * t * t) / share[:, None]).min(axis=0)
    centre = weights.sum()
    logs = -math.log(10) * neg_log10_tail((least - centre) * shrunk + centre, weights)
    logs += np.log(dt * math.sqrt(2 / math.pi)) - t * t / 2
    beyond = -math.log(10) * chi_square_neg_log10_p(np.array([last]))[0]
    return float(-np.logaddexp.reduce([*logs, beyond]) / math.log(10))


def _edges(level: Floats, slope: Floats, last: float) -> list[float]:
    """Find where the least of some lines, level - slope x, bends or is 0, from 0 to `last`; with these."""
    found = {0.0, last}
    for i, j in combinations(range(len(level)), 2):
        if slope[i] != slope[j]:
            x = (level[i] - level[j]) / (slope[i] - slope[j])
            if 0 < x < last and level[i] - slope[i] * x <= (level - slope * x).min() + 1e-9 * abs(level[i]):
                found.add(float(x))
    zero = float((level / slope).min())
    return sorted({*found, zero} if 0 < zero < last else found)


def cauchy(neg_log10: Floats, weights: Floats) -> float:
    """-log10 of Cauchy's combination of P values by weights."""
    p = 10.0 ** -np.minimum(neg_log10, _TINY_P)
    with np.errstate(over="ignore"):
        # Of a small P the tangent is its inverse, of one near 1 it is minus that of the rest.
        each = np.where(p < 1e-15, 1 / (p * np.pi), np.tan((0.5 - p) * np.pi))
    mean = float((weights * each).sum() / weights.sum())
    if mean > 1e15:
        return math.log10(mean * math.pi)
    return -math.log10(0.5 - math.atan(mean) / math.pi)
