"""Observed against expected P values (QQ), with the band of chance, and lambda, by the allele's frequency.

Of n uniform P values the r-th smallest follows the beta distribution with r and n + 1 - r: what is expected
is its mean r / (n + 1), and the band are its quantiles, for each rank by itself. Of ten million ranks a plot
shows some hundreds, at equal distances in -log10 of what is expected, so that the strongest are all there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.statistics import genomic_inflation
from unpooled.pictures.associations import Associations, plain

VERSION = 1
POINTS = 300
CONFIDENCE = 0.95

CLASSES = ((0.0, 0.01), (0.01, 0.05), (0.05, 0.5))
"""Frequencies of the rarer allele: above the first, up to the second."""

_EVERYTHING = (0.0, 0.5)
_NONE = 255

Floats = NDArray[np.float64]


def quantiles(associations: Associations) -> dict[str, Any]:
    """Return the curves of all variants, then of those in each class of frequencies, for JSON."""
    of = _classes(associations)
    curves = [_curve(associations, np.ones(len(of), bool), _EVERYTHING)]
    curves += [_curve(associations, of == k, bounds) for k, bounds in enumerate(CLASSES)]
    return {"version": VERSION, "confidence": CONFIDENCE, "curves": curves}


def _classes(associations: Associations) -> NDArray[np.uint8]:
    """The class of each variant, uint8 (m,); 255 for one that never varies."""
    of = np.empty(len(associations), np.uint8)
    edges = np.array([high for _, high in CLASSES])
    for part in associations.blocks():
        frequency = associations.a1_freq(part)
        rarer = np.minimum(frequency, 1 - frequency)
        of[part] = np.where(rarer > 0, np.searchsorted(edges, rarer, "left"), _NONE)
    return of


def _curve(
    associations: Associations, chosen: NDArray[np.bool_], bounds: tuple[float, float]
) -> dict[str, Any]:
    """Return one curve: -log10 of observed and expected P and of the band, the strongest first."""
    observed = _gathered(associations.neg_log10_p, associations, chosen)
    n = len(observed)
    observed.sort()
    rank = ranks(n)
    expected, low, high = expectation(rank, n)
    return {
        "above": bounds[0],
        "up_to": bounds[1],
        "variants": n,
        "inflation": _inflation(_gathered(associations.chi_square, associations, chosen)),
        "expected": plain(expected, 5),
        "observed": plain(observed[n - rank], 5),
        "low": plain(low, 4),
        "high": plain(high, 4),
    }


def _gathered(
    column: Callable[[slice], Floats], associations: Associations, chosen: NDArray[np.bool_]
) -> Floats:
    """A column of the chosen variants, where it is a number; (k,)."""
    found, size = np.empty(np.count_nonzero(chosen)), 0
    for part in associations.blocks():
        values = column(part)[chosen[part]]
        values = values[~np.isnan(values)]
        found[size : size + len(values)] = values
        size += len(values)
    return found[:size]


def _inflation(chi_square: Floats) -> float | None:
    """The same as the study's summary says of all variants."""
    return genomic_inflation(chi_square) if len(chi_square) else None


def ranks(n: int) -> NDArray[np.int64]:
    """Choose which of n ranks to show, ascending from 1: about evenly spaced in their logarithms."""
    if not n:
        return np.empty(0, np.int64)
    return np.unique(np.round(10 ** np.linspace(0, math.log10(n), POINTS)).astype(np.int64))


def expectation(rank: NDArray[np.int64], n: int) -> tuple[Floats, Floats, Floats]:
    """-log10 of the expected P at these ranks, and of the band: its lower and its upper edge in the plot."""
    from scipy.special import betaincinv  # slow to load, and few processes make pictures

    tail = (1 - CONFIDENCE) / 2
    edges = (rank / (n + 1), *(betaincinv(rank, n + 1 - rank, share) for share in (1 - tail, tail)))
    expected, low, high = (-np.log10(np.asarray(edge, np.float64)) for edge in edges)
    return expected, low, high
