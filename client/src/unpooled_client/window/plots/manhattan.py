"""The Manhattan plot: segments and the strongest points, the leads of loci as diamonds with their names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPen, QPolygonF

from unpooled.pictures.associations import p_text
from unpooled.pictures.loci import GENOME_WIDE, SUGGESTIVE
from unpooled_client.window.look.style import look
from unpooled_client.window.plots.frame import Plot, Spot
from unpooled_client.window.plots.scale import MINUS_LOG_P, Heights

_DOT, _DIAMOND = 1.7, 5.0  # pixels from the middle
_GENOME_WIDE = "5\N{MULTIPLICATION SIGN}10⁻⁸"
_LIMITS = ((GENOME_WIDE, _GENOME_WIDE, Qt.PenStyle.SolidLine), (SUGGESTIVE, "10⁻⁵", Qt.PenStyle.DashLine))


class ManhattanPlot(Plot):
    """Arrow keys go from locus to locus; `chose` says to which."""

    chose = Signal(int)

    def __init__(self) -> None:
        super().__init__("Manhattan plot")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._told: Mapping[str, Any] = {}
        self._loci: Sequence[Mapping[str, Any]] = ()
        self._starts: dict[str, float] = {}
        self._whole = 1.0
        self.chosen: int | None = None

    def put(self, overview: Mapping[str, Any], loci: Sequence[Mapping[str, Any]]) -> None:
        """Show this; `loci` are the table's rows, the strongest first."""
        self._told, self._loci, start = overview, loci, 0.0
        for chromosome in overview["chromosomes"]:
            self._starts[chromosome["name"]] = start
            start += chromosome["last"]
        self._whole = max(start, 1.0)
        number = len(loci)
        words = "1 locus" if number == 1 else f"{number:,} loci"
        self.setAccessibleDescription(
            f"{overview['variants']:,} variants, {words}; the table below has them."
        )
        self.draw_anew()

    def choose(self, locus: int | None) -> None:
        """Ring this locus."""
        self.chosen = locus
        self.update()

    @property
    def lead_colour(self) -> QColor:
        return look().colour("mark-lead")

    @property
    def right(self) -> float:
        return self.metrics.horizontalAdvance(_GENOME_WIDE) + 12

    def _x(self, chromosome: str, position: float) -> float:
        return self.area.left() + (self._starts[chromosome] + position) / self._whole * self.area.width()

    @property
    def _heights(self) -> Heights:
        segments, points = self._told["segments"], self._told["points"]
        highest = max((high + 1 for high in segments["high"]), default=0) * self._told["cell"]["height"]
        most = max([highest, *points["neg_log10_p"]])
        return Heights(most, self.area.height(), 1.5 * self.metrics.height())

    def draw(self, painter: QPainter) -> None:
        if not self._told.get("chromosomes"):
            return
        heights = self._heights
        self._draw_stripes(painter)
        self.draw_heights(painter, heights, MINUS_LOG_P)
        self._draw_limits(painter, heights)
        self._draw_segments(painter, heights)
        self._draw_points(painter, heights)
        self._draw_leads(painter, heights)
        self.draw_below(painter, self._middles, "Chromosome")

    @property
    def _middles(self) -> list[tuple[float, str]]:
        return [(self._x(one["name"], one["last"] / 2), one["name"]) for one in self._told["chromosomes"]]

    def _draw_stripes(self, painter: QPainter) -> None:
        """Every other chromosome stands on one: colour is not all that tells neighbours apart."""
        for chromosome in self._told["chromosomes"][1::2]:
            left, right = (self._x(chromosome["name"], at) for at in (0, chromosome["last"]))
            painter.fillRect(
                QRectF(left, self.area.top(), right - left, self.area.height()), look().colour("stripe")
            )

    def _draw_limits(self, painter: QPainter, heights: Heights) -> None:
        for p, words, style in _LIMITS:
            y = self.area.top() + heights.y(-math.log10(p))
            painter.setPen(QPen(look().colour("limit"), 1.0, style))
            painter.drawLine(QPointF(self.area.left(), y), QPointF(self.area.right(), y))
            painter.drawText(QPointF(self.area.right() + 6, y + self.metrics.ascent() / 2 - 1), words)

    def _ink(self, chromosome: str) -> str:
        return ("mark", "mark-next")[list(self._starts).index(chromosome) % 2]

    def _draw_segments(self, painter: QPainter, heights: Heights) -> None:
        segments, cell = self._told["segments"], self._told["cell"]
        inks = {name: look().colour(self._ink(name)) for name in self._starts}
        wide = max(2 * _DOT, cell["bases"] / self._whole * self.area.width())
        for name, column, low, high in zip(
            segments["chromosome"], segments["column"], segments["low"], segments["high"], strict=True
        ):
            x = self._x(name, (column + 0.5) * cell["bases"])
            top, bottom = (self.area.top() + heights.y(level * cell["height"]) for level in (high + 1, low))
            tall = max(bottom - top, 2 * _DOT)
            painter.fillRect(QRectF(x - wide / 2, bottom - tall, wide, tall), inks[name])

    def _draw_points(self, painter: QPainter, heights: Heights) -> None:
        points, leads = self._told["points"], set(self._told["leads"])
        painter.setPen(Qt.PenStyle.NoPen)
        for k, name in enumerate(points["chromosome"]):
            size = points["neg_log10_p"][k]
            x, y = self._x(name, points["position"][k]), self.area.top() + heights.y(size)
            if k not in leads:
                painter.setBrush(look().colour(self._ink(name)))
                painter.drawEllipse(QPointF(x, y), _DOT, _DOT)
                place = f"{name}:{points['position'][k]:,}"
                self.spots.append(Spot(x, y, f"{points['id'][k]}\n{place}\nP {p_text(size)}"))

    def _draw_leads(self, painter: QPainter, heights: Heights) -> None:
        """Diamonds, and names as far as there is room, the strongest first."""
        taken: list[QRectF] = []
        for number, row in enumerate(self._loci):
            x = self._x(row["chromosome"], row["position"])
            y = self.area.top() + heights.y(row["neg_log10_p"])
            painter.setPen(QPen(look().colour("surface"), 1.0))
            painter.setBrush(self.lead_colour)
            painter.drawPolygon(_diamond(x, y))
            tip = f"{row['id']}\n{row['chromosome']}:{row['position']:,}\nP {row['p']}"
            self.spots.append(Spot(x, y, tip, number))
            self._draw_name(painter, row["id"], x, y, taken)

    def _draw_name(self, painter: QPainter, name: str, x: float, y: float, taken: list[QRectF]) -> None:
        name = self.metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, 12 * self.metrics.height())
        wide, line = self.metrics.horizontalAdvance(name), self.metrics.height()
        left = min(max(x - wide / 2, self.area.left() + 2), self.area.right() - wide)
        box = QRectF(left, y - _DIAMOND - line - 1, wide, line)
        diamond = QRectF(x - _DIAMOND, y - _DIAMOND, 2 * _DIAMOND, 2 * _DIAMOND)
        if not any(other.intersects(box.adjusted(-3, 0, 3, 0)) for other in taken):
            painter.setPen(look().colour("text"))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, name)
            taken.append(box)
        taken.append(diamond)

    def draw_over(self, painter: QPainter) -> None:
        spot = next((spot for spot in self.spots if spot.lead is not None and spot.lead == self.chosen), None)
        if spot is not None:
            painter.setPen(QPen(look().colour("focus" if self.hasFocus() else "mark-lead"), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(spot.x, spot.y), 2 * _DIAMOND, 2 * _DIAMOND)
        if self.hasFocus():
            painter.setPen(QPen(look().colour("focus"), 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        spot = self.nearest(event.position())
        if spot is not None and spot.lead is not None:
            self.chose.emit(spot.lead)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
        if event.key() not in steps or not self._loci:
            super().keyPressEvent(event)
            return
        by_place = sorted(range(len(self._loci)), key=self._place)
        at = by_place.index(self.chosen) if self.chosen is not None else -1
        self.chose.emit(by_place[(at + steps[Qt.Key(event.key())]) % len(by_place)])

    def _place(self, locus: int) -> float:
        row = self._loci[locus]
        return float(self._starts[row["chromosome"]] + row["position"])

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()


def _diamond(x: float, y: float) -> QPolygonF:
    return QPolygonF(
        [
            QPointF(x, y - _DIAMOND),
            QPointF(x + _DIAMOND, y),
            QPointF(x, y + _DIAMOND),
            QPointF(x - _DIAMOND, y),
        ]
    )
