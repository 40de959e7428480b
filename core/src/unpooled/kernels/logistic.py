"""Log-likelihood, gradient and Hessian of logistic regressions, each at coefficients of its own.

For each variant a tile of samples goes through two passes over rows that stay in the first cache: first the
weights w = p (1 - p) and residuals r = y - p, element by element; then the sums, two columns at a time.

exp is written out, so that LLVM vectorises it: x = k ln 2 + f with k from `floor`, then Taylor's polynomial
of degree 13 in f. The pass that holds it takes no liberty at all with the order of operations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unpooled.kernels.products import _COPIES, _FREEDOMS, TILE, _decode

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

CLIP = 40.0
"""Linear predictors are clipped at +-40: beyond, a probability is 0 or 1 in float64 anyway."""


@dataclass(frozen=True, eq=False)
class Design:
    """One cohort's people and covariates, in tiles."""

    covariates: Floats
    """(tiles, c, TILE); 0 for whoever is not inside."""
    rows: Floats
    """(tiles, 4, TILE): 1 if inside; 1 for a case; what a copy counts; whose mean fills a missing call."""

    @classmethod
    def of(
        cls,
        covariates: Floats,
        inside: NDArray[np.bool_],
        case: Floats,
        unit: Floats,
        group: NDArray[np.int64],
    ) -> Design:
        """From (samples, c) and (samples,) each."""
        samples, count = covariates.shape
        tiles = max(1, -(-samples // TILE))
        padded = np.zeros((tiles * TILE, count + 4))
        padded[:samples, :count] = np.where(inside[:, None], covariates, 0)
        padded[:samples, count:] = np.column_stack([inside, np.where(inside, case, 0), unit, group])
        turned = padded.reshape(tiles, TILE, count + 4).transpose(0, 2, 1)
        return cls(np.ascontiguousarray(turned[:, :count]), np.ascontiguousarray(turned[:, count:]))


def evaluate(
    words: Words, second: NDArray[np.bool_], design: Design, beta: Floats, fill: Floats, exact: bool
) -> tuple[Floats, Floats, Floats]:
    """Log-likelihood (m,), gradient (m, p) and upper triangle of the negative Hessian (m, p (p + 1) / 2).

    Parameters are intercept, genotype, covariates. `second`: copies of the file's A2 count, else of A1.
    A missing call leaves the person out if `exact`; else it is `fill`, (m, groups), in units of the genotype.
    """
    m, p = beta.shape
    quads = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    likelihood, gradient = np.zeros(m), np.zeros((m, p))
    hessian = np.zeros((m, p * (p + 1) // 2))
    filling = np.ascontiguousarray(fill) if len(fill) else np.zeros((m, 2))
    _evaluate(
        quads, second, _COPIES, design.covariates, design.rows, np.ascontiguousarray(beta), filling, exact,
        likelihood, gradient, hessian,
    )  # fmt: skip
    return likelihood, gradient, hessian


@njit(cache=True, nogil=True, error_model="numpy")
def _evaluate(
    quads: Any, second: Any, tables: Any, covariates: Any, rows: Any, beta: Any, fill: Any, exact: Any,
    likelihood: Any, gradient: Any, hessian: Any,
) -> None:  # fmt: skip
    count = covariates.shape[1]
    x = np.empty((count + 1, TILE))  # genotype, then covariates
    valid, eta, e = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    weight, residual, terms = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    bits = np.empty(TILE, np.int64)
    powers = bits.view(np.float64)
    for v in range(quads.shape[0]):
        table = tables[np.int64(second[v])]
        for tile in range(covariates.shape[0]):
            left = tile * (TILE // 4)
            bytes_ = quads[v, left : min(left + TILE // 4, quads.shape[1])]
            row = rows[tile]
            _decode(bytes_, table, x[0])
            for i in range(TILE):
                x[0, i] *= row[2, i]
                valid[i] = row[0, i]
            _take_missing(bytes_, exact, fill[v], row[3], x[0], valid)
            x[1:] = covariates[tile]
            for i in range(TILE):
                eta[i] = beta[v, 0] + beta[v, 1] * x[0, i]
            for c in range(count):
                slope = beta[v, c + 2]
                for i in range(TILE):
                    eta[i] += slope * x[c + 1, i]
            _exponential(eta, bits, powers, e)
            _weigh(eta, e, row[1], valid, weight, residual, terms)
            likelihood[v] += _sum(x, weight, residual, terms, gradient[v], hessian[v])


@njit(cache=True, nogil=True, error_model="numpy")
def _take_missing(quads: Any, exact: Any, fill: Any, group: Any, copies: Any, valid: Any) -> None:
    """Leave out, or fill in, whoever has no call (01)."""
    for k in range(quads.shape[0]):
        low = quads[k] & ~(quads[k] >> 1) & 0x55
        if low:
            for j in range(4):
                if (low >> (2 * j)) & 1:
                    i = 4 * k + j
                    if exact:
                        valid[i] = 0.0
                    else:
                        copies[i] = fill[np.int64(group[i])]


_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # their sum is ln 2 to 1e-26
_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))
(_T0, _T1, _T2, _T3, _T4, _T5, _T6, _T7, _T8, _T9, _T10, _T11, _T12, _T13) = _TAYLOR


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _exponential(eta: Any, bits: Any, powers: Any, e: Any) -> None:
    """Clip linear predictors, and e = exp(-|eta|). Loops of few arrays each, or LLVM does not vectorise them.

    `powers` are the same bytes as `bits`: 2^k is put together as a float64's exponent.
    """
    for i in range(TILE):
        x = eta[i] if eta[i] < CLIP else CLIP
        eta[i] = x if x > -CLIP else -CLIP
    for i in range(TILE):
        bits[i] = (np.int64(np.int32(np.floor(-abs(eta[i]) * _LOG2_E + 0.5))) + 1023) << 52
    for i in range(TILE):
        a = -abs(eta[i])
        k = np.floor(a * _LOG2_E + 0.5)
        f = (a - k * _LN2_HIGH) - k * _LN2_LOW
        s = _T12 + f * _T13
        s = _T11 + f * s
        s = _T10 + f * s
        s = _T9 + f * s
        s = _T8 + f * s
        s = _T7 + f * s
        s = _T6 + f * s
        s = _T5 + f * s
        s = _T4 + f * s
        s = _T3 + f * s
        s = _T2 + f * s
        s = _T1 + f * s
        e[i] = _T0 + f * s
    for i in range(TILE):
        e[i] *= powers[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _weigh(eta: Any, e: Any, case: Any, valid: Any, weight: Any, residual: Any, terms: Any) -> None:
    """Weights, residuals and terms of the log-likelihood, given exp(-|eta|). Uses `e` up."""
    for i in range(TILE):
        inverse = 1.0 / (1.0 + e[i])
        other = e[i] * inverse
        weight[i] = other * inverse * valid[i]
        p = inverse if eta[i] >= 0.0 else other
        residual[i] = (case[i] - p) * valid[i]
    # log-likelihood: y eta - max(eta, 0) - log(1 + e); the logarithm is taken of products
    for i in range(TILE):
        positive = eta[i] if eta[i] >= 0.0 else 0.0
        terms[i] = (case[i] * eta[i] - positive) * valid[i]
        e[i] = 1.0 + e[i] * valid[i]
    for j in range(1, TILE // 16):
        for i in range(16):
            e[i] *= e[16 * j + i]
    for i in range(16):
        terms[i] -= np.log(e[i])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FREEDOMS)
def _sum(x: Any, weight: Any, residual: Any, terms: Any, gradient: Any, hessian: Any) -> Any:
    """Add a tile's sums to gradient and Hessian; return its log-likelihood. Uses `terms` up."""
    columns = x.shape[0]
    likelihood = slope = total = 0.0
    for i in range(TILE):
        likelihood += terms[i]
        slope += residual[i]
        total += weight[i]
    gradient[0] += slope
    hessian[0] += total
    at = columns + 1  # the triangle's row of the intercept has columns + 1 entries
    for c in range(columns):
        column = x[c]
        slope = total = square = 0.0
        for i in range(TILE):
            slope += residual[i] * column[i]
            terms[i] = weight[i] * column[i]
            total += terms[i]
            square += terms[i] * column[i]
        gradient[c + 1] += slope
        hessian[c + 1] += total
        hessian[at] += square
        at += 1
        for d in range(c + 1, columns - 1, 2):
            y, z = x[d], x[d + 1]
            of_y = of_z = 0.0
            for i in range(TILE):
                of_y += terms[i] * y[i]
                of_z += terms[i] * z[i]
            hessian[at] += of_y
            hessian[at + 1] += of_z
            at += 2
        if (columns - c - 1) % 2:
            y = x[columns - 1]
            of_y = 0.0
            for i in range(TILE):
                of_y += terms[i] * y[i]
            hessian[at] += of_y
            at += 1
    return likelihood
