"""Parts of drawn plots: the axis of -log10 P, ticks, marks as paths, and colours for screen and paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from unpooled.pages.page import Html, tag

_COLOURS = """
:root { --mark-next: #5b87a8; --lead: #7a1fc2; --band: #e3ebef; --limit: #a61b1b; --stripe: #f3f6f7;
  --strong: #7c8b92 }
@media screen and (prefers-color-scheme: dark) { :root { --mark-next: #4d83a3; --lead: #d3a4ff;
  --band: #2b3a42; --limit: #ff9b93; --stripe: #1e282c; --strong: #71838b } }
"""
RULES = """\
.plot path { fill: none }
.plot .axis, .plot .expected, .plot .fold { stroke: var(--strong) }
.plot .grid { stroke: var(--line) }
.plot .stripe { fill: var(--stripe) }
.plot .even, .plot .odd { stroke: var(--mark); stroke-width: 4; stroke-linecap: round }
.plot .odd { stroke: var(--mark-next) }
.plot .dots { stroke: var(--mark); stroke-width: 5; stroke-linecap: round }
.plot .lead { fill: var(--lead); stroke: var(--surface) }
.plot .band { fill: var(--band) }
.plot .expected, .plot .suggestive { stroke-dasharray: 5 4 }
.plot .fold { stroke-dasharray: 1 4 }
.plot .genome-wide { stroke: var(--limit); stroke-width: 1.2 }
.plot .suggestive { stroke: var(--strong); stroke-width: 1.2 }
.plot text.title, .plot text.label { fill: var(--text); font-weight: 600 }
.plot text.label { stroke: var(--surface); stroke-width: 3; paint-order: stroke; font-size: 11px }
.plot text.limit { fill: var(--limit) }
"""
STYLE = _COLOURS + RULES
"""Goes with `unpooled.pages.page.STYLE`."""

LOG_P = "\u2212log\u2081\u2080 P"
FOLD = 20.0
_FOLDED_ABOVE = 2 * FOLD
_SHARE = 0.72  # of the height for what is below the fold
_ROOM = 24  # above the strongest variant, for its name
_LINE = 16  # so that the numbers of ticks do not touch


@dataclass(frozen=True)
class Axis:
    """-log10 P, upwards. If some variants are beyond 40, what is above 20 shares little of the height."""

    most: float
    """The largest value that is drawn."""
    height: float

    @property
    def is_folded(self) -> bool:
        return self.most > _FOLDED_ABOVE

    def y(self, value: float) -> float:
        """Return how far below the top a value lies."""
        if not self.is_folded:
            return self.height - value / self.most * (self.height - _ROOM)
        fold = self.height * (1 - _SHARE)
        if value <= FOLD:
            return self.height - value / FOLD * (self.height - fold)
        return fold - (value - FOLD) / (self.most - FOLD) * (fold - _ROOM)

    @property
    def ticks(self) -> list[float]:
        if not self.is_folded:
            return ticks(self.most, max(2, int(self.height // 45)))
        above = (tick for tick in ticks(self.most, 4) if self.y(FOLD) - self.y(tick) >= _LINE)
        return ticks(FOLD, 4) + self._apart(above)

    def _apart(self, values: Iterable[float]) -> list[float]:
        """Keep the values above the fold that are not too close to the one before."""
        kept: list[float] = []
        for value in values:
            if value > FOLD and (not kept or self.y(kept[-1]) - self.y(value) >= _LINE):
                kept.append(value)
        return kept

    def drawn(self, width: float, title: str) -> list[Html]:
        """Grid, line, numbers and title."""
        folded = f", folded above {FOLD:g}" if self.is_folded else ""
        grid = "".join(f"M0 {short(self.y(tick))}H{short(width)}" for tick in self.ticks if tick)
        return [
            tag("path", class_="grid", d=grid),
            *([tag("path", class_="fold", d=f"M0 {short(self.y(FOLD))}H{short(width)}")] * self.is_folded),
            tag("path", class_="axis", d=self._line()),
            *(text(f"{tick:g}", -8, self.y(tick) + 4, anchor="end") for tick in self.ticks),
            text(f"{title}{folded}", -8, -12, class_="title"),
        ]

    def _line(self) -> str:
        """The axis itself; a folded one is broken just above the fold."""
        if not self.is_folded:
            return f"M0 0V{short(self.height)}"
        return f"M0 0V{short(self.y(FOLD) - 10)}l-4 2l8 3l-8 3l4 2V{short(self.height)}"


def ticks(most: float, count: int) -> list[float]:
    """About `count` round numbers from 0 up to `most`."""
    step = 10 ** math.floor(math.log10(most / count))
    step *= next((factor for factor in (1, 2, 5) if step * factor >= most / count * 0.75), 10)
    return [step * k for k in range(int(most / step * (1 + 1e-9)) + 1)]


@dataclass(frozen=True)
class Label:
    """A text above a mark."""

    x: float
    y: float
    text: str
    anchor: str
    left: float

    def touches(self, other: Label) -> bool:
        first, second = sorted((self, other), key=lambda label: label.left)
        return second.left <= first.left + _long(first.text) + 4 and abs(self.y - other.y) < _HIGH

    def hides(self, x: float, y: float) -> bool:
        inside = self.left - 4 < x < self.left + _long(self.text) + 4
        return inside and self.y - _HIGH < y < self.y + 2


_LETTER, _HIGH, _ABOVE = 6.4, 13, 9  # of a label of 11 px
_LONGEST = 24


def labelled(marks: Sequence[tuple[float, float, str]], width: float, most: int) -> list[Label]:
    """Names above marks (x, y, name), which come strongest first.

    One that would touch another, hide a mark, or leave the plot, is left out.
    """
    found: list[Label] = []
    for x, y, name in marks:
        label = _label(x, y - _ABOVE, shortened(name, _LONGEST), width)
        is_free = not any(map(label.touches, found)) and not any(label.hides(*mark[:2]) for mark in marks)
        if len(found) < most and is_free and label.y > _HIGH - 4:
            found.append(label)
    return found


def _label(x: float, y: float, name: str, width: float) -> Label:
    half = _long(name) / 2
    anchor = "start" if x < half else "end" if x > width - half else "middle"
    return Label(x, y, name, anchor, x - {"start": 0, "middle": half, "end": 2 * half}[anchor])


def _long(name: str) -> float:
    return len(name) * _LETTER


def shortened(name: str, most: int) -> str:
    """A name in at most so many letters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def text(content: str, x: float, y: float, anchor: str = "start", class_: str | None = None) -> Html:
    """A text beside what it names."""
    return tag("text", content, class_=class_, x=short(x), y=short(y), text_anchor=anchor)


def power(p: float) -> str:
    """A threshold: 5e-8."""
    return f"{p:g}".replace("e-0", "e-")


Frame: TypeAlias = tuple[tuple[int, int], int, int]
"""Width and height of a picture, and where in it the plot begins, from the left and from the top."""


def plot(title: str, frame: Frame, *content: Html) -> Html:
    """A picture; `title` says to people who do not see it what there is to see."""
    (width, height), left, top = frame
    return tag(
        "svg",
        tag("title", title),
        tag("g", *content, transform=f"translate({left} {top})"),
        class_="plot",
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )


def dot(x: float, y: float) -> str:
    """A dot, where the path is stroked with round ends."""
    return f"M{short(x)} {short(y)}h.01"


def upright(x: float, low: float, high: float) -> str:
    """An upright line; one without height is a dot."""
    return dot(x, low) if abs(low - high) < 0.1 else f"M{short(x)} {short(low)}V{short(high)}"


def diamond(x: float, y: float, r: float) -> str:
    return f"M{short(x)} {short(y - r)}l{r:g} {r:g}l{-r:g} {r:g}l{-r:g} {-r:g}z"


def short(pixels: float) -> str:
    """A length with a digit behind the point at most: pictures are drawn of thousands."""
    return f"{pixels:.1f}".removesuffix(".0")
