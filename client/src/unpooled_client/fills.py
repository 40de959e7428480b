"""What stands for a missing call is the same in every question: the difference of two would be a record.

By the rule `mean` the question says what a missing call of a variant counts. Two questions that differ in
nothing but this differ in their sums by those who lack the call, and these may be one person.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from unpooled.protocol.problems import Problem
from unpooled.step import Filled, Step
from unpooled_client.trust import Distrust


@dataclass
class Fills:
    """What was answered first for each variant. Forgotten when the client ends."""

    panel: bytes | None = None
    """Digest of the agreed variants, of which there is one only."""
    first: dict[str, np.ndarray] = field(default_factory=dict)
    """Per way to count copies: float64 (variants of the panel, k), NaN where nothing was asked."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, step: Step, panel: bytes) -> None:
        """Distrust if the question takes missing calls for something else than one before; else keep it."""
        filled = step.filled()
        if filled is None:
            return
        with self.lock:
            if self.panel not in (None, panel) or not self._same(filled):
                raise Distrust(
                    Problem.QUESTION,
                    f"the server asks again what it has asked, but for missing calls ({step.title}): the "
                    "difference would be about the people who lack a call.",
                    "Nothing was sent for it. Tell the coordinator and the server's operator.",
                )
            self.panel = panel
            self.first[filled.coding][filled.variants] = filled.values

    def _same(self, filled: Filled) -> bool:
        first = self.first.get(filled.coding, np.empty((0, filled.values.shape[1])))
        if len(first) < (reach := int(filled.variants.max(initial=-1)) + 1):
            more = np.full((reach - len(first), filled.values.shape[1]), np.nan)
            first = np.concatenate([first, more])
        self.first[filled.coding] = first
        before = first[filled.variants]
        return bool((np.isnan(before) | (before == filled.values)).all())
