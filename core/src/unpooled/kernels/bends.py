"""Sums of Yeo and Johnson's transform about a centre, and of its derivative, over one column.

The transform, its centre and the offsets s = phi(x) - phi(centre) are those of `unpooled.fitted.yeo_johnson`.
With (e^y - 1) / y = e1(y) and its derivative e1'(y) = h(y), where values and centre are not negative

    about = (1 + c) s e1(lambda s)        its derivative by lambda = (1 + c) s^2 h(lambda s)

and the part of a negative value below 0 is the same in 2 - lambda, times exp((1 - lambda) phi(c)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.columns import add
from unpooled.kernels.compiled import compiled, inlined

BLOCK = 256
"""Values that are added plainly, before their sum is added with its rounding error."""

_SERIES = 0.7
"""Size of y below which a series serves, because the formulas cancel."""


def bend_sums(
    offsets: NDArray[np.float64],
    centre: float,
    powers: NDArray[np.float64],
    size: NDArray[np.int64],
    width: int,
) -> NDArray[np.float64]:
    """Sums for each lambda in `powers`: float64 (powers, 4) of g, g^2, g' and g g'.

    g is the transform about the centre in units of 2^size, (powers,); g' its derivative by lambda, in units
    of 2^(size + width).
    """
    mirror = -1.0 if centre < 0 else 1.0
    out = np.zeros((len(powers), 4))
    units = np.ldexp(1.0, -size)
    own = 2 - powers if mirror < 0 else powers
    _bend_sums(offsets, mirror, abs(centre), own, units, math.ldexp(1.0, -width), out)
    out[:, 0] *= mirror  # mirrored, the transform changes its sign, and its derivative does not
    out[:, 3] *= mirror
    return out


@inlined
def _grown(y: Any) -> Any:
    """(e^y - 1) / y, and the derivative of it."""
    if abs(y) < _SERIES:
        # q = (e^y - 1 - y) / y^2 = sum of y^k / (k + 2)!
        q = 1 / 355687428096000.0
        q = q * y + 1 / 20922789888000.0
        q = q * y + 1 / 1307674368000.0
        q = q * y + 1 / 87178291200.0
        q = q * y + 1 / 6227020800.0
        q = q * y + 1 / 479001600.0
        q = q * y + 1 / 39916800.0
        q = q * y + 1 / 3628800.0
        q = q * y + 1 / 362880.0
        q = q * y + 1 / 40320.0
        q = q * y + 1 / 5040.0
        q = q * y + 1 / 720.0
        q = q * y + 1 / 120.0
        q = q * y + 1 / 24.0
        q = q * y + 1 / 6.0
        q = q * y + 1 / 2.0
        return 1 + y * q, 1 - q * (1 - y)
    power = math.exp(y)
    return (power - 1) / y, (power * (y - 1) + 1) / (y * y)


@compiled
def _bend_sums(
    offsets: Any, mirror: Any, centre: Any, powers: Any, units: Any, derivative_unit: Any, out: Any
) -> None:
    phi = math.log1p(centre)
    for j in range(len(powers)):
        power, unit = powers[j], (1 + centre) * units[j]
        # Each unit is multiplied with what it measures: the product of two units may be no number.
        # At 0, and what a negative value's part below it is multiplied with.
        grown, slope = _grown(-power * phi)
        zero, zero_slope = -(unit * phi) * grown, (unit * phi) * (derivative_unit * phi) * slope
        below = math.exp((1 - power) * phi) * units[j]
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        lost_first, lost_second, lost_third, lost_fourth = 0.0, 0.0, 0.0, 0.0
        for start in range(0, len(offsets), BLOCK):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for k in range(start, min(start + BLOCK, len(offsets))):
                s = mirror * offsets[k]
                if s >= -phi:
                    grown, slope = _grown(power * s)
                    g = (unit * s) * grown
                    by_power = (unit * s) * (derivative_unit * s) * slope
                else:
                    s = -(s + phi)
                    grown, slope = _grown((2 - power) * s)
                    part = (below * s) * grown
                    g = zero - part
                    by_power = (
                        zero_slope
                        + (derivative_unit * phi) * part
                        + (below * s) * (derivative_unit * s) * slope
                    )
                a += g
                b += g * g
                c += by_power
                d += g * by_power
            first, lost_first = add(first, lost_first, a)
            second, lost_second = add(second, lost_second, b)
            third, lost_third = add(third, lost_third, c)
            fourth, lost_fourth = add(fourth, lost_fourth, d)
        out[j, 0], out[j, 1] = first + lost_first, second + lost_second
        out[j, 2], out[j, 3] = third + lost_third, fourth + lost_fourth
