"""Questions for order statistics are all about the same elements: others would be more than the plan has."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from unpooled.algorithms.normalization.order import Narrow
from unpooled.protocol.problems import Problem
from unpooled.step import Step
from unpooled_client.trust import Distrust


@dataclass
class Narrowing:
    """What was answered first at each byte. Forgotten when the client ends."""

    first: dict[int, Narrow] = field(default_factory=dict)
    """By the shift of the question."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, step: Step) -> None:
        """Distrust if the question is about other elements than one before; else keep it."""
        if not isinstance(step, Narrow):
            return
        with self.lock:
            if not all(step.is_of_the_elements_of(before) for before in self.first.values()):
                raise Distrust(
                    Problem.QUESTION,
                    f"the server asks for other elements than before ({step.title}): each tells of more "
                    "single values.",
                    "Nothing was sent for it. Tell the coordinator and the server's operator.",
                )
            self.first[step.shift] = step
