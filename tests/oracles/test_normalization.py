"""Normalization: the parameters and the cells that scikit-learn finds in the pooled table, whoever has which row."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from unpooled.scaler import CONSTANT, MIN_MAX, NEARLY_CONSTANT, QUANTILES, ROBUST, Z_SCORE, Scaler
from unpooled.shared_options import BITS, SUMS

from ..fuzz.tables.truth import moments
from .of_tables import SPLITS, TABLES, Columns, agreed, column, each_sorted, evenly, loaded, table

N = 600
REFERENCES = {Z_SCORE: StandardScaler, MIN_MAX: MinMaxScaler, ROBUST: RobustScaler}
OF_COUNTS = [(MIN_MAX, SUMS), (MIN_MAX, BITS), (ROBUST, SUMS), (ROBUST, BITS), (QUANTILES, SUMS), (QUANTILES, BITS)]


@pytest.mark.parametrize(("name", "missing"), TABLES)
@pytest.mark.parametrize("method", [Z_SCORE, MIN_MAX, ROBUST, QUANTILES])
def test_real_tables(method: str, name: str, missing: float) -> None:
    """Of those that rest on counts, half of the ways of dealing the rows are with signs in place of sums."""
    pooled = loaded(name, missing)
    for k, (split, cohorts) in enumerate(product(SPLITS, (3, 8))):
        opens = BITS if k % 3 and method != Z_SCORE else SUMS
        agreed(method, split(pooled, cohorts), opens=opens)
