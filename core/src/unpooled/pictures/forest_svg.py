"""Effects of one variant under one another, each with its limits, on one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from unpooled.pages.page import Html, tag

WIDTH, _LINE, _AXIS = 360, 22, 22
_NAMES, _MARGIN = 120, 10  # pixels for the names, and beside the scale
_FEWEST_BETWEEN = 44  # pixels between two numbers of the scale


@dataclass(frozen=True)
class Effect:
    """An odds ratio or beta with its limits; NaN where there is none."""

    name: str
    effect: float
    lower: float
    upper: float
    combined: bool = True
    """True for several cohorts: a diamond over the limits. False for a square on the line of the limits."""

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.effect) and math.isfinite(self.lower) and math.isfinite(self.upper)


def draw(effects: Sequence[Effect], *, odds: bool) -> Html:
    """The picture; empty where no effect is known. Odds ratios stand by their logarithms."""
    known = [effect for effect in effects if effect.is_known]
    if not known:
        return Html("")

    def place(value: float) -> float:
        return math.log(value) if odds else value

    ends = [0.0, *(place(value) for one in known for value in (one.lower, one.upper))]
    low, high = min(ends), max(ends)

    def x(value: float) -> float:
        share = (place(value) - low) / (high - low or 1.0)
        return round(_NAMES + _MARGIN + share * (WIDTH - _NAMES - 2 * _MARGIN), 1)

    none = 1.0 if odds else 0.0
    bottom = _LINE * len(effects)
    shapes = [tag("line", class_="axis", x1=x(none), x2=x(none), y1=0, y2=bottom)]
    for row, one in enumerate(effects):
        y = _LINE * row + _LINE // 2
        shapes.append(tag("text", one.name, x=0, y=y + 4))
        if one.is_known:
            shapes += _shape(one, x(one.lower), x(one.effect), x(one.upper), y)
    shapes.append(tag("line", class_="axis", x1=_NAMES, x2=WIDTH, y1=bottom, y2=bottom))
    shown: list[float] = []
    unplace = math.exp if odds else float
    for value in (none, unplace(low), unplace(high)):
        if all(abs(x(value) - x(other)) >= _FEWEST_BETWEEN for other in shown):
            shown.append(value)
            anchor = "end" if x(value) > WIDTH - 30 else "middle"
            shapes.append(tag("text", f"{value:.2g}", x=x(value), y=bottom + 16, text_anchor=anchor))
    height = bottom + _AXIS
    said = "; ".join(f"{one.name} {one.effect:.3g} ({one.lower:.3g} to {one.upper:.3g})" for one in known)
    return tag("svg", *shapes, width=WIDTH, height=height, viewBox=f"0 0 {WIDTH} {height}", role="img",
               aria_label=said, style=f"min-width: {WIDTH}px")  # fmt: skip


def _shape(one: Effect, left: float, middle: float, right: float, y: int) -> list[Html]:
    if one.combined:
        left, right = min(left, middle - 4), max(right, middle + 4)
        points = f"{left},{y} {middle},{y - 6} {right},{y} {middle},{y + 6}"
        return [tag("polygon", class_="bar", points=points)]
    return [
        tag("line", stroke="currentColor", stroke_width=1.5, x1=left, x2=right, y1=y, y2=y),
        tag("rect", fill="currentColor", x=middle - 4, y=y - 4, width=8, height=8),
    ]
