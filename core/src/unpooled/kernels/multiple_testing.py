"""P values adjusted for the number of tests, as PLINK 1.9's `--adjust` computes them.

Everything is computed from P itself, in PLINK's order of operations: the report is compared byte by byte.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled
from unpooled.kernels.statistics import (
    chi_square_neg_log10_p,
    chi_square_p_value,
    chi_squares_neg_log10_p,
    genomic_inflation,
    p_value,
    t_neg_log10_p,
)

Floats = NDArray[np.float64]

_SMALL_P = 0.0078125
"""Below it 1 - (1 - p)^n is computed through logarithms."""


_BLOCK = 1 << 14

_RISING = ("HOLM", "SIDAK_SD")
"""Each of these is the largest of itself and all before it."""
_FALLING = ("FDR_BH", "FDR_BY")
"""Each of these is the smallest of itself and all after it."""


class Adjusted:
    """The tests that have a P, from the smallest; ties in their given order.

    Columns are computed where they are looked at: there may be ten million tests, and each has eight.
    """

    order: NDArray[np.uint32]
    """Indices into the given statistics, (k,)."""
    inflation: float
    """Genomic control's lambda."""

    def __init__(
        self, order: NDArray[np.uint32], p: Floats, size: Floats, freedom: NDArray[np.integer] | None
    ) -> None:
        """P ascending; the size of each statistic, and its degrees of freedom; (k,) each."""
        self.order, self._p, self._size, self._freedom = order, p, size, freedom
        self.inflation = genomic_inflation(np.square(size))
        self._harmonic = _harmonic(len(p))
        largest, smallest = [[0.0] * len(_RISING)], []
        for part in _blocks(len(p)):
            alone = self._alone(part)
            largest.append([alone[name].max() for name in _RISING])
            smallest.append([alone[name].min() for name in _FALLING])
        smallest.append([math.inf] * len(_FALLING))
        # Up to each block, and from each block on.
        self._before = dict(zip(_RISING, np.maximum.accumulate(largest).T, strict=True))
        self._after = dict(zip(_FALLING, _falling(np.array(smallest)).T, strict=True))

    def columns(self, part: slice) -> dict[str, Floats]:
        """UNADJ, GC, BONF, HOLM, SIDAK_SS, SIDAK_SD, FDR_BH, FDR_BY of some of the tests."""
        first, last = part.start // _BLOCK, -(-part.stop // _BLOCK)
        whole = slice(first * _BLOCK, min(last * _BLOCK, len(self._p)))
        found = self._alone(whole)
        for name in _RISING:
            found[name] = np.maximum(np.maximum.accumulate(found[name]), self._before[name][first])
        for name in _FALLING:
            found[name] = np.minimum(_falling(found[name]), self._after[name][last])
        inside = slice(part.start - whole.start, part.stop - whole.start)
        return {"GC": self._deflated(part), **{name: column[inside] for name, column in found.items()}}

    def _deflated(self, part: slice) -> Floats:
        """Use each variant's own degrees of freedom; PLINK 1.9 b6.26 sorts them by the statistics' sizes."""
        size = np.sqrt(np.square(self._size[part]) * (1.0 / self.inflation))
        return _two_sided(size, None if self._freedom is None else self._freedom[part])

    def _alone(self, part: slice) -> dict[str, Floats]:
        """Return the columns that follow from each P and its rank alone."""
        p, tests = self._p[part], float(len(self._p))
        before = np.arange(part.start, part.stop)
        left, rank = tests - before, before + 1.0
        return {
            "UNADJ": p,
            "BONF": np.minimum(p * tests, 1.0),
            "HOLM": np.minimum(left * p, 1.0),
            "SIDAK_SS": _in_any(p, np.full(len(p), tests)),
            "SIDAK_SD": _in_any(p, left),
            "FDR_BH": tests / rank * p,
            "FDR_BY": np.minimum(self._harmonic / rank * p, 1.0),
        }


def adjust(
    statistic: Floats, freedom: NDArray[np.integer] | None = None, joint: NDArray[np.integer] | None = None
) -> Adjusted:
    """Adjusted P values of t or z statistics, (m,); NaN where there is no test.

    `freedom`, (m,), are the degrees of freedom of t; None says that the statistics are normal, or, given
    `joint`, (m,), roots of chi-square with so many degrees. Of those nothing is said by genomic control.
    """
    known = np.flatnonzero(~np.isnan(statistic)).astype(np.uint32)
    size = np.abs(statistic[known])
    del statistic  # columns are large: each goes as soon as it has served
    freedom, joint = (None if degrees is None else degrees[known] for degrees in (freedom, joint))
    p = np.empty(len(size))
    for part in _blocks(len(p)):
        if joint is None:
            p[part] = _two_sided(size[part], None if freedom is None else freedom[part])
        else:
            p[part] = p_value(chi_squares_neg_log10_p(np.square(size[part]), joint[part].astype(np.int64)))
    rank = np.argsort(_rounded(p), kind="stable")
    p.sort()
    return Adjusted(known[rank], p, size[rank], None if freedom is None else freedom[rank])


def _blocks(tests: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, tests)) for start in range(0, tests, _BLOCK))


def _rounded(p: Floats) -> Floats:
    """P to about 11 digits: variants with the same calls differ by rounding only, and keep their order."""
    with np.errstate(divide="ignore"):
        logarithm = np.log(p)
    return np.round(logarithm, 10, out=logarithm)


def _two_sided(size: Floats, freedom: NDArray[np.integer] | None) -> Floats:
    if freedom is not None:
        return p_value(t_neg_log10_p(size, freedom.astype(np.int64)))
    chi_square = size * size
    return chi_square_p_value(chi_square_neg_log10_p(chi_square), chi_square)


@compiled
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
    total = 1.0
    for part in _blocks(n - 1):
        terms = n / (n - 1.0 - np.arange(part.start, part.stop))
        total = float(np.add.accumulate(np.append(total, terms))[-1])
    return total


def _falling(p: Floats) -> Floats:
    """Each the smallest of itself and all after it."""
    return np.minimum.accumulate(p[::-1])[::-1]
