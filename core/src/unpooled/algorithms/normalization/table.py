"""A cohort's table as the steps see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from unpooled.cohort import Cohort, Table
from unpooled.errors import ProtocolError

FEATURES = "features"
"""The result table of a normalization: a row per feature."""

Derived = TypeVar("Derived")

_derived: WeakKeyDictionary[object, tuple[object, object]] = WeakKeyDictionary()


def table_values(cohort: Cohort, features: int) -> np.ndarray:
    """The values of a cohort of a study of tables, float64 (n, features)."""
    values = cast(Table, cohort).values
    if values.shape[1] != features:
        raise ProtocolError("the question has another number of features than this cohort's table")
    return values


def known(values: np.ndarray, feature: int) -> np.ndarray:
    """The values of a feature that are not missing, float64 (m,)."""
    column = values[:, feature]
    return np.ascontiguousarray(column[~np.isnan(column)])


def derived(cohort: Cohort, name: str, make: Callable[[], Derived]) -> Derived:
    """What `make` makes of a table, kept while the cohort lives and nothing of another name is asked.

    Questions about the same come round after round, and what they need is as large as the table itself.
    """
    found = _derived.get(cohort)
    if found is None or found[0] != name:
        _derived.pop(cohort, None)  # before the next is made
        found = _derived[cohort] = (name, make())
    return cast(Derived, found[1])
