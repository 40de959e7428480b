"""True parameters and transformed values of a pooled column: in rational numbers, or long double."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

LONG = np.longdouble
EPS = float(np.finfo(LONG).eps)
SERIES = 24
"""Terms; with |u| < 1 the last is below the last digit."""


@dataclass(frozen=True)
class Moments:
    """Mean and variance (squares over n) of a column, exactly."""

    mean: Fraction
    variance: Fraction

    @property
    def deviation(self) -> Fraction:
        """Standard deviation to 200 bits."""
        p, q = self.variance.numerator, self.variance.denominator
        shift = max(0, 200 - (p.bit_length() - q.bit_length()) // 2)
        return Fraction(math.isqrt((p << 2 * shift) // q), 1 << shift)


def moments(x: np.ndarray) -> Moments:
    """Return the moments of float64 (n,), n > 0."""
    fraction, exponent = np.frexp(x)
    lowest = int(exponent[x != 0].min(initial=1100)) - 53
    whole = np.where(x == 0, 0, fraction * 2.0**53).astype(np.int64).tolist()
    shifts = np.where(x == 0, 0, exponent - 53 - lowest).tolist()
    integers = [number << shift for number, shift in zip(whole, shifts, strict=True)]
    n, total, unit = len(x), sum(integers), Fraction(2) ** lowest
    squares = sum(number * number for number in integers)
    return Moments(total * unit / n, (n * squares - total * total) * unit * unit / (n * n))


def quantile(x: np.ndarray, q: float) -> Fraction:
    """Return the exact quantile of float64 (n,) in order, between its elements as `numpy.quantile` has it."""
    place = q * (len(x) - 1)
    low = math.floor(place)
    below, above = Fraction(float(x[low])), Fraction(float(x[math.ceil(place)]))
    return below + (above - below) * (Fraction(place) - low)


def long(number: Fraction) -> np.longdouble:
    """The long double next to it, or nearly so: twice float64's largest number may be in it."""
    half = number / 2
    high = float(half)
    return 2 * (LONG(high) + LONG(float(half - Fraction(high))))


def ulp(x: float) -> Fraction:
    """Between x and the next float64 away from 0."""
    return Fraction(float(np.spacing(abs(x)))) if math.isfinite(x) else Fraction(0)


@dataclass(frozen=True, eq=False)
class Bent:
    """Yeo and Johnson's transform about a centre, g(x) = (Psi(x) - Psi(c)) / Psi'(c): long double (n,) each.

    It differs from Psi by a shift and a factor, which standardising takes away, and cancels nowhere.
    """

    offsets: np.ndarray
    """phi(x) - phi(c)"""
    g: np.ndarray
    slope: np.ndarray
    """The derivative of g by lambda."""

    @property
    def standardised(self) -> np.ndarray:
        """Transformed values with mean 0 and deviation 1."""
        about = self.g - self.g.mean()
        return np.asarray(about / np.sqrt((about * about).mean()))

    @property
    def growth(self) -> float:
        """The derivative by lambda of the log-likelihood over n."""
        about, turned = self.g - self.g.mean(), self.slope - self.slope.mean()
        return float(self.offsets.mean() - (about * turned).mean() / (about * about).mean())


def bent(x: np.ndarray, power: float, centre: float) -> Bent:
    """Return the transform of float64 (n,) about a centre."""
    if centre < 0:
        found = bent(-x, 2 - power, -centre)
        return Bent(-found.offsets, -found.g, found.slope)
    x, a, c = x.astype(LONG), LONG(power), LONG(centre)
    above, p = x >= 0, np.log1p(c)
    q = np.log1p(np.where(above, 0, -x))
    # Where x is not negative, g = (1 + c) (e^(a s) - 1) / a. Below, Psi(x) = -(e^((2 - a) q) - 1) / (2 - a);
    # and 1 / Psi'(c) = e^((1 - a) p).
    s = np.where(above, np.log1p((np.where(above, x, c) - c) / (1 + c)), -q - p)
    scale, both = np.exp((1 - a) * p), _grown(2 - a, q) + _grown(a, p)
    below_slope = scale * (p * both + _grown_slope(2 - a, q) - _grown_slope(a, p))
    g = np.where(above, (1 + c) * _grown(a, s), -scale * both)
    return Bent(s, g, np.where(above, (1 + c) * _grown_slope(a, s), below_slope))


def _grown(a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(e^(a s) - 1) / a."""
    return np.asarray(s if a == 0 else np.expm1(a * s) / a)


def _grown_slope(a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Its derivative by a: s^2 (u e^u - e^u + 1) / u^2, with u = a s."""
    u = np.asarray(a * s)
    term, near = np.ones_like(u), np.zeros_like(u)
    for k in range(SERIES):
        near = near + term / (k + 2)
        term = term * u / (k + 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = (u * np.exp(u) - np.expm1(u)) / (u * u)
    return np.asarray(s * s * np.where(np.abs(u) < 1, near, far))
