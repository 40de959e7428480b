"""The functions that a model replaces a column of numbers by, before it is weighed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unpooled.fitted import yeo_johnson
from unpooled.kernels.elementary import log, log1p
from unpooled.plan.encodings import ABOVE, LOG, LOG1P, OF_NUMBERS, YEO_JOHNSON

Curve = Callable[[np.ndarray, Mapping[str, Any]], np.ndarray]

CURVES: Mapping[str, Curve] = {
    LOG: lambda x, of: log(x),
    LOG1P: lambda x, of: log1p(x),
    YEO_JOHNSON: lambda x, of: yeo_johnson.about(x, float(of["centre"]), float(of["lambda"])),
}
"""The function of each scaling, which is given the parameters that a model file has of the column."""


def transformed(values: np.ndarray, scaling: Mapping[str, Any]) -> np.ndarray:
    """A column, float64 (n,), as its scaling bends it; NaN stays NaN. Others leave it as it is.

    ValueError if a value has no logarithm, or if there is no such scaling.
    """
    if scaling["method"] not in OF_NUMBERS:
        raise ValueError(f"got the scaling {scaling['method']!r}; want {', '.join(OF_NUMBERS)}")
    if (above := ABOVE.get(scaling["method"])) is not None and (values <= above).any():
        raise ValueError(f"a value is not above {above:g}, as {scaling['method']} needs")
    curve = CURVES.get(scaling["method"])
    return values if curve is None else curve(values, scaling)
