"""The tests of a regression: which there are, and which line of a report is about which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.step import Arrays

ADD, SEX = b"ADD", b"SEX"


def tests(plan: Plan, rows: Arrays) -> list[bytes]:
    """Names of the columns of `beta` and `se`."""
    if plan.hide_covar:
        return [ADD]
    names = [ADD, *(name.encode() for name in plan.covariate_columns)]
    return names + [SEX] * (rows["beta"].shape[1] - len(names))


def tests_each(plan: Plan, panel: Panel, rows: Arrays) -> NDArray[np.int64]:
    """How many tests each variant has: on X there may be one more, SEX."""
    most = rows["beta"].shape[1]
    if plan.hide_covar:
        return np.ones(len(rows["variant"]), np.int64)
    on_x = panel.chromosome[rows["variant"]] == plan.autosomes + 1
    return np.where(on_x, most, 1 + len(plan.covariate_columns))


class Lines:
    """Which variant and which test every line of a report is about."""

    def __init__(self, each: NDArray[np.int64]) -> None:
        self._end = np.cumsum(each)
        self._start = self._end - each

    def __len__(self) -> int:
        return int(self._end[-1]) if len(self._end) else 0

    def of(self, part: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(variants, tests) of some lines."""
        line = np.arange(part.start, part.stop)
        variant = np.searchsorted(self._end, line, side="right")
        return variant, line - self._start[variant]
