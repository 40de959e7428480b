"""Quantiles and k-th elements of the pool: those of NumPy on the pooled table, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled.scaler import QUANTILES
from unpooled.shared_options import BITS, SUMS

from .of_tables import agreed, evenly, loaded

ODD = [0.0, -0.0, 1.0, 5e-324, -5e-324, 1e300, -1e300, 2.0**53, 1.7976931348623157e308]
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9).map(float), st.sampled_from(ODD)
)


@pytest.mark.parametrize("opens", [SUMS, BITS])
@settings(max_examples=25)
@given(values=st.lists(NUMBERS, min_size=30, max_size=60))
def test_every_element_is_that_of_numpy(opens: str, values: list[float]) -> None:
    own, n = np.array(values), len(values)
    places = (*range(1, min(n, 50) + 1), *range(-min(n, 50), 0))  # of so many may be asked
    agreed(QUANTILES, [own[k::3, None] for k in range(3)], elements=places, quantiles=(0.5,), opens=opens)


@pytest.mark.parametrize("opens", [SUMS, BITS])
def test_many_quantiles_of_many_features(opens: str) -> None:
    asked = (0.0, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.95, 1.0)
    pooled = loaded("breast_cancer", 0.1)
    agreed(QUANTILES, evenly(pooled, 5), quantiles=asked, elements=(1, 10, 37, 400, -37, -2, -1), opens=opens)
