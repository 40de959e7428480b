"""Cumulant generating functions of scores, with two derivatives, each at points of its own.

Of people with risks p whose genotypes are g, less what covariates explain,

    K(t) = Σ log(1 - p + p exp(gt)) - t Σ gp
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled

Floats = NDArray[np.float64]

_FACTORS = 8
"""Factors of which one logarithm is taken. Each is above e^-40, risks being within these limits."""


def cumulants(copies: Floats, columns: Floats, explained: Floats, risk: Floats, at: Floats) -> Floats:
    """Sum K, K' and K'' over people, of each variant at each of its points: (3, m, points).

    `copies`, (m, n), less the products of `explained`, (m, q), and `columns`, (n, q), are the genotypes; `at`
    is (m, points).
    """
    out = np.zeros((3, *at.shape))
    _cumulants(np.ascontiguousarray(copies), np.ascontiguousarray(columns.T), explained, risk, at, out)
    return out


@compiled
def _cumulants(copies: Any, columns: Any, explained: Any, risk: Any, at: Any, out: Any) -> None:
    people = len(risk)
    own = np.empty(people)
    for v in range(len(copies)):
        own[:] = copies[v]
        for j in range(len(columns)):
            for i in range(people):
                own[i] -= explained[v, j] * columns[j, i]
        for k in range(at.shape[1]):
            _sum(own, risk, at[v, k], out[:, v, k])


@compiled
def _sum(own: Any, risk: Any, at: Any, out: Any) -> None:
    """Sum one variant's at one point.

    The risk with the genotype, p exp(gt) / (1 - p + p exp(gt)), is over `below`, with e = exp(-|gt|), which
    neither overflows nor is 0.
    """
    value, slope, curvature, product = 0.0, 0.0, 0.0, 1.0
    for i in range(len(risk)):
        g, p = own[i], risk[i]
        x, q = g * at, 1.0 - p
        e = math.exp(-abs(x))
        is_up = x > 0.0
        below = p + q * e if is_up else q + p * e
        inverse = 1.0 / below
        product *= below
        value += x * q if is_up else -x * p
        tilted = g * p * q * inverse
        slope += tilted * (1.0 - e) if is_up else tilted * (e - 1.0)
        curvature += g * tilted * e * inverse
        if i % _FACTORS == 0:
            value += math.log(product)
            product = 1.0
    out[0], out[1], out[2] = value + math.log(product), slope, curvature
