"""The QQ plot: observed against expected P with the band of chance, for all variants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unpooled.pages.page import Html
from unpooled.pictures import quantiles_svg
from unpooled.pictures.associations import p_text
from unpooled.pictures.quantiles_svg import LEFT, TOP, Scales
from unpooled_client.window.plots.frame import Plot, Spot


class QuantilePlot(Plot):
    """One curve, and the line on which it lies where nothing is associated."""

    def __init__(self) -> None:
        super().__init__("QQ plot")
        self._told: Mapping[str, Any] | None = None

    def put(self, quantiles: Mapping[str, Any]) -> None:
        """Show the curve of all variants."""
        self._told = quantiles
        many = quantiles["curves"][0]["variants"]
        self.setAccessibleDescription(f"Observed against expected P of {many:,} variants.")
        self.draw_anew()

    def picture(self, size: tuple[int, int]) -> tuple[Html, list[Spot]]:
        if self._told is None:
            return Html(""), []
        scales = Scales(self._told["curves"][0], size)
        spots = [
            Spot(
                LEFT + scales.x(x), TOP + scales.axis.y(y), f"Observed P {p_text(y)}\nExpected P {p_text(x)}"
            )
            for x, y in scales.pairs("observed")
        ]
        return quantiles_svg.draw(self._told, size), spots
