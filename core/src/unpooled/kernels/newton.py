"""Newton's step for many small problems at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from unpooled.kernels.least_squares import COLLINEAR, CONSTANT, FITTED, _invert


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
        at = 0
        for i in range(p):
            for j in range(i, p):
                inverse[i, j] = inverse[j, i] = hessian[v, at]
                at += 1
            if not inverse[i, i] > 0.0:
                code[v] = CONSTANT
        if code[v] != FITTED:
            continue
        for i in range(p):
            scale[i] = 1.0 / np.sqrt(inverse[i, i])
        for i in range(p):
            for j in range(p):
                inverse[i, j] *= scale[i] * scale[j]
            inverse[i, i] = 1.0
        if not _invert(inverse, lower):
            code[v] = COLLINEAR
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
