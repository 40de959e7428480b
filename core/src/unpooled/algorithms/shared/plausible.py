"""Which values the fields of a question may have: a cohort refuses all others before it computes anything."""

from __future__ import annotations

import numpy as np

from unpooled.algorithms.shared.genotype_counts import MOST_PEOPLE
from unpooled.errors import ProtocolError

_LARGEST_EXPONENT = 1100
"""Of two, either way: beyond those of all float64."""


def require(good: bool, what: str) -> None:
    """ProtocolError unless `good`; `what` is the question about."""
    if not good:
        raise ProtocolError(f"a question about {what} has fields that cannot be")


def pool(people: int, cohorts: int) -> bool:
    """Whether a pool can be of so many people and cohorts."""
    return 0 <= people <= MOST_PEOPLE and 1 <= cohorts <= MOST_PEOPLE


def real(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether these are finite float64 of this shape."""
    return array.dtype == np.float64 and array.shape == shape and bool(np.isfinite(array).all())


def exponents(array: np.ndarray, columns: int) -> bool:
    """Whether these are int64 exponents of powers of two, one per column."""
    fit = array.dtype == np.int64 and array.shape == (columns,)
    return fit and bool(((array >= -_LARGEST_EXPONENT) & (array <= _LARGEST_EXPONENT)).all())


def columns(centre: np.ndarray, exponent: np.ndarray) -> bool:
    """Whether columns can be standardised so: finite centres, and as many exponents."""
    return centre.ndim == 1 and real(centre, centre.shape) and exponents(exponent, len(centre))


def copies(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether these are numbers of copies that can stand for missing calls, from 0 to 2."""
    return real(array, shape) and bool(((array >= 0) & (array <= 2)).all())
