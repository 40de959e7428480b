"""A cohort's table as questions see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.errors import ProtocolError
from unpooled.plan.plan import Plan

FEATURES = "features"
"""The result table of a normalization: a row per feature."""

Derived = TypeVar("Derived")

_derived: WeakKeyDictionary[object, tuple[object, object]] = WeakKeyDictionary()


def titles_of(plan: Plan) -> tuple[str, ...]:
    """The names of the features."""
    return tuple(feature.title for feature in plan.features)


def table_values(table: Table, features: int) -> np.ndarray:
    """The values of a cohort's table, float64 (n, features)."""
    values = table.values
    if values.shape[1] != features:
        raise ProtocolError("the question has another number of features than this cohort's table")
    return values


def known(values: np.ndarray, feature: int) -> np.ndarray:
    """The values of a feature that are not missing, float64 (m,)."""
    column = values[:, feature]
    return np.ascontiguousarray(column[~np.isnan(column)])


def derived(cohort: Table, name: str, make: Callable[[], Derived]) -> Derived:
    """Return what `make` makes of a table; cache it while the cohort lives and no other name is asked for.

    Questions about the same come round after round, and what they need is as large as the table itself.
    """
    # One entry a table, for it is as large as the table; weak, so that it goes with the cohort.
    found = _derived.get(cohort)
    if found is None or found[0] != name:
        _derived.pop(cohort, None)  # before the next is made
        found = _derived[cohort] = (name, make())
    return cast(Derived, found[1])
