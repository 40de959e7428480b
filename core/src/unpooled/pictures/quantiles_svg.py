"""The QQ plot drawn as SVG, from `unpooled.pictures.quantiles.quantiles`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unpooled.kernels.statistics import inflation_text
from unpooled.pages.page import Html, tag
from unpooled.pictures.drawing import LOG_P, Axis, dot, plot, short, text, ticks

_SIZE = (480, 420)
LEFT, TOP = 46, 28
_RIGHT, _BELOW = 14, 46


@dataclass(frozen=True)
class Scales:
    """Places of a curve's values in a picture of a size, from LEFT and TOP on."""

    curve: Mapping[str, Any]
    size: tuple[int, int] = _SIZE

    @property
    def width(self) -> int:
        return self.size[0] - LEFT - _RIGHT

    @property
    def most(self) -> float:
        """The largest expected value, with room."""
        return float(max([1.0, *self.curve["expected"]]) * 1.04)

    @cached_property
    def axis(self) -> Axis:
        highest = [y for name in ("observed", "high") for _, y in self.pairs(name)]
        return Axis(max([1.0, *highest]), self.size[1] - TOP - _BELOW)

    def x(self, value: float) -> float:
        return value / self.most * self.width

    def pairs(self, name: str) -> list[tuple[float, float]]:
        """The known values of this name, each after what is expected; a P of 0 has none."""
        values = zip(self.curve["expected"], self.curve[name], strict=True)
        return [(x, y) for x, y in values if x is not None and y is not None]


def draw(quantiles: Mapping[str, Any], size: tuple[int, int] = _SIZE) -> Html:
    """The plot of all variants."""
    scales = Scales(quantiles["curves"][0], size)
    axis, x, most, width, height = scales.axis, scales.x, scales.most, scales.width, scales.axis.height

    def edge(name: str) -> list[str]:
        return [f"{short(x(expected))} {short(axis.y(value))}" for expected, value in scales.pairs(name)]

    around = [*edge("high"), *reversed(edge("low"))]
    places = scales.pairs("observed")
    return plot(
        in_words(quantiles),
        (size, LEFT, TOP),
        tag("path", class_="band", d=f"M{'L'.join(around)}z" if around else ""),
        *axis.drawn(width, f"Observed {LOG_P}"),
        tag("path", class_="axis", d=f"M0 {height}H{width}"),
        *(text(f"{tick:g}", x(tick), height + 18, "middle") for tick in ticks(most, max(2, width // 70))),
        text(f"Expected {LOG_P}", width / 2, height + 38, "middle", "title"),
        tag("path", class_="expected", d=f"M0 {height}L{short(x(most))} {short(axis.y(most))}"),
        tag("path", class_="dots", d="".join(dot(x(at), axis.y(value)) for at, value in places)),
    )


def name_of(curve: Mapping[str, Any]) -> str:
    """Frequencies of the rarer allele that a curve is of: All variants, Up to 1 %."""
    above, up_to = curve["above"], curve["up_to"]
    is_last = up_to >= 0.5  # the rarer allele has no more
    if above == 0:
        return "All variants" if is_last else f"Up to {100 * up_to:.3g} %"
    return f"Above {100 * above:.3g} %" + ("" if is_last else f" up to {100 * up_to:.3g} %")


def in_words(quantiles: Mapping[str, Any]) -> str:
    """Describe the plot in words, for screen readers."""
    each = (f"{name_of(curve)}: λ {inflation_of(curve)}" for curve in quantiles["curves"])
    return f"QQ plot of observed against expected P. {'; '.join(each)}."


def inflation_of(curve: Mapping[str, Any]) -> str:
    """λ of a curve."""
    return "not known" if curve["inflation"] is None else inflation_text(curve["inflation"])
