"""The axis of -log10 P, as in the browser, and where its numbers stand. Nothing here knows of Qt.

What is interesting lies below 20; a few variants may lie at 500. Then the axis is folded: up to 20 it keeps
most of the height, and what is above shares the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FOLD = 20.0
MINUS_LOG_P = "\N{MINUS SIGN}log\N{SUBSCRIPT ONE}\N{SUBSCRIPT ZERO} P"
_SHARE = 0.72  # of the height for what is below the fold
_LEAST = 8.0  # so that the genome-wide line is always in sight
_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Heights:
    """Values up to `most` in `height` pixels, of which `room` above the strongest are for its name."""

    most: float
    height: float
    room: float

    @property
    def is_folded(self) -> bool:
        return self.most > 2 * FOLD

    @property
    def top(self) -> float:
        return max(self.most, _LEAST)

    def y(self, value: float) -> float:
        """Pixels from above."""
        if not self.is_folded:
            return self.height - value / self.top * (self.height - self.room)
        fold = self.height * (1 - _SHARE)
        if value <= FOLD:
            return self.height - value / FOLD * (self.height - fold)
        return fold - (value - FOLD) / (self.top - FOLD) * (fold - self.room)

    @property
    def ticks(self) -> list[float]:
        if not self.is_folded:
            return ticks(self.top, max(2, int(self.height / 45)))
        return [*ticks(FOLD, 4), *(tick for tick in ticks(self.top, 4) if tick > 1.5 * FOLD)]


def ticks(top: float, many: int) -> list[float]:
    """Round numbers from 0 to `top`, about so many."""
    rough = top / max(many, 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in _STEPS if size * factor >= rough * 0.999)
    return [step * k for k in range(int(top / step + 1e-9) + 1)]
