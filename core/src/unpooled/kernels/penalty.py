"""Firth's penalty of a logistic likelihood: half the logarithm of the information's determinant.

With weights w = p (1 - p), information I = sum w x x' and leverages h = w x' I^-1 x, its derivative is
sum h (1/2 - p) x; and the information of the data that the penalty adds is sum h w x x' (Heinze and Schemper
2002). Here is what becomes of a tile's weights and residuals, so that the sums over them are these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.kernels.compiled import compiled
from unpooled.kernels.elementary import exp_of, log_of
from unpooled.kernels.fixed_order import total_of
from unpooled.kernels.lanes import muladd

_MOST_TURNS = 50
_ENOUGH = 1e-9


@compiled
def penalise(
    inverse: Any, genotype: Any, columns: Any, case: Any, weight: Any, residual: Any, row: Any, leverage: Any
) -> None:
    """Replace weights by h w, and residuals by h (1/2 - p). `row` and `leverage` are used up.

    `inverse` is the upper triangle of I^-1. No person's leverage is beyond 1, whatever is given for I^-1.
    """
    p, at = columns.shape[0] + 2, 0
    for j in range(p):
        _times_columns(inverse[at : at + p - j], genotype, columns, j, row)
        at += p - j
        if j == 0:
            leverage[:] = row
        else:
            own = genotype if j == 1 else columns[j - 2]
            for i in range(len(row)):
                leverage[i] = muladd(own[i], row[i], leverage[i])
    for i in range(len(row)):
        h = min(max(leverage[i] * weight[i], 0.0), 1.0)
        residual[i] = h * (residual[i] - case[i] + 0.5)
        weight[i] *= h


@compiled
def _times_columns(triangle: Any, genotype: Any, columns: Any, j: Any, row: Any) -> None:
    """The column j of each person times its row of a symmetric matrix from there on, but for itself."""
    own = triangle[0]
    if j == 0:
        row[:] = own
    else:
        column = genotype if j == 1 else columns[j - 2]
        for i in range(len(row)):
            row[i] = own * column[i]
    for k in range(1, len(triangle)):
        other = genotype if j + k == 1 else columns[j + k - 2]
        twice = triangle[k] + triangle[k]  # of its own type
        for i in range(len(row)):
            row[i] = muladd(twice, other[i], row[i])


@compiled
def from_counts(cases: Any, controls: Any, copies: Any) -> Any:
    """Intercept and coefficient of the genotype by Firth's fit without covariates: (m, 2).

    cases, controls   (m, k): people with each of k genotypes      copies   (k,): what each counts
    """
    found = np.empty((len(cases), 2))
    for v in range(len(cases)):
        found[v, 0], found[v, 1] = _estimate(cases[v], controls[v], copies)
    return found


@compiled
def _estimate(case: Any, control: Any, copies: Any) -> Any:
    """Fit intercept and slope by Newton's method with step halving.

    It starts from the odds ratio of the alleles, all counts raised by a half.
    """
    two = copies.max()
    with_, without = total_of(case * copies) + 0.5, total_of(case * (two - copies)) + 0.5
    with_control, without_control = total_of(control * copies) + 0.5, total_of(control * (two - copies)) + 0.5
    slope = log_of(with_ * without_control / (without * with_control))
    intercept = log_of(without / without_control)
    likelihood, by_intercept, by_slope = _evaluate(case, control, copies, intercept, slope)
    for _ in range(_MOST_TURNS):
        # No further than 1 at once: away from its maximum the likelihood is far from a parabola.
        size = 1.0 / max(1.0, abs(by_slope), abs(by_intercept))
        while size > 1e-9:
            ahead = _evaluate(case, control, copies, intercept + size * by_intercept, slope + size * by_slope)
            # Lower by rounding only is no worse: at the maximum steps would else be halved for nothing.
            if ahead[0] >= likelihood - 1e-12 * abs(likelihood):
                break
            size *= 0.5
        else:
            break
        intercept, slope = intercept + size * by_intercept, slope + size * by_slope
        likelihood, by_intercept, by_slope = ahead
        if abs(by_slope) <= _ENOUGH and abs(by_intercept) <= _ENOUGH:
            break
    return intercept, slope


@compiled
def _evaluate(case: Any, control: Any, copies: Any, intercept: Any, slope: Any) -> Any:
    """Penalised log-likelihood, and the step of intercept and slope; steps of 0 where they are not known."""
    likelihood = w = w_copies = w_squares = 0.0
    for k in range(len(copies)):
        eta = intercept + slope * copies[k]
        e = exp_of(-abs(eta))
        people = case[k] + control[k]
        weight = people * e / ((1.0 + e) * (1.0 + e))
        likelihood += case[k] * min(eta, 0.0) - control[k] * max(eta, 0.0) - people * log_of(1.0 + e)
        w += weight
        w_copies += weight * copies[k]
        w_squares += weight * copies[k] * copies[k]
    determinant = w * w_squares - w_copies * w_copies
    if not determinant > 1e-12 * w * w_squares:
        return -np.inf, 0.0, 0.0
    r = r_copies = a = a_copies = a_squares = 0.0
    for k in range(len(copies)):
        eta, c = intercept + slope * copies[k], copies[k]
        e = exp_of(-abs(eta))
        people, p = case[k] + control[k], (1.0 if eta >= 0.0 else e) / (1.0 + e)
        weight = e / ((1.0 + e) * (1.0 + e))
        leverage = weight * (w_squares - 2.0 * w_copies * c + w * c * c) / determinant
        residual = case[k] - people * p + people * leverage * (0.5 - p)
        weight *= people * (1.0 + leverage)
        r += residual
        r_copies += residual * c
        a += weight
        a_copies += weight * c
        a_squares += weight * c * c
    augmented = a * a_squares - a_copies * a_copies
    by_intercept = (a_squares * r - a_copies * r_copies) / augmented
    by_slope = (a * r_copies - a_copies * r) / augmented
    return likelihood + 0.5 * log_of(determinant), by_intercept, by_slope
