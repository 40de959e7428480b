"""Odd columns: each kind draws so many rows, float64 (n,), and no missing values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Random = np.random.Generator
Kind = Callable[[Random, int], np.ndarray]

CONSTANTS = (0.0, -0.0, 0.1 + 0.2, 0.35, -1234.567, 1e15 + 0.3, 1.7e9, 1e-300, 5e-324, 1e308, -1.7e308)


def normal(random: Random, n: int) -> np.ndarray:
    return random.normal(_size(random, -3, 3), _size(random, -6, 6), n)


def heavy_tails(random: Random, n: int) -> np.ndarray:
    draw = random.integers(4)
    if draw == 0:
        return random.standard_cauchy(n) * _size(random, -3, 3)
    if draw == 1:
        return _sign(random) * random.lognormal(random.uniform(-3, 3), random.uniform(0.5, 8), n)
    if draw == 2:
        return _sign(random) * random.pareto(random.uniform(0.3, 3), n)
    values = random.normal(size=n)
    values[random.integers(n)] = _sign(random) * _size(random, 3, 300)
    return values


def constant(random: Random, n: int) -> np.ndarray:
    return np.full(n, random.choice(CONSTANTS))


def nearly_constant(random: Random, n: int) -> np.ndarray:
    """A few values, or many, are some of the last digit off."""
    value = random.choice(CONSTANTS) if random.random() < 0.3 else _sign(random) * _size(random, -9, 15)
    off = random.integers(-2, 3, n) if random.random() < 0.5 else (random.random(n) < 1.5 / n).astype(int)
    return value + off * random.choice([1, 2, 4, 40]) * np.spacing(np.abs(value))


def two_values(random: Random, n: int) -> np.ndarray:
    low, high = _sign(random) * _size(random, -3, 6, 2) * random.choice([1, -1], 2)
    return np.where(random.random(n) < random.uniform(0.01, 0.5), low, high)


def offset(random: Random, n: int) -> np.ndarray:
    """Draw values like dates or masses: far from 0 compared with their spread."""
    centre, spread = _sign(random) * _size(random, 2, 15), _size(random, -2, 3)
    shape = random.integers(3)
    if shape == 0:
        return centre + spread * random.normal(size=n)
    if shape == 1:
        return centre + spread * random.lognormal(0, 1, n)
    return centre + spread * random.poisson(3, n)


def tiny(random: Random, n: int) -> np.ndarray:
    scale = random.choice([1e-9, 1e-100, 1e-160, 1e-300])
    return scale * (random.normal(size=n) if random.random() < 0.5 else random.lognormal(0, 1, n))


def denormal(random: Random, n: int) -> np.ndarray:
    return random.integers(-9, 9, n) * 5e-324 * random.choice([1, 2.0**20, 2.0**48])


def huge(random: Random, n: int) -> np.ndarray:
    largest = random.choice([1e150, 1e300, 1e308, 1.797e308])
    if random.random() < 0.5:
        return largest * random.uniform(-1, 1, n)
    return np.where(random.random(n) < random.uniform(0.1, 0.9), largest, -largest)


def unbalanced(random: Random, n: int) -> np.ndarray:
    """0 and 1, few of the one."""
    few = min(n, random.integers(1, 40))
    values = np.zeros(n)
    values[random.permutation(n)[:few]] = 1
    return values if random.random() < 0.5 else 1 - values


def counts(random: Random, n: int) -> np.ndarray:
    kind = random.integers(4)
    if kind == 0:
        return random.poisson(10 ** random.uniform(-2, 4), n).astype(float)
    if kind == 1:
        return random.negative_binomial(random.uniform(0.1, 3), random.uniform(0.01, 0.9), n).astype(float)
    if kind == 2:
        return random.integers(-(2**40), 2**40, n).astype(float)
    values = random.lognormal(random.uniform(-2, 6), random.uniform(0.3, 3), n)
    return np.where(random.random(n) < random.uniform(0.05, 0.97), 0.0, values)


def decimals(random: Random, n: int) -> np.ndarray:
    """Draw numbers as databases keep them: with 0 to 6 decimal places."""
    digits = int(random.integers(7))
    return np.round(random.normal(_size(random, -1, 4), _size(random, 0, 3), n), digits)


def zeros_of_both_signs(random: Random, n: int) -> np.ndarray:
    return random.choice([0.0, -0.0, 1.0, -1.0, 5e-324], n)


KINDS: tuple[Kind, ...] = (
    normal,
    heavy_tails,
    constant,
    nearly_constant,
    two_values,
    offset,
    tiny,
    denormal,
    huge,
    unbalanced,
    counts,
    decimals,
    zeros_of_both_signs,
)


def _size(random: Random, low: float, high: float, count: int | None = None) -> np.ndarray | float:
    """Draw a size between these powers of ten."""
    return 10 ** random.uniform(low, high, count)


def _sign(random: Random) -> int:
    return 1 if random.random() < 0.5 else -1
