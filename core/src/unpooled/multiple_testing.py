"""P values adjusted for the number of tests, as PLINK 1.9's `--adjust` computes them.

Everything is computed from P itself, in PLINK's order of operations: the report is compared byte by byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unpooled.statistics import (
    chi_square_neg_log10_p,
    chi_square_p_value,
    genomic_inflation,
    p_value,
    t_neg_log10_p,
)

Floats = NDArray[np.float64]

_SMALL_P = 0.0078125
"""Below it 1 - (1 - p)^n is computed through logarithms."""


@dataclass(frozen=True, eq=False)
class Adjusted:
    """The tests that have a P, from the smallest; ties in their given order."""

    order: NDArray[np.int64]
    """Indices into the given statistics, (k,)."""
    columns: dict[str, Floats]
    """UNADJ, GC, BONF, HOLM, SIDAK_SS, SIDAK_SD, FDR_BH, FDR_BY: (k,) each."""
    inflation: float
    """Genomic control's lambda."""


def adjust(statistic: Floats, freedom: NDArray[np.int64] | None = None) -> Adjusted:
    """Adjusted P values of t or z statistics, (m,); NaN where there is no test.

    `freedom`, (m,), are the degrees of freedom of t; None says that the statistics are normal.
    """
    known = np.flatnonzero(~np.isnan(statistic))
    size = np.abs(statistic[known])
    df = None if freedom is None else freedom[known]
    p = _two_sided(size, df)
    order = np.argsort(_rounded(p), kind="stable")
    columns = {"UNADJ": np.sort(p), "GC": np.empty(0)}
    inflation = genomic_inflation(size * size)
    columns |= _adjusted(columns["UNADJ"])
    if len(known):
        # PLINK sorts the statistics by themselves, with the degrees of freedom that go with them.
        by_size = np.argsort(size, kind="stable")[::-1]
        deflated = np.sqrt(size * size * (1.0 / inflation))[by_size]
        columns["GC"] = _two_sided(deflated, None if df is None else df[by_size])
    return Adjusted(known[order], columns, inflation)


def _rounded(p: Floats) -> Floats:
    """P to about 11 digits: variants with the same calls differ by rounding only, and keep their order."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.round(np.log(p), 10), np.float64)


def _two_sided(size: Floats, freedom: NDArray[np.int64] | None) -> Floats:
    if freedom is not None:
        return p_value(t_neg_log10_p(size, freedom))
    chi_square = size * size
    return chi_square_p_value(chi_square_neg_log10_p(chi_square), chi_square)


def _adjusted(p: Floats) -> dict[str, Floats]:
    """From ascending P values, (k,)."""
    n = len(p)
    tests = float(n)
    left = tests - np.arange(n)
    rank = np.arange(1.0, tests + 1.0)
    harmonic = _harmonic(n)
    return {
        "BONF": np.minimum(p * tests, 1.0),
        "HOLM": np.maximum.accumulate(np.minimum(left * p, 1.0)),
        "SIDAK_SS": _in_any(p, np.full(n, tests)),
        "SIDAK_SD": np.maximum.accumulate(_in_any(p, left)),
        "FDR_BH": _falling(tests / rank * p),
        "FDR_BY": _falling(np.minimum(harmonic / rank * p, 1.0)),
    }


@njit(cache=True, nogil=True, error_model="numpy")
def _in_any(p: Any, tests: Any) -> Any:
    """1 - (1 - p)^tests, (k,). By the C library, as PLINK: NumPy's own functions differ in the last bit,
    which near 1 is all that is left of a small result."""
    result = np.empty_like(p)
    for index in range(len(p)):
        if p[index] >= _SMALL_P:
            result[index] = 1.0 - math.pow(1.0 - p[index], tests[index])
        else:
            result[index] = 1.0 - math.exp(tests[index] * math.log1p(-p[index]))
    return result


def _harmonic(n: int) -> float:
    """n (1 + 1/2 + ... + 1/n), summed from the smallest term on."""
    return float(np.add.accumulate(np.concatenate([[1.0], n / np.arange(n - 1.0, 0.0, -1.0)]))[-1])


def _falling(p: Floats) -> Floats:
    """Each the smallest of itself and all after it."""
    return np.minimum.accumulate(p[::-1])[::-1]
