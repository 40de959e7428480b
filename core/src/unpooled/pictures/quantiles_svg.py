"""The QQ plot drawn as SVG, from `unpooled.pictures.quantiles.quantiles`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unpooled.kernels.statistics import inflation_text
from unpooled.pages.page import Html, tag
from unpooled.pictures.drawing import LOG_P, Axis, dot, plot, short, text, ticks

_SIZE = (480, 420)
_LEFT, _TOP = 46, 28
_WIDTH, _HEIGHT = _SIZE[0] - _LEFT - 14, _SIZE[1] - _TOP - 46


def draw(quantiles: Mapping[str, Any]) -> Html:
    """The plot of all variants."""
    curve = quantiles["curves"][0]
    most: float = max([1.0, *curve["expected"]]) * 1.04
    axis = Axis(max([1.0, *curve["observed"], *curve["high"]]), _HEIGHT)

    def x(value: float) -> float:
        return value / most * _WIDTH

    def edge(name: str) -> list[str]:
        pairs = zip(curve["expected"], curve[name], strict=True)
        return [f"{short(x(expected))} {short(axis.y(value))}" for expected, value in pairs]

    around = [*edge("high"), *reversed(edge("low"))]
    places = zip(curve["expected"], curve["observed"], strict=True)
    return plot(
        in_words(quantiles),
        _SIZE,
        _LEFT,
        _TOP,
        [
            tag("path", class_="band", d=f"M{'L'.join(around)}z" if around else ""),
            *axis.drawn(_WIDTH, f"Observed {LOG_P}"),
            tag("path", class_="axis", d=f"M0 {_HEIGHT}H{_WIDTH}"),
            *(text(f"{tick:g}", x(tick), _HEIGHT + 18, "middle") for tick in ticks(most, 6)),
            text(f"Expected {LOG_P}", _WIDTH / 2, _HEIGHT + 38, "middle", "title"),
            tag("path", class_="expected", d=f"M0 {_HEIGHT}L{short(x(most))} {short(axis.y(most))}"),
            tag("path", class_="dots", d="".join(dot(x(at), axis.y(value)) for at, value in places)),
        ],
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
