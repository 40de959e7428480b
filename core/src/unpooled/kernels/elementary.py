"""Exponentials and logarithms with the same bits on every machine, by the formulas of Sun's fdlibm.

Those of NumPy and of a C library choose by processor which products they round. Here is nothing but
elementwise arithmetic of NumPy, whose rounding IEEE 754 fixes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unpooled.kernels.compiled import compiled

Floats = NDArray[np.float64]

_BLOCK = 1 << 12
"""Numbers at a time: what is computed on the way stays in the cache."""
_MANY = 1 << 16
"""More numbers are worth loading Numba for, in whose loops they take half the time."""

LN2 = _HIGH, _LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The logarithm of 2 in two parts; a whole number of four digits times the first is exact."""
_PER_LN2 = 1.44269504088896338700
_P1, _P2, _P3 = 1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05
_P4, _P5 = -1.65339022054652515390e-06, 4.13813679705723846039e-08
_L1, _L2, _L3 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
_L4, _L5, _L6 = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01
_ROOT = math.sqrt(0.5)


def _elementwise(function: Callable[[Floats], Floats]) -> Callable[[ArrayLike], Floats]:
    """The function of arrays of any size: by blocks, or compiled where there are many numbers."""

    @functools.wraps(function)
    def of_any(x: ArrayLike) -> Floats:
        given = np.asarray(x, float)
        flat, found = given.ravel(), np.empty(given.size)
        if len(flat) > _MANY and function.__name__ in _LOOPS:
            _LOOPS[function.__name__](flat, found)
            return found.reshape(given.shape)
        with np.errstate(all="ignore"):
            for first in range(0, len(flat), _BLOCK):
                found[first : first + _BLOCK] = function(flat[first : first + _BLOCK])
        return found.reshape(given.shape)

    return of_any


@_elementwise
def exp(x: Floats) -> Floats:
    """e to the power of each number, to a unit in the last place."""
    x = np.clip(x, -750.0, 710.0)
    k = np.rint(x * _PER_LN2)
    return np.asarray(np.ldexp(_exp_within.py_func(x - k * _HIGH, k * _LOW), k.astype(np.int32)))


@compiled
def exp_of(x: Any) -> Any:
    """The same of one number, for compiled functions."""
    if x != x:
        return x
    k = np.rint(min(max(x, -750.0), 710.0) * _PER_LN2)
    return math.ldexp(_exp_within(min(max(x, -750.0), 710.0) - k * _HIGH, k * _LOW), int(k))


@compiled
def _exp_within(high: Any, low: Any) -> Any:
    """The exponential of high - low, at most half of log 2 in size."""
    r = high - low
    t = r * r
    c = r - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    return 1.0 - ((low - r * c / (2.0 - c)) - high)


@_elementwise
def log(x: Floats) -> Floats:
    """The natural logarithm of each number, to a unit in the last place."""
    m, k = np.frexp(x)
    below = m < _ROOT
    found = _log_near.py_func(np.where(below, 2 * m, m) - 1.0, k - below)
    return np.where((x > 0) & (x < np.inf), found, np.where(x == 0, -np.inf, np.where(x > 0, x, np.nan)))


@compiled
def log_of(x: Any) -> Any:
    """The same of one number, for compiled functions."""
    if not 0.0 < x < np.inf:
        return x if x > 0.0 else (-np.inf if x == 0.0 else np.nan)
    m, k = math.frexp(x)
    return _log_near(2 * m - 1.0, k - 1) if m < _ROOT else _log_near(m - 1.0, k)


@compiled
def _log_near(f: Any, k: Any) -> Any:
    """The logarithm of (1 + f) 2^k, 1 + f between the roots of 1/2 and 2."""
    s, half = f / (2.0 + f), 0.5 * f * f
    z = s * s
    w = z * z
    rest = w * (_L2 + w * (_L4 + w * _L6)) + z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
    return k * _HIGH - ((half - (s * (half + rest) + k * _LOW)) - f)


@_elementwise
def log1p(x: Floats) -> Floats:
    """The logarithm of 1 + x, as exact for small x."""
    u = 1.0 + x
    found = log(u)
    return np.where((u > 0) & (u < np.inf), found + (x - (u - 1.0)) / u, found)


@_elementwise
def expm1(x: Floats) -> Floats:
    """e to the power of x, less 1, as exact for small x."""
    u = exp(x)  # of which the logarithm is known as well as its own last bit
    return np.where(u == 1.0, x, np.where(np.abs(x) < 1, (u - 1.0) * (x / log(u)), u - 1.0))


@compiled
def _exp_all(x: Any, found: Any) -> None:
    for k in range(len(x)):
        found[k] = exp_of(x[k])


@compiled
def _log_all(x: Any, found: Any) -> None:
    for k in range(len(x)):
        found[k] = log_of(x[k])


@compiled
def _log1p_all(x: Any, found: Any) -> None:
    for k in range(len(x)):
        u = 1.0 + x[k]
        found[k] = log_of(u)
        if 0.0 < u < np.inf:
            found[k] += (x[k] - (u - 1.0)) / u


@compiled
def _expm1_all(x: Any, found: Any) -> None:
    for k in range(len(x)):
        u = exp_of(x[k])
        found[k] = x[k] if u == 1.0 else (u - 1.0) * (x[k] / log_of(u)) if abs(x[k]) < 1.0 else u - 1.0


_LOOPS = {"exp": _exp_all, "log": _log_all, "log1p": _log1p_all, "expm1": _expm1_all}
