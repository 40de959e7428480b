"""The saddlepoint test of pooled rows: its formula written plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, special, stats

LEAST_FAR = stats.chi2.isf(0.05, 1)
"""Squared score over its variance from which on tails are looked for."""


def covariates_model(y: np.ndarray, design: np.ndarray) -> np.ndarray:
    """Everybody's risk by maximum likelihood, (n,)."""
    beta = np.zeros(design.shape[1])
    beta[0] = special.logit(y.mean())
    for _ in range(50):
        p = special.expit(design @ beta)
        beta += np.linalg.solve((design.T * (p * (1 - p))) @ design, design.T @ (y - p))
    return np.asarray(special.expit(design @ beta))


def score(copies: np.ndarray, y: np.ndarray, p: np.ndarray, design: np.ndarray) -> tuple[float, float, Any]:
    """The score of one variant, its variance, and its copies less what covariates explain."""
    g = np.where(copies < 0, copies[copies >= 0].mean(), copies.astype(float))
    w = p * (1 - p)
    g = g - design @ np.linalg.solve((design.T * w) @ design, design.T @ (w * g))
    return g @ (y - p), g @ (w * g), g


def log_tail(g: np.ndarray, p: np.ndarray, s: float) -> float:
    """The logarithm of the tail beyond s, by the formulas of Kuonen and of Barndorff-Nielsen; of the largest
    score, to which no saddlepoint belongs, that of its probability.
    """

    def generating(t: float) -> float:
        return float((np.logaddexp(np.log1p(-p), np.log(p) + g * t) - t * g * p).sum())

    def tilted(t: float) -> np.ndarray:
        return np.asarray(special.expit(special.logit(p) + g * t))

    largest = np.where(g * s > 0, g * (1 - p), -g * p).sum()
    if abs(largest) <= (1 + 1e-9) * abs(s):
        up = np.where(g * s > 0, np.log(p), np.where(g * s < 0, np.log1p(-p), 0))
        return float(up.sum()) if abs(largest) >= (1 - 1e-9) * abs(s) else -np.inf
    t = optimize.brentq(
        lambda t: g @ (tilted(t) - p) - s, 0, np.sign(s) * 1e4, xtol=1e-14, rtol=1e-14, maxiter=1000
    )
    q = tilted(t)
    w, v = np.sqrt(2 * (t * s - generating(t))), abs(t) * np.sqrt((g * g) @ (q * (1 - q)))
    return float(stats.norm.logsf(w + np.log(v / w) / w))
