"""A cohort's table as the steps see it."""

from __future__ import annotations

from typing import cast

import numpy as np

from unpooled.cohort import Cohort, Table
from unpooled.errors import ProtocolError

FEATURES = "features"
"""The result table of a normalization: a row per feature."""


def table_values(cohort: Cohort, features: int) -> np.ndarray:
    """The values of a cohort of a study of tables, float64 (n, features)."""
    values = cast(Table, cohort).values
    if values.shape[1] != features:
        raise ProtocolError("the question has another number of features than this cohort's table")
    return values
