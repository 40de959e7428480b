"""Patience of tests: one bound for whatever has to happen; how long it takes is no test's business."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds that a busy machine may take over anything; who waits longer waits in vain. A fifth of what a test
has (pyproject.toml), so that the one that waited tells what failed."""


def until(holds: Callable[[], object], otherwise: Callable[[], str]) -> None:
    """Wait until something holds; fails with a text where it does not come to that."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(otherwise())
        time.sleep(0.02)
