"""Columns of a table that are transformed as by Yeo and Johnson before a question is about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.fitted import yeo_johnson as transform
from unpooled.methods.tables.table import derived


@dataclass(frozen=True, eq=False)
class Bends:
    """The lambda of some columns, and the value about which each is transformed: `fitted.yeo_johnson`."""

    name: ClassVar[str] = "tables/bends"

    columns: np.ndarray
    """int64 (bent,): places of the columns in the table."""
    centre: np.ndarray
    """float64 (bent,)"""
    power: np.ndarray
    """float64 (bent,)"""

    def of(self, values: np.ndarray) -> np.ndarray:
        """The same values, float64 (n, features), with these columns transformed."""
        found = values.copy()
        for k, centre, power in zip(self.columns, self.centre, self.power, strict=True):
            found[:, k] = transform.about(values[:, k], centre, power)
        return found


def bent(table: Table, bends: Bends | None) -> np.ndarray:
    """The values of a table as such a question sees them, float64 (n, features)."""
    if bends is None:
        return table.values
    # Many questions are about one transform, and what it was fitted to may be any table.
    name = f"bent {bends.columns.tolist()} {bends.centre.tolist()} {bends.power.tolist()}"
    return derived(table, name, lambda: bends.of(table.values))
