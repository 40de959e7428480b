"""Logistic regression on the genotype alone, from counts: how far off Newton's first step is."""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.kernels.compiled import compiled
from unpooled.kernels.elementary import exp_of, log_of
from unpooled.kernels.fixed_order import total_of

FARTHEST = 4.0
"""The most steps that are taken at once. Beyond, the likelihood has long bent away from the first step's."""


@compiled
def correction(cases: Any, controls: Any, copies: Any) -> Any:
    """Find how Newton's first step from the null model must change to end at the estimate: (m, 2).

    cases, controls   (m, k): people with each of k genotypes      copies   (k,): what each counts

    First the share of the step that the genotype's coefficient takes, up to FARTHEST: below 1 where the step
    overshoots, as with rare carriers of whom many are cases, above 1 where it falls short. Then what the
    intercept lacks at that share. 1 and 0 where the genotype tells nothing, or too much for an estimate.
    """
    found = np.empty((len(cases), 2))
    for v in range(len(cases)):
        found[v, 0], found[v, 1] = 1.0, 0.0
        case, control = cases[v], controls[v]
        some, others = total_of(case), total_of(control)
        if some == 0 or others == 0:
            continue
        null = log_of(some / others)
        _, by_slope, by_intercept = _evaluate(case, control, copies, 0.0, null)
        slope, intercept = _estimate(case, control, copies)
        share = slope / by_slope
        if 0.0 < share <= FARTHEST:
            found[v, 0], found[v, 1] = share, intercept - null - share * by_intercept
        elif share > FARTHEST:
            found[v, 0] = FARTHEST
    return found


@compiled
def _estimate(case: Any, control: Any, copies: Any) -> Any:
    """The coefficient of the genotype and the intercept, by Newton's method with steps that are halved.

    It begins at the odds ratio of the alleles, all counts raised by a half, and at the most frequent
    genotype's odds: near the estimate, however rare the allele is.
    """
    two, most = copies.max(), np.argmax(case + control)
    with_, without = total_of(case * copies) + 0.5, total_of(case * (two - copies)) + 0.5
    with_control, without_control = total_of(control * copies) + 0.5, total_of(control * (two - copies)) + 0.5
    slope = log_of(with_ * without_control / (without * with_control))
    intercept = log_of((case[most] + 0.5) / (control[most] + 0.5)) - slope * copies[most]
    likelihood, by_slope, by_intercept = _evaluate(case, control, copies, slope, intercept)
    for _ in range(30):
        size = 1.0
        # If no step as short as this gains anything, the estimate is as near as rounding lets it be.
        while size > 1e-3:
            ahead = _evaluate(case, control, copies, slope + size * by_slope, intercept + size * by_intercept)
            if ahead[0] >= likelihood:
                break
            size *= 0.5
        else:
            break
        slope, intercept = slope + size * by_slope, intercept + size * by_intercept
        likelihood, by_slope, by_intercept = ahead
        if abs(by_slope) <= 1e-9 * abs(slope):
            break
    return slope, intercept


@compiled
def _evaluate(case: Any, control: Any, copies: Any, slope: Any, intercept: Any) -> Any:
    """Log-likelihood, and Newton's step of slope and intercept; steps of 0 where they are not known."""
    likelihood = r = r_copies = w = w_copies = w_squares = 0.0
    for k in range(len(copies)):
        eta = intercept + slope * copies[k]
        e = exp_of(-abs(eta))
        people, p = case[k] + control[k], (1.0 if eta >= 0.0 else e) / (1.0 + e)
        residual, weight = case[k] - people * p, people * e / ((1.0 + e) * (1.0 + e))
        likelihood += case[k] * min(eta, 0.0) - control[k] * max(eta, 0.0) - people * log_of(1.0 + e)
        r += residual
        r_copies += residual * copies[k]
        w += weight
        w_copies += weight * copies[k]
        w_squares += weight * copies[k] * copies[k]
    determinant = w * w_squares - w_copies * w_copies
    # But for rounding all people have the same genotype: there is no slope to be found.
    if not determinant > 1e-12 * w * w_squares:
        return likelihood, 0.0, 0.0
    by_slope, by_intercept = w * r_copies - w_copies * r, w_squares * r - w_copies * r_copies
    return likelihood, by_slope / determinant, by_intercept / determinant
