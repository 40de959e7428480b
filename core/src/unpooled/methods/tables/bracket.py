"""The search for the lambda at which a likelihood is largest, from the signs of its derivative alone.

The likelihood of Yeo and Johnson's transform has one maximum. The search goes outwards from lambda = 1, which
leaves the values as they are: by doubling, until the sign changes, and then between the last lambda at which
the likelihood still grew and the first at which it did not. Each round asks at 15 lambdas, which gives 4
bits. Only the change of sign nearest to the start is trusted: beyond it numbers lose their digits. A sign
that is not known counts as a change, so that the search comes as close to it as it can.

Where values lie close together only a large lambda bends them, so there the search begins with a larger step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

ASKED = 15
START = 1.0
_DOUBLINGS = 7  # of the first round, either way: START +- 1, 2, 4, ... 64 steps

FARTHEST = 2.0**1020
"""Exclusive bound on |lambda| in a question: at or beyond it, results may not be finite."""

_EXACT = 2.0**-20
"""Width of an interval that is narrow enough; relative where lambda or the step is beyond `_LARGE`."""
_LARGE = 4096.0


@dataclass(frozen=True, eq=False)
class Brackets:
    """Interval that holds the lambda of each feature: arrays (features,), float64 or bool."""

    name: ClassVar[str] = "tables/brackets"

    near: np.ndarray
    """The end at which the likelihood still grows away from the start."""
    far: np.ndarray
    """The other; infinite if none is known, NaN if not even the direction is."""
    edge: np.ndarray
    """The likelihood is not known at the far end: the maximum may lie beyond."""
    step: np.ndarray
    """The first, outwards from the start."""

    @classmethod
    def first(cls, wanted: np.ndarray, step: np.ndarray) -> Self:
        """Begin with nothing known of those `wanted`, bool (features,); the lambda of the others is the
        start.
        """
        start = np.full(len(wanted), START)
        return cls(start, np.where(wanted, np.nan, start), np.zeros(len(wanted), bool), step)

    @property
    def open(self) -> np.ndarray:
        """Features whose lambda is not yet known: int64, ascending."""
        enough = _EXACT * np.maximum(1, np.maximum(np.abs(self.far), self.step) / _LARGE)
        with np.errstate(invalid="ignore"):
            return np.flatnonzero(~(np.abs(self.far - self.near) <= enough) | np.isinf(self.far))

    @property
    def found(self) -> np.ndarray:
        """The lambda of each feature, once none is open: float64 (features,)."""
        return np.where(self.edge, self.near, (self.near + self.far) / 2)

    def questions(self) -> np.ndarray:
        """Return the lambdas to ask about for each `open` feature, nearest first: float64 (open, 15)."""
        near, far = self.near[self.open, None], self.far[self.open, None]
        doubled = np.ldexp(1.0, np.arange(1, ASKED + 1))
        both = np.append(
            0.0, np.repeat(np.ldexp(1.0, np.arange(_DOUBLINGS)), 2) * np.tile([1, -1], _DOUBLINGS)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            between = near + (far - near) * np.arange(1, ASKED + 1) / (ASKED + 1)
            beyond = np.clip(START + (near - START) * doubled, -FARTHEST, FARTHEST)
        return np.where(
            np.isnan(far), START + both * self.step[self.open, None], np.where(np.isinf(far), beyond, between)
        )

    def narrowed(self, signs: np.ndarray) -> Brackets:
        """The brackets after the answers to `questions`: int8 (open, 15).

        1 where the likelihood grows with lambda, -1 where it falls, 0 where that is not known.
        """
        near, far, edge = self.near.copy(), self.far.copy(), self.edge.copy()
        for feature, asked, found in zip(self.open, self.questions(), signs, strict=True):
            near[feature], far[feature], edge[feature] = _narrowed(
                near[feature], far[feature], edge[feature], asked, found
            )
        return replace(self, near=near, far=far, edge=edge)


def _narrowed(
    near: float, far: float, edge: bool, asked: np.ndarray, signs: np.ndarray
) -> tuple[float, float, bool]:
    if np.isnan(far):
        if not signs[0]:  # not even at the start, for the values do not differ
            return near, near, False
        far = np.inf * signs[0]
    direction = np.sign(far - near)
    for power, sign in zip(asked, signs, strict=True):
        # Not further out than what is known already: of the first round half lies on the other side.
        if (power - near) * direction <= 0:
            continue
        if sign != direction:
            return near, float(power), not sign
        near = float(power)
    return near, far, edge
