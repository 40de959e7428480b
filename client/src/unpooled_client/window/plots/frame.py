"""Base of both plots: room around them, axes, a picture that is kept, and a tip beside the pointer."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from unpooled_client.window.look.style import look
from unpooled_client.window.plots.scale import Heights

_REACH = 12.0
"""Pixels from the pointer within which something is meant."""


@dataclass(frozen=True)
class Spot:
    """Something in the plot that has a tip: where it is, and what is said of it."""

    x: float
    y: float
    tip: str
    lead: int | None = None
    """Index of the locus that the spot leads."""


class Plot(QWidget):
    """A plot that is drawn once for each size, and asked for tips."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._kept: QPixmap | None = None
        self.spots: list[Spot] = []
        self.area = QRectF()
        """Rectangle of the marks."""
        look().changed.connect(self.draw_anew)

    def minimumSizeHint(self) -> QSize:
        return QSize(12, 7) * look().pixels("4")

    def draw_anew(self) -> None:
        self._kept = None
        self.update()

    def _room(self) -> QRectF:
        line = self.metrics.height()
        return QRectF(self.rect()).adjusted(3.2 * line, 2 * line, -self.right, -2.9 * line)

    @property
    def right(self) -> float:
        return self.metrics.height()

    @property
    def small(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(max(8, round(look().pixels("small") * 0.88)))
        return font

    @property
    def metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self.small)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        ratio = painter.device().devicePixelRatioF()
        size = self.size() * ratio
        if self._kept is None or self._kept.size() != size:
            self._kept = QPixmap(size)
            self._kept.setDevicePixelRatio(ratio)
            self._kept.fill(look().colour("surface"))
            inner = QPainter(self._kept)
            inner.setRenderHint(QPainter.RenderHint.Antialiasing)
            inner.setFont(self.small)
            self.spots, self.area = [], self._room()
            self.draw(inner)
            inner.end()
        painter.drawPixmap(0, 0, self._kept)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.draw_over(painter)

    def draw(self, painter: QPainter) -> None:
        """Draw what stays, and say where the spots are."""
        raise NotImplementedError

    def draw_over(self, painter: QPainter) -> None:
        """Draw what changes with the pointer."""

    def draw_heights(self, painter: QPainter, heights: Heights, title: str) -> None:
        """The axis at the left with its lines."""
        area = self.area
        for tick in heights.ticks:
            y = area.top() + heights.y(tick)
            painter.setPen(QPen(look().colour("line"), 1.0))
            if tick:
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(look().colour("muted"))
            box = QRectF(0, y - 10, area.left() - 7, 20)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{tick:g}")
        words = title + (", folded above 20" if heights.is_folded else "")
        painter.setPen(look().colour("text"))
        painter.drawText(QPointF(self.metrics.height() * 0.6, self.metrics.height() * 1.1), words)
        painter.setPen(QPen(look().colour("line-strong"), 1.0))
        painter.drawLine(area.topLeft(), area.bottomLeft())
        painter.drawLine(area.bottomLeft(), area.bottomRight())

    def draw_below(self, painter: QPainter, places: list[tuple[float, str]], title: str) -> None:
        """Names below the plot, those apart that would touch the one before."""
        area, free, line = self.area, -1e9, self.metrics.height()
        painter.setPen(look().colour("muted"))
        for x, text in places:
            wide = self.metrics.horizontalAdvance(text)
            if x - wide / 2 >= free:
                painter.drawText(QPointF(x - wide / 2, area.bottom() + 1.25 * line), text)
                free = x + wide / 2 + 4
        painter.setPen(look().colour("text"))
        wide = self.metrics.horizontalAdvance(title)
        painter.drawText(QPointF(area.center().x() - wide / 2, area.bottom() + 2.5 * line), title)

    def point_of(self, spot: Spot) -> QPoint:
        return QPointF(spot.x, spot.y).toPoint()

    def nearest(self, at: QPointF) -> Spot | None:
        def distance(spot: Spot) -> float:
            return (spot.x - at.x()) ** 2 + (spot.y - at.y()) ** 2

        found = min(self.spots, key=distance, default=None)
        return found if found is not None and distance(found) <= _REACH**2 else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        spot = self.nearest(event.position())
        if spot is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(event.globalPosition().toPoint(), spot.tip, self)

    def leaveEvent(self, event: QEvent) -> None:
        QToolTip.hideText()
