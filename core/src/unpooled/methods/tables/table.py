"""A cohort's table as questions see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from unpooled import method_modules
from unpooled.asking.cohort import Table
from unpooled.errors import ProtocolError
from unpooled.plan.common_options import BITS, OPENS
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

FEATURES = "features"
"""The result table of a normalization: a row per feature."""

Derived = TypeVar("Derived")

_derived: WeakKeyDictionary[object, tuple[object, object]] = WeakKeyDictionary()


def titles_of(plan: Plan) -> tuple[str, ...]:
    """The names of the features."""
    return tuple(feature.title for feature in plan.features)


def scaled_under(scaling: str, plan: Plan) -> Sequence[Column]:
    """The features that a study scales so: of a model those whose column says so, else all."""
    return plan.features if _is_of_all(plan) else [c for c in plan.features if c.scaling == scaling]


def places_under(scaling: str, plan: Plan) -> tuple[int, ...]:
    """Their places among the features; none are named if they are all."""
    if _is_of_all(plan):
        return ()
    return tuple(k for k, column in enumerate(plan.features) if column.scaling == scaling)


def is_compared(plan: Plan) -> bool:
    """Tell whether nobody reads the sums by which scalings are found: of a model that is always so."""
    return OPENS.of(plan) == BITS or not _is_of_all(plan)


def _is_of_all(plan: Plan) -> bool:
    return plan.test not in method_modules.MODELS


def scaled_values(table: Table, scaling: str, plan: Plan) -> np.ndarray:
    """The values of the features that a plan scales so: float64 (n, features)."""
    return table_values(table, len(scaled_under(scaling, plan)), places_under(scaling, plan))


def table_values(table: Table, features: int, columns: tuple[int, ...] = ()) -> np.ndarray:
    """The values of a cohort's table, float64 (n, features); where they are named, of these columns only."""
    values = table.values
    if columns and 0 <= min(columns) <= max(columns) < values.shape[1]:
        values = values[:, columns]
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
