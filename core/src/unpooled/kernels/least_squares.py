"""Many small least-squares problems at once, with the refusals of PLINK 1.9.

Each problem is given by its sums: for p predictors (without the intercept) the products A = X'X and X'y, both
about the means, and the means themselves. The checks are those of PLINK 1.9's --linear, in its order, the
last of them one-sided as there: they are part of what its reports say NA to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.kernels.compiled import compiled

FITTED, TOO_FEW, CONSTANT, CORRELATED, COLLINEAR, UNSTABLE, NO_RESIDUAL, SEPARATED, UNFINISHED = range(9)
PENALISED, PENALISED_UNFINISHED, STILL, SINGULAR, FEW = range(9, 14)
"""Outcomes of a variant; any but FITTED and PENALISED is a reason for NA.

TOO_FEW      not more people than parameters         UNSTABLE     two estimates correlate beyond 0.99999
CONSTANT     a predictor does not vary               NO_RESIDUAL  an estimate's variance is below 1e-20
CORRELATED   two predictors correlate beyond 0.999   SEPARATED    a predictor tells cases from controls
COLLINEAR    a variance inflation factor above 50    UNFINISHED   the iteration did not converge

PENALISED is fitted by Firth's penalised likelihood, and PENALISED_UNFINISHED if that did not converge.
STILL: both alleles are there, but a column that the genotype becomes does not vary. SINGULAR is what plink2
says instead beside interactions or missing calls, and of columns that depend on one another exactly. FEW:
perhaps without one of the cohorts too few people have an allele to tell sums over them.
"""

OF_PENALISED = (PENALISED, PENALISED_UNFINISHED)

REFUSED_BY_PLINK2 = (CORRELATED, COLLINEAR, SINGULAR)
"""Reasons for which plink2 prints NA although PLINK 1.9 may have an estimate in a logistic regression."""

REFUSED = (UNSTABLE, NO_RESIDUAL)
"""Reasons for which PLINK 1.9 prints NA although there may be an estimate: only its files leave it out."""

MOST_CORRELATED, MOST_INFLATED, MOST_ENTANGLED, LEAST_VARIANCE = 0.999, 50.0, 0.99999, 1e-20

_NOTHING = 1e-9
"""Share of a column's squares about its mean over all people below which it does not vary in a subset.

