"""The transform of Yeo and Johnson (Biometrika 87, 2000) about a centre: nothing cancels or overflows.

With phi(x) = sgn(x) log(1 + |x|), the derivative of the transform Psi is exp((lambda - 1) phi(x)). So

    about(x) = (Psi(x) - Psi(c)) / Psi'(c) = integral from c to x of exp((lambda - 1) (phi(t) - phi(c))) dt

has the units of x, is x - c at lambda = 1, and is Psi but for a shift and a factor: after standardising
nothing else matters. Psi itself overflows at large lambda and becomes a constant at small ones, though the
values differ as ever. Mirrored, at -x, -c and 2 - lambda, it changes its sign; so centres are taken as not
negative here.
"""

from __future__ import annotations

import numpy as np

from unpooled.kernels.elementary import exp, expm1, log1p

ROUNDING = 2.0**-50
"""Relative rounding error of a transformed value, which is rounded a few times."""


def logarithm(x: np.ndarray) -> np.ndarray:
    """phi(x) = sgn(x) log(1 + |x|)."""
    return np.asarray(np.copysign(log1p(np.abs(x)), x))


def exponential(phi: np.ndarray) -> np.ndarray:
    """The x of which phi is `logarithm`."""
    return np.asarray(np.copysign(expm1(np.abs(phi)), phi))


def offsets(x: np.ndarray, centre: np.ndarray | float) -> np.ndarray:
    """phi(x) - phi(centre), to the last digits also where the two are close; broadcast."""
    size, around = np.abs(x), np.abs(centre)
    # Within a factor of two the difference of both is exact, and of their logarithms it is not.
    close = (np.sign(x) == np.sign(centre)) & (size >= around / 2) & (size / 2 <= around)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near = np.sign(x) * log1p((size - around) / (1 + around))
    return np.asarray(np.where(close, near, logarithm(x) - logarithm(np.asarray(centre))))


def shifted(centre: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The x of which s is `offsets`, as accurate close to the centre as far from it."""
    with np.errstate(over="ignore"):
        return np.where(
            np.abs(s) < 1, centre + from_offsets(s, centre, 1.0), exponential(logarithm(centre) + s)
        )


def about(x: np.ndarray, centre: np.ndarray | float, power: np.ndarray | float) -> np.ndarray:
    """The transform at lambda = `power` about a centre, in the units of x; broadcast. NaN stays NaN."""
    return from_offsets(offsets(x, centre), centre, power)


def from_offsets(s: np.ndarray, centre: np.ndarray | float, power: np.ndarray | float) -> np.ndarray:
    """`about` from the `offsets` of x."""
    mirror = np.where(np.asarray(centre) < 0, -1.0, 1.0)
    around, power = np.abs(centre), np.where(mirror < 0, 2 - np.asarray(power), power)
    s, phi = s * mirror, log1p(around)
    with np.errstate(over="ignore", invalid="ignore"):
        above = (1 + around) * _grown(power, np.maximum(s, -phi))
        below = exp((1 - power) * phi) * _grown(2 - power, np.maximum(-(s + phi), 0.0))
        found = np.where(s < -phi, above - below, above)
    return np.asarray(mirror * found)


def inverse(y: np.ndarray, centre: np.ndarray | float, power: np.ndarray | float) -> np.ndarray:
    """The x of which y is `about`; NaN where there is none, for the transform is bounded on one side.

    Where it is flat, many x are transformed to the same y but for rounding: 0 if it is one of them.
    """
    mirror = np.where(np.asarray(centre) < 0, -1.0, 1.0)
    around, power = np.abs(centre), np.where(mirror < 0, 2 - np.asarray(power), power)
    y, phi = y * mirror, log1p(around)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        at_zero = (1 + around) * _grown(power, -phi)
        s = _shrunk(power, np.maximum(y, at_zero) / (1 + around))
        # Close to the centre its own digits count, far from it those of the logarithm.
        above = np.where(np.abs(s) < 1, around + (1 + around) * expm1(s), expm1(phi + s))
        below = -expm1(_shrunk(2 - power, (at_zero - y) * exp((power - 1) * phi)))
        found = np.where(y < at_zero, below, np.maximum(above, 0))
        found = np.where(np.abs(y - at_zero) < ROUNDING * np.abs(at_zero), 0.0, found)
        return np.asarray(np.where(np.isinf(found), np.nan, mirror * found))


def derivative(centre: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Psi'(centre): what `about` is short of, as a factor; infinite or 0 where it is no number."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(exp((power - 1) * logarithm(centre)))


def transformed(x: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Psi(x) itself, as scikit-learn and SciPy have it."""
    return about(x, 0.0, power)


def _grown(a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(exp(a s) - 1) / a, or s where a is 0."""
    flat = a == 0
    return np.where(flat, s, expm1(a * s) / np.where(flat, 1.0, a))


def _shrunk(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The s of which y is `_grown`: log(1 + a y) / a, or y where a is 0; infinite beyond the bound of y."""
    flat = a == 0
    return np.where(flat, y, log1p(np.maximum(a * y, -1)) / np.where(flat, 1.0, a))
