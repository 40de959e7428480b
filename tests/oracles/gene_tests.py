"""Burden, SKAT, SKAT-O and ACAT-V of pooled genotypes, written down as their papers have them.

The null model is statsmodels', SKAT's P Imhof's integral (Biometrika 1961), and SKAT-O's an adaptive
quadrature of the formula of Lee and others (Biostatistics 2012).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
from scipy import integrate, optimize, stats

from unpooled.kernels.weighted_chi_squares import neg_log10_tail
from unpooled.methods.genes.options import BETA, FLAT, MADSEN_BROWNING

WEIGHTS = {
    BETA: lambda p: 25 * (1 - p) ** 24,
    MADSEN_BROWNING: lambda p: 1 / np.sqrt(p * (1 - p)),
    FLAT: np.ones_like,
}
GRID = (0, 0.1**2, 0.2**2, 0.3**2, 0.4**2, 0.5**2, 0.5, 1)


@dataclass(frozen=True, eq=False)
class Null:
    """A model without genotypes: residuals and weights of everyone, and the design."""

    residual: np.ndarray
    weight: np.ndarray
    design: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, covariates: np.ndarray, *, cases: bool) -> Null:
        x = sm.add_constant(covariates, has_constant="add")
        if cases:
            fit = sm.GLM(y, x, family=sm.families.Binomial()).fit(tol=1e-14)
            return cls(y - fit.mu, fit.mu * (1 - fit.mu), x)
        fit = sm.OLS(y, x).fit()
        return cls(fit.resid / fit.mse_resid, np.full(len(y), 1 / fit.mse_resid), x)

    def scores(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of columns g, (n, m), and their covariance."""
        wx = self.design * self.weight[:, None]
        gx = g.T @ wx
        covariance = (g.T * self.weight) @ g - gx @ np.linalg.solve(self.design.T @ wx, gx.T)
        return g.T @ self.residual, covariance


def imhof(q: float, weights: np.ndarray) -> float:
    """P that a sum of weighted chi-squares exceeds q, to nine digits after the point."""
    a = weights[weights > 1e-9 * weights.max()]
    a, q = a / a.sum(), q / a.sum()

    def integrand(u: np.ndarray) -> np.ndarray:
        angle = 0.5 * np.arctan(np.outer(a, u)).sum(axis=0) - 0.5 * q * u
        return np.sin(angle) / (u * np.exp(0.25 * np.log1p(np.outer(a, u) ** 2).sum(axis=0)))

    x, w = np.polynomial.legendre.leggauss(20)
    edges = np.concatenate([np.geomspace(1e-14, np.pi / q, 40), np.pi / q * np.arange(2, 20_000)])
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    periods = (integrand((middle + half * x).ravel()).reshape(len(half), -1) * w).sum(axis=1) * half[:, 0]
    ends = np.cumsum(periods)[-2:]
    return float(0.5 + ends.mean() / np.pi)  # the last periods have either sign


def tail(q: float, weights: np.ndarray) -> float:
    """The same by the kernel, which core/tests/test_weighted_chi_squares.py compares with other programs."""
    return float(10 ** -neg_log10_tail(q, weights)[0])


def skato(s: np.ndarray, phi: np.ndarray) -> float:
    m = len(s)
    q, lambdas = [], []
    for r in GRID:
        kernel = (1 - r) * np.eye(m) + r * np.ones((m, m))
        values, vectors = np.linalg.eigh(kernel)
        root = vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T
        lambdas.append(np.maximum(np.linalg.eigvalsh(root @ phi @ root), 0))
        q.append(s @ kernel @ s)
    least = min(tail(value, of) for value, of in zip(q, lambdas, strict=True))
    top = [_quantile(least, of) for of in lambdas]
    of_mean = phi.sum(axis=0) / np.sqrt(phi.sum())
    rest = phi - np.outer(of_mean, of_mean)
    of_rest = np.maximum(np.linalg.eigvalsh(rest), 0)
    tau = [r * phi.sum() + (1 - r) * of_mean @ of_mean for r in GRID]
    variance, extra = 2 * (of_rest**2).sum(), 4 * of_mean @ rest @ of_mean
    shrunk = np.sqrt(variance / (variance + extra))

    def given(x: float) -> float:
        bound = min((b - t * x) / (1 - r) for b, t, r in zip(top[:-1], tau[:-1], GRID[:-1], strict=True))
        return tail((bound - of_rest.sum()) * shrunk + of_rest.sum(), of_rest)

    last = np.sqrt(top[-1] / tau[-1])
    # x = t^2, so that the density has no pole.
    inside = integrate.quad(
        lambda t: 2 * stats.norm.pdf(t) * given(t * t), 0, last, epsabs=0, epsrel=1e-6, limit=300
    )
    return float(inside[0] + stats.chi2.sf(last**2, 1))


def _quantile(p: float, weights: np.ndarray) -> float:
    top = weights.sum()
    while tail(top, weights) > p:
        top *= 2
    return float(optimize.brentq(lambda q: tail(q, weights) - p, 0, top, xtol=1e-12 * top))


def p_values(null: Null, g: np.ndarray, weights: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """P of burden, SKAT, SKAT-O and ACAT-V."""
    scores, covariance = null.scores(g)
    s, phi = scores * weights, covariance * np.outer(weights, weights)
    each = stats.chi2.sf(s**2 / np.diag(phi), 1)
    if len(s) == 1:  # then all tests are one
        return np.repeat(each, 4)
    omega = weights**2 * frequency * (1 - frequency)
    cauchy = (omega * np.tan((0.5 - each) * np.pi)).sum() / omega.sum()
    return np.array(
        [
            stats.chi2.sf(s.sum() ** 2 / phi.sum(), 1),
            imhof(s @ s, np.linalg.eigvalsh(phi)),
            skato(s, phi),
            stats.cauchy.sf(cauchy),
        ]
    )


def columns_of(
    copies: np.ndarray, members: list[int], collapsed: Mapping[int, bool]
) -> tuple[np.ndarray, np.ndarray]:
    """A set's columns in the pool, (people, columns), and their frequencies; of who has complete data."""
    alone, rare = [], []
    for v in dict.fromkeys(members):
        called = copies[v] >= 0
        first = copies[v][called].sum()
        own = copies[v] if first <= called.sum() else 2 - copies[v]
        if v not in collapsed:
            continue
        if collapsed[v]:
            rare.append(np.where(called, own, 0))
        else:
            alone.append(np.where(called, own, own[called].mean()))
    columns = np.array(alone + ([np.max(rare, axis=0)] if rare else []), float).T
    return columns, columns.mean(axis=0) / 2
