"""Weights and residuals of people in logistic regressions, a tile of people at a time.

exp is written out, so that LLVM vectorises it: x = k ln 2 + f with k rounded by adding and subtracting a
large number, then Taylor's polynomial of degree 11 in f, good to 7e-15.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.elementary import LN2
from unpooled.kernels.lanes import muladd

TILE = 256
"""Samples of a tile: 2 KiB of a column."""

CLIP = 40.0
"""Linear predictors are clipped at +-40: beyond, a probability is 0 or 1 in float64 anyway."""


USUAL, SQUARED, SQUARED_LINEAR = range(3)
"""Weights of people in the second sums: p (1 - p); the squared residual; or that of a linear model."""


@dataclass(frozen=True, eq=False)
class Precision:
    """Constants of a type of floating-point numbers, for the kernel."""

    numbers: NDArray[np.floating]
    """0, 1, CLIP, 1 / ln 2, ln 2 in two parts, the number that rounds; and 1 / k! for k from 0 to 11."""
    exponent: NDArray[np.integer]
    """Its bias, and how far left its lowest bit is."""

    @classmethod
    def of(cls, kind: type, ln2: tuple[float, float], digits: int, bias: int, whole: type) -> Precision:
        # Added, the number leaves the nearest whole one in the lowest bits.
        numbers = [0, 1, CLIP, 1 / math.log(2), *ln2, 1.5 * 2.0**digits]
        numbers += [1 / math.factorial(k) for k in range(12)]
        return cls(np.array(numbers, kind), np.array([bias, digits], whole))


PRECISIONS = {
    "float64": Precision.of(np.float64, LN2, 52, 1023, np.int64),
    "float32": Precision.of(np.float32, (0.693359375, -2.12194440054690583e-4), 23, 127, np.int32),
}


@compiled
def exponential(eta: Any, bits: Any, powers: Any, e: Any, numbers: Any, exponent: Any) -> None:
    """Clip linear predictors, and e = exp(-|eta|). Loops of few arrays each, or LLVM does not vectorise them.

    `powers` are the same bytes as `bits`: 2^k is put together as a floating-point number's exponent.
    """
    clip, per_ln2, high, low, rounding = numbers[2], numbers[3], numbers[4], numbers[5], numbers[6]
    t0, t1, t2, t3, t4, t5 = numbers[7], numbers[8], numbers[9], numbers[10], numbers[11], numbers[12]
    t6, t7, t8, t9, t10, t11 = numbers[13], numbers[14], numbers[15], numbers[16], numbers[17], numbers[18]
    for i in range(TILE):
        x = eta[i] if eta[i] < clip else clip
        x = x if x > -clip else -clip
        eta[i] = x
        shifted = muladd(-abs(x), per_ln2, rounding)
        powers[i] = shifted
        k = shifted - rounding
        f = muladd(-k, low, muladd(-k, high, -abs(x)))
        s = muladd(f, t11, t10)
        s = muladd(f, s, t9)
        s = muladd(f, s, t8)
        s = muladd(f, s, t7)
        s = muladd(f, s, t6)
        s = muladd(f, s, t5)
        s = muladd(f, s, t4)
        s = muladd(f, s, t3)
        s = muladd(f, s, t2)
        s = muladd(f, s, t1)
        e[i] = muladd(f, s, t0)
    bias, left = exponent[0], exponent[1]
    for i in range(TILE):
        bits[i] = (bits[i] + bias) << left
    for i in range(TILE):
        e[i] *= powers[i]


@compiled
def weigh(eta: Any, e: Any, case: Any, valid: Any, weight: Any, residual: Any, numbers: Any) -> None:
    """Weights and residuals, given exp(-|eta|)."""
    zero, one = numbers[0], numbers[1]
    for i in range(TILE):
        inverse = one / (one + e[i])
        other = e[i] * inverse
        weight[i] = other * inverse * valid[i]
        p = inverse if eta[i] >= zero else other
        residual[i] = (case[i] - p) * valid[i]