What is left after a subtraction is known to about 1e-15 of what was there: at this share to six digits. So
where a covariate is 0 but for one huge value, a variant without a call of that person is CONSTANT; where the
phenotype is, NO_RESIDUAL.
"""


@compiled
def least_squares(
    products: Any, with_y: Any, y_squares: Any, people: Any, means: Any, scales: Any, full: Any, tested: Any
) -> Any:
    """Fit all problems: (beta (m, p), se (m, p), code uint8 (m,), covariances (m, t, t)).

    The last are of the estimates that `tested`, int64 (t,), names.

    products   (m, p, p) about the means          with_y     (m, p) about the means
    y_squares  (m,) about the mean                people     int64 (m,)
    means      (m, p) of the predictors, in the units of `products`
    scales     (p,): what one unit of `products` is in the units of the report; the phenotype's stands last
    full       (p + 1,): squares of each predictor about its mean over all people, or 0 where only 0 is
               nothing; the phenotype's stand last
    """
    m, p = with_y.shape
    beta, se, code = np.full((m, p), np.nan), np.full((m, p), np.nan), np.zeros(m, np.uint8)
    covariance = np.full((m, len(tested), len(tested)), np.nan)
    inverse, half = np.empty((p, p)), np.empty((p, p))
    spread, slope = np.empty(p), np.empty(p)
    for v in range(m):
        code[v] = _checked_inverse(products[v], people[v], full, spread, inverse, half)
        if code[v] == FITTED and not y_squares[v] > _NOTHING * full[p]:
            code[v] = NO_RESIDUAL
        if code[v] != FITTED:
            continue
        explained = 0.0
        for i in range(p):
            slope[i] = 0.0
            for j in range(p):
                slope[i] += inverse[i, j] * (with_y[v, j] / spread[j])
            explained += slope[i] * (with_y[v, i] / spread[i])
        variance = max(y_squares[v] - explained, 0.0) / (people[v] - p - 1)
        for i in range(p):
            unit = scales[p] / (spread[i] * scales[i])
            size = variance * inverse[i, i] * unit * unit
            if not size >= LEAST_VARIANCE:
                code[v] = NO_RESIDUAL
            beta[v, i] = slope[i] * unit
            se[v, i] = np.sqrt(size)
        for k in range(len(tested)):
            for j in range(len(tested)):
                a, b = tested[k], tested[j]
                of_two = np.sqrt(inverse[a, a] * inverse[b, b])
                covariance[v, k, j] = se[v, a] * se[v, b] * inverse[a, b] / of_two
        if code[v] != FITTED:
            beta[v] = np.nan
            se[v] = np.nan
        elif _entangled(inverse, spread, means[v], people[v]):
            code[v] = UNSTABLE
    return beta, se, code, covariance


@compiled
def wald(beta: Any, covariance: Any) -> Any:
    """Return Wald's chi-square b' V^-1 b of t estimates at once, (m,), from (m, t) and (m, t, t); NaN where V
    is singular.
    """
    m, t = beta.shape
    found = np.full(m, np.nan)
    inverse, lower, score = np.empty((t, t)), np.empty((t, t)), np.empty(t)
    for v in range(m):
        for i in range(t):
            score[i] = beta[v, i] / np.sqrt(covariance[v, i, i])
            for j in range(t):
                inverse[i, j] = covariance[v, i, j] / np.sqrt(covariance[v, i, i] * covariance[v, j, j])
        if _invert(inverse, lower):
            # By the inverse of Cholesky's factor: a sum of squares, in which nothing cancels.
            found[v] = 0.0
            for i in range(t):
                part = 0.0
                for j in range(i + 1):
                    part += lower[i, j] * score[j]
                found[v] += part * part
    return found


@compiled
def _checked_inverse(products: Any, people: Any, full: Any, spread: Any, inverse: Any, half: Any) -> Any:
    """Inverse of the correlation matrix and roots of the diagonal of `products`; or a reason for NA."""
    p = products.shape[0]
    if people <= p + 1:
        return TOO_FEW
    for i in range(p):
        if not products[i, i] > _NOTHING * full[i]:
            return CONSTANT
        spread[i] = np.sqrt(products[i, i])
    for i in range(p):
        for j in range(p):
            inverse[i, j] = products[i, j] / (spread[i] * spread[j])
            if i != j and abs(inverse[i, j]) > MOST_CORRELATED:
                return CORRELATED
        inverse[i, i] = 1.0
    if not _invert(inverse, half):
        return SINGULAR
    for i in range(p):
        if not inverse[i, i] <= MOST_INFLATED:
            return COLLINEAR
    return FITTED


@compiled
def _invert(matrix: Any, lower: Any) -> Any:
    """Replace a positive definite matrix by its inverse, through Cholesky's factor; False if it is not."""
    p = matrix.shape[0]
    for j in range(p):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= lower[j, k] * lower[j, k]
        if not pivot > 1e-13:
            return False
        lower[j, j] = np.sqrt(pivot)
        for i in range(j + 1, p):
            total = matrix[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = total / lower[j, j]
    # The inverse of the factor, in place; then its product with its own transpose.
    for j in range(p):
        lower[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, p):
            total = 0.0
            for k in range(j, i):
                total -= lower[i, k] * lower[k, j]
            lower[i, j] = total / lower[i, i]
    for i in range(p):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, p):
                total += lower[k, i] * lower[k, j]
            matrix[i, j] = total
            matrix[j, i] = total
    return True


@compiled
def _entangled(inverse: Any, spread: Any, means: Any, people: Any) -> Any:
    """Tell whether two estimates, intercept included, correlate beyond 0.99999; negatively they may."""
    p = spread.shape[0]
    of_intercept = 1.0 / people
    for i in range(p):
        covariance = 0.0  # of the intercept with estimate i, in units of 1 / spread[i]
        for j in range(p):
            covariance -= inverse[i, j] * means[j] / spread[j]
        of_intercept -= covariance * means[i] / spread[i]
    for i in range(p):
        covariance = 0.0
        for j in range(p):
            covariance -= inverse[i, j] * means[j] / spread[j]
        if covariance > MOST_ENTANGLED * np.sqrt(of_intercept * inverse[i, i]):
            return True
        for j in range(i):
            if inverse[i, j] > MOST_ENTANGLED * np.sqrt(inverse[i, i] * inverse[j, j]):
                return True
    return False
