"""The tests of a regression: which there are, and which line of a report is about which."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.question import Arrays

ADD, SEX = b"ADD", b"SEX"

Which: TypeAlias = slice | NDArray[np.integer]
"""Which variants of the result a block of lines is about."""


def tests(plan: Plan, rows: Arrays) -> list[bytes]:
    """Names of the columns of `beta` and `se`."""
    if plan.hide_covar:
        return [ADD]
    names = [ADD, *(name.encode() for name in plan.covariate_columns)]
    return names + [SEX] * (rows["beta"].shape[1] - len(names))


def of_test(column: NDArray[Any], part: Which, test: NDArray[np.int64] | int) -> NDArray[Any]:
    """From a column of all tests, (m, tests): of some rows one test each, (k,)."""
    values = column[part]
    return np.asarray(values[np.arange(len(values)), test])


def tests_each(plan: Plan, panel: Panel, rows: Arrays) -> NDArray[np.int32]:
    """How many tests each variant has: on X there may be one more, SEX."""
    if plan.hide_covar:
        return np.ones(len(rows["variant"]), np.int32)
    most, usual = np.array([rows["beta"].shape[1], 1 + len(plan.covariate_columns)], np.int32)
    on_x = panel.chromosome[rows["variant"][:]] == plan.autosomes + 1
    return np.asarray(np.where(on_x, most, usual))


class Lines:
    """Which variant and which test every line of a report is about."""

    def __init__(self, each: NDArray[np.int32]) -> None:
        """`each` says how many lines each variant has. Kept are the runs of variants that have as many."""
        first = np.flatnonzero(np.diff(each, prepend=np.int32(0)))
        self._first, self._each = first, each[first].astype(np.int64)
        self._end = np.cumsum(np.diff(np.append(first, len(each))) * self._each)

    def __len__(self) -> int:
        return int(self._end[-1]) if len(self._end) else 0

    def of(self, part: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(variants, tests) of some lines."""
        line = np.arange(part.start, part.stop)
        run = np.searchsorted(self._end, line, side="right")
        begin = np.append(0, self._end)[run]
        after, test = np.divmod(line - begin, self._each[run])
        return self._first[run] + after, test
