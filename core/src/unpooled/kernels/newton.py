"""Newton's step for many small problems at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from unpooled.kernels.least_squares import COLLINEAR, CONSTANT, FITTED, MOST_ENTANGLED, _invert


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def entangled(hessian: Any, means: Any) -> Any:
    """Whether two estimates correlate beyond 0.99999, which PLINK 1.9 refuses; negative ones may. bool (m,).

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


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled_inverse(triangle: Any, inverse: Any, lower: Any, scale: Any) -> Any:
    """Inverse of a matrix given by its upper triangle, but for `scale` in rows and columns; or a code."""
    p, at = len(scale), 0
    for i in range(p):
        for j in range(i, p):
            inverse[i, j] = inverse[j, i] = triangle[at]
            at += 1
        if not inverse[i, i] > 0.0:
            return CONSTANT
        scale[i] = 1.0 / np.sqrt(inverse[i, i])
    for i in range(p):
        for j in range(p):
            inverse[i, j] *= scale[i] * scale[j]
        inverse[i, i] = 1.0
    return FITTED if _invert(inverse, lower) else COLLINEAR
