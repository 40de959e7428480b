"""Estimate of the remaining time of a step over the variants, from its questions so far."""

from __future__ import annotations

from dataclasses import dataclass

from unpooled.methods import questions_of
from unpooled.plan.plan import Plan

FEWEST = 3
"""Questions that must have been answered: several are at work at once, so the first few say little."""


@dataclass
class Pace:
    """One step, as far as this run of the client has answered it."""

    began: float
    """When its first question was taken up: seconds of a clock."""
    before: int
    """Variants before those of its first question: an earlier run of the client has answered for them."""
    answered: int = 0
    """Variants that this run has answered for."""
    questions: int = 0

    def add(self, start: int, variants: int) -> None:
        """A question about `variants` from panel index `start` is answered."""
        self.before = min(self.before, start)
        self.answered += variants
        self.questions += 1

    def done(self, total: int) -> int:
        """Variants that are answered for, by this run or by earlier ones."""
        return min(self.before + self.answered, total)

    def left(self, total: int, now: float) -> float | None:
        """Seconds until all are answered if it goes on like this; None where that cannot be told yet."""
        if self.questions < FEWEST:
            return None
        return (total - self.done(total)) * (now - self.began) / self.answered


def last_pass(plan: Plan) -> str:
    """The title of the last step that a study asks about all of its variants; empty if it asks about none."""
    passes = [kind for kind in questions_of(plan) if kind.goes_over_variants() and kind.sends_under(plan)]
    return passes[-1].title if passes else ""
