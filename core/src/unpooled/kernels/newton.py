"""Newton's step for many small problems at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.kernels.compiled import compiled
from unpooled.kernels.elementary import log_of
from unpooled.kernels.least_squares import (
    COLLINEAR,
    CONSTANT,
    CORRELATED,
    FITTED,
    MOST_CORRELATED,
    MOST_ENTANGLED,
    MOST_INFLATED,
    SINGULAR,
    _invert,
)


@compiled
def newton(gradient: Any, hessian: Any) -> Any:
    """(step (m, p), half the decrement (m,), variances (m, p), code (m,)) from gradients and Hessians.

    `hessian`, (m, p (p + 1) / 2), are the upper triangles of the negative Hessians. The step is H^-1 g, half
    the decrement g' H^-1 g / 2, and the variances are the diagonal of H^-1. The code says CONSTANT or
    COLLINEAR where H is not positive definite.
    """
    m, p = gradient.shape
    step, variance = np.full((m, p), np.nan), np.full((m, p), np.nan)
    decrement, code = np.full(m, np.inf), np.zeros(m, np.uint8)
    inverse, lower, scale = np.empty((p, p)), np.empty((p, p)), np.empty(p)
    for v in range(m):
        code[v] = _scaled_inverse(hessian[v], inverse, lower, scale)
        if code[v] != FITTED:
            continue
        decrement[v] = 0.0
        for i in range(p):
            total = 0.0
            for j in range(p):
                total += inverse[i, j] * scale[j] * gradient[v, j]
            step[v, i] = total * scale[i]
            decrement[v] += 0.5 * step[v, i] * gradient[v, i]
            variance[v, i] = inverse[i, i] * scale[i] * scale[i]
    return step, decrement, variance, code


@compiled
def inverses(hessian: Any, p: Any) -> Any:
    """Upper triangles of H^-1, (m, p (p + 1) / 2), and log |H|, (m,), from upper triangles of H, p x p.

    NaN and -inf where one of them is not positive definite, as far as rounding lets it be seen.
    """
    m = len(hessian)
    found, logarithm = np.full(hessian.shape, np.nan), np.full(m, -np.inf)
    inverse, lower, scale = np.empty((p, p)), np.empty((p, p)), np.empty(p)
    for v in range(m):
        if _scaled_inverse(hessian[v], inverse, lower, scale) != FITTED:
            continue
        total, at = 0.0, 0
        for i in range(p):
            # `lower` holds the inverse of Cholesky's factor.
            total -= 2.0 * (log_of(lower[i, i]) + log_of(scale[i]))
            for j in range(i, p):
                found[v, at] = inverse[i, j] * scale[i] * scale[j]
                at += 1
        # Inverted once more: where rounding has spoilt the inverse, it has no inverse of its own.
        if _scaled_inverse(found[v], inverse, lower, scale) == FITTED:
            logarithm[v] = total
    return found, logarithm


@compiled
def sandwich(hessian: Any, squares: Any, p: Any) -> Any:
    """Return the covariances H^-1 B H^-1, (m, p, p), from upper triangles of H and B; NaN where H is not
    positive definite.
    """
    m = len(hessian)
    found = np.full((m, p, p), np.nan)
    inverse, lower, scale = np.empty((p, p)), np.empty((p, p)), np.empty(p)
    for v in range(m):
        if _scaled_inverse(hessian[v], inverse, lower, scale) != FITTED:
            continue
        at = 0
        for i in range(p):
            for j in range(i, p):
                found[v, i, j] = found[v, j, i] = squares[v, at] * scale[i] * scale[j]
                at += 1
        for i in range(p):
            for j in range(p):
                lower[i, j] = 0.0
                for k in range(p):
                    lower[i, j] += inverse[i, k] * found[v, k, j]
        for i in range(p):
            for j in range(i, p):
                total = 0.0
                for k in range(p):
                    total += lower[i, k] * inverse[k, j]
                found[v, i, j] = found[v, j, i] = total * scale[i] * scale[j]
    return found


@compiled
def dependent(hessian: Any, p: Any) -> Any:
    """plink2's refusals of columns, from weighted products of all with the intercept first: uint8 (m,).

    CORRELATED beyond 0.999, SINGULAR, or COLLINEAR: a variance inflation factor beyond 50.
    """
    m, c = len(hessian), p - 1
    code = np.zeros(m, np.uint8)
    about, half, spread = np.empty((c, c)), np.empty((c, c)), np.empty(c)
    for v in range(m):
        weight, at = hessian[v, 0], p
        for i in range(c):
            for j in range(i, c):
                about[i, j] = hessian[v, at] - hessian[v, 1 + i] * hessian[v, 1 + j] / weight
                about[j, i] = about[i, j]
                at += 1
            spread[i] = np.sqrt(max(about[i, i], 0.0))
        for i in range(c):
            for j in range(c):
                about[i, j] /= spread[i] * spread[j]
                if i != j and abs(about[i, j]) > MOST_CORRELATED:
                    code[v] = CORRELATED
            about[i, i] = 1.0
        if code[v] != FITTED:
            continue
        if not _invert(about, half):
            code[v] = SINGULAR
            continue
        for i in range(c):
            if not about[i, i] <= MOST_INFLATED:
                code[v] = COLLINEAR
    return code


@compiled
def entangled(hessian: Any, means: Any) -> Any:
    """Mark where two estimates correlate beyond 0.99999, as PLINK 1.9 refuses; negative ones may: bool (m,).

    `hessian` as above, with the intercept first; `means`, (p - 1,), is what was subtracted from each other
    predictor, in its own units: PLINK's intercept is that of the predictors as they stand in the files.
    """
    m, p = len(hessian), len(means) + 1
    found = np.zeros(m, np.bool_)
    inverse, lower, scale = np.empty((p, p)), np.empty((p, p)), np.empty(p)
    for v in range(m):
        if _scaled_inverse(hessian[v], inverse, lower, scale) != FITTED:
            continue
        for i in range(p):
            for j in range(p):
                inverse[i, j] *= scale[i] * scale[j]
        for i in range(1, p):
            inverse[0] -= means[i - 1] * inverse[i]
        for i in range(1, p):
            inverse[0, 0] -= means[i - 1] * inverse[0, i]
            inverse[i, 0] = inverse[0, i]
        for i in range(p):
            for j in range(i):
                if inverse[i, j] > MOST_ENTANGLED * np.sqrt(inverse[i, i] * inverse[j, j]):
                    found[v] = True
    return found


@compiled
def _scaled_inverse(triangle: Any, inverse: Any, lower: Any, scale: Any) -> Any:
    """Inverse of a matrix given by its upper triangle, but for `scale` in rows and columns; or a code."""
    p, at = len(scale), 0
    for i in range(p):
        for j in range(i, p):
            inverse[i, j] = inverse[j, i] = triangle[at]
            at += 1
        if not inverse[i, i] > 0.0:
            return CONSTANT
        # By the root of the diagonal: columns in very different units would cost digits.
        scale[i] = 1.0 / np.sqrt(inverse[i, i])
    for i in range(p):
        for j in range(p):
            inverse[i, j] *= scale[i] * scale[j]
        inverse[i, i] = 1.0
    return FITTED if _invert(inverse, lower) else COLLINEAR
