"""Checks that the parameters of a feature are those of the pooled column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from unpooled.fitted.scaler import (
    CONSTANT,
    EDGE,
    EMPTY,
    MIN_MAX,
    NEARLY_CONSTANT,
    QUANTILES,
    ROBUST,
    SCALINGS,
    YEO_JOHNSON,
    Z_SCORE,
)
from unpooled.plan.plan import Plan

from . import truth

EPS = float(np.finfo(float).eps)
ULPS = 2
"""A deviation is right to so many units in the last place."""
CANCELLED = Fraction(1, 2**95)
"""Share of the largest value below which a mean is what is left of sums that cancelled."""
SHARE = 1e-11
"""Tolerance of a nonlinearly transformed value, as a share of its size, or of the deviation."""
BLURRED = 2e-3
"""A deviation may be so far off under Gaussian masks."""
SMALLEST = 1e-307
"""One over a smaller number may be none: such columns may count as constant."""
WIDTH, LARGE = 5e-7, 4096.0
"""Width of the interval in which lambda is known; relative for lambda beyond the second number."""
ENDS = {MIN_MAX: (0.0, 1.0), ROBUST: (0.25, 0.75)}
QUANTILE = {"min": 0.0, "lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75, "max": 1.0}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Disagreement:
    """Disagreement of a federation with the truth."""

    column: int
    """-1 if it is of no single one."""
    what: str
    said: str


def parameters(plan: Plan, k: int, row: Row, x: np.ndarray) -> Iterator[Disagreement]:
    """Find the errors in the parameters of feature k, given its values in the pool, float64 (n,)."""
    for what, said in _wrong(plan, row, np.sort(x)):
        yield Disagreement(k, what, said)


def _wrong(plan: Plan, row: Row, x: np.ndarray) -> Iterator[tuple[str, str]]:
    if row["n"] != len(x):
        yield "n", f"{row['n']}; want {len(x)}"
    elif plan.test == QUANTILES:
        yield from _elements(row["elements"], x)
        if len(x):
            yield from _quantiles(row["quantiles"], {name: float(name) for name in row["quantiles"]}, x)
    elif not len(x):
        if row.get("note") != EMPTY or any(row[name] is not None for name in SCALINGS[plan.test].parameters):
            yield "empty", f"{dict(row)}"
    elif plan.test in (MIN_MAX, ROBUST):
        yield from _quantiles(row, {name: QUANTILE[name] for name in SCALINGS[plan.test].parameters}, x)
    elif plan.test == Z_SCORE:
        yield from _moments(plan, row, x)
    else:
        yield from _bent(row, x)


def _elements(found: Mapping[str, float | None], x: np.ndarray) -> Iterator[tuple[str, str]]:
    for name, ours in found.items():
        place = int(name) - 1 if int(name) > 0 else len(x) + int(name)
        want = float(x[place]) if 0 <= place < len(x) else None
        if ours != want:
            yield f"element {name}", f"{ours}; want {want}"


def _quantiles(found: Row, wanted: Mapping[str, float], x: np.ndarray) -> Iterator[tuple[str, str]]:
    """Compare quantiles with NumPy's to the bit; where it has none, with the number that it should have."""
    for name, q in wanted.items():
        with np.errstate(over="ignore", invalid="ignore"):
            theirs = float(np.median(x) if q == 0.5 else np.quantile(x, q))
        if not math.isfinite(theirs):
            yield from _near(name, found[name], truth.quantile(x, q))
        elif found[name] != theirs:
            yield name, f"{found[name]!r}; NumPy has {theirs!r}"


def _moments(plan: Plan, row: Row, x: np.ndarray) -> Iterator[tuple[str, str]]:
    exact, largest = truth.moments(x), float(np.abs(x).max())
    noise = mask_noise(plan) / len(x)
    if noise:
        slack = Fraction(4 * noise) * Fraction(largest), Fraction(BLURRED) * exact.deviation
        yield from _near("mean", row["mean"], exact.mean, slack[0] + Fraction(SMALLEST))
        yield from _near("deviation", row["deviation"], exact.deviation, slack[1] + Fraction(SMALLEST))
    else:
        yield from _near("mean", row["mean"], exact.mean, CANCELLED * Fraction(largest))
        yield from _near("deviation", row["deviation"], exact.deviation)


def mask_noise(plan: Plan) -> float:
    """More than what the masks' rounding changes of a sum, 0 of modular ones.

    In 3 K additions a word is at most 8 deviations of the mask, and those of partial sums.
    """
    if plan.masking == "modular":
        return 0.0
    return 24 * plan.cohorts**1.5 * math.sqrt(plan.variance) * EPS


def _bent(row: Row, x: np.ndarray) -> Iterator[tuple[str, str]]:
    power = row["lambda"]
    if power is None:
        yield "lambda", "null"
        return
    if is_scaled_by_1(row):
        return
    if EDGE not in row.get("note", ""):
        width, centre = WIDTH * max(1.0, abs(power) / LARGE), float(np.median(x))
        below, above = (truth.bent(x, power + side * width, centre).growth for side in (-1, 1))
        if not below > 0 > above:
            yield "lambda", f"{power!r}; the likelihood grows by {below:.3g} before, {above:.3g} behind"
    plain = truth.bent(x, power, 0.0).g
    mean, deviation = plain.mean(), plain.std()
    slack = SHARE * deviation + 100 * truth.EPS * np.abs(plain).max()
    for name, want in (("mean", mean), ("deviation", deviation)):
        ours = row[name]
        held = bool(np.isfinite(want) and abs(want) < np.finfo(float).max)
        if held and (ours is None or abs(ours - want) > slack + SHARE * abs(want)):
            yield name, f"{ours!r}; want {want!r}"


def _near(
    name: str, ours: float | None, want: Fraction, slack: Fraction | int = 0
) -> Iterator[tuple[str, str]]:
    try:
        nearest = float(want)
    except OverflowError:
        return  # no float64 holds it
    if ours is None or abs(Fraction(ours) - want) > ULPS * truth.ulp(nearest) + slack:
        yield name, f"{ours!r}; want {nearest!r}"


def is_scaled_by_1(row: Row) -> bool:
    """Tell whether a feature's note says that it is scaled by 1."""
    return any(note in row.get("note", "").split("; ") for note in (CONSTANT, NEARLY_CONSTANT))


def is_constant(method: str, x: np.ndarray) -> bool | None:
    """Tell whether scikit-learn scales such a column by 1, float64 (n,) in order; None where it is close.

    What is nearly constant differs by rounding: the deviation is at most n units in the mean's last place, or
    a range ten in that of its larger end.
    """
    size = spread(method, x)
    if method in (Z_SCORE, YEO_JOHNSON):
        bound = len(x) * EPS * abs(float(truth.moments(x).mean))
    else:
        bound = 10 * EPS * max(abs(float(truth.quantile(x, q))) for q in ENDS[method])
    if size == 0:
        return True
    close = bound / 2 < size < 2 * bound or size < SMALLEST
    return None if close else bool(size <= bound)


def spread(method: str, x: np.ndarray) -> np.longdouble:
    """Return what a column is divided by: float64 (n,) in order."""
    if method in (Z_SCORE, YEO_JOHNSON):
        return truth.long(truth.moments(x).deviation)
    low, high = (truth.quantile(x, q) for q in ENDS[method])
    return truth.long(high - low)
