"""The QQ plot: observed against expected P with the band of chance, for all variants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from unpooled.pictures.associations import p_text
from unpooled_client.window.look.style import look
from unpooled_client.window.plots.frame import Plot, Spot
from unpooled_client.window.plots.scale import MINUS_LOG_P, Heights, ticks

_DOT = 1.9


class QuantilePlot(Plot):
    """One curve, and the line on which it lies where nothing is associated."""

    def __init__(self) -> None:
        super().__init__("QQ plot")
        self._curve: Mapping[str, Any] | None = None

    def put(self, quantiles: Mapping[str, Any]) -> None:
        """Show the curve of all variants."""
        self._curve = quantiles["curves"][0]
        self.setAccessibleDescription(f"Observed against expected P of {self._curve['variants']:,} variants.")
        self.draw_anew()

    def draw(self, painter: QPainter) -> None:
        if self._curve is None or not self._curve["expected"]:
            return
        curve, area = self._curve, self.area
        most = max(value for name in ("observed", "high") for value in curve[name] if value is not None)
        heights = Heights(most, area.height(), 0.5 * self.metrics.height())
        across = area.width() / (curve["expected"][0] * 1.03)

        def at(expected: float, value: float) -> QPointF:
            return QPointF(area.left() + expected * across, area.top() + heights.y(value))

        self._draw_band(
            painter,
            [at(x, y) for name, step in (("high", 1), ("low", -1)) for x, y in _pairs(curve, name)[::step]],
        )
        self.draw_heights(painter, heights, f"Observed {MINUS_LOG_P}")
        painter.setPen(QPen(look().colour("muted"), 1.0, Qt.PenStyle.DashLine))
        painter.drawLine(at(0, 0), at(curve["expected"][0], curve["expected"][0]))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look().colour("mark"))
        for x, y in _pairs(curve, "observed"):
            point = at(x, y)
            painter.drawEllipse(point, _DOT, _DOT)
            tip = f"Observed P {p_text(y)}\nExpected P {p_text(x)}"
            self.spots.append(Spot(point.x(), point.y(), tip))
        numbers = ticks(curve["expected"][0], max(2, int(area.width() / 60)))
        self.draw_below(
            painter, [(at(tick, 0).x(), f"{tick:g}") for tick in numbers], f"Expected {MINUS_LOG_P}"
        )

    def _draw_band(self, painter: QPainter, edge: list[QPointF]) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look().colour("mark-band"))
        painter.drawPolygon(QPolygonF(edge))


def _pairs(curve: Mapping[str, Any], name: str) -> list[tuple[float, float]]:
    values = zip(curve["expected"], curve[name], strict=True)
    return [(x, y) for x, y in values if x is not None and y is not None]
