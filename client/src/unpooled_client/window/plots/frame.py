"""Base of both plots: a picture of the library's in the look's colours, and a tip beside the pointer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QEvent, QPoint, QPointF, QRectF, QSize
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from unpooled.pages.page import Html
from unpooled.pictures.drawing import RULES
from unpooled_client.window.look.style import FACE, look

_REACH = 12.0
"""Pixels from the pointer within which something is meant."""
_TEXT = 12.0
"""Pixels of text in the library's pictures."""
_COLOUR = re.compile(r"var\(--([\w-]+)\)")
_TOKENS = {"lead": "mark-lead", "band": "mark-band", "strong": "line-strong"}
"""Colours of the pictures that the look calls otherwise."""
# Qt strokes a text after it has filled it, whatever `paint-order` says: without a stroke it can be read.
_STYLE = f"""\
.plot .axis {{ stroke: var(--strong) }}
.plot text {{ fill: var(--muted); font-family: {FACE}; font-size: {_TEXT:g}px }}
{RULES}
.plot text.label {{ stroke: none }}"""


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
        look().changed.connect(self.draw_anew)

    def minimumSizeHint(self) -> QSize:
        return QSize(12, 7) * look().pixels("4")

    def draw_anew(self) -> None:
        self._kept = None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        ratio = painter.device().devicePixelRatioF()
        size = self.size() * ratio
        if self._kept is None or self._kept.size() != size:
            self._kept = QPixmap(size)
            self._kept.setDevicePixelRatio(ratio)
            self._kept.fill(look().colour("surface"))
            self._draw(self._kept)
        painter.drawPixmap(0, 0, self._kept)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.draw_over(painter)

    def _draw(self, onto: QPixmap) -> None:
        """Draw the picture so that its text has the size of small text here, and scale the spots likewise."""
        # Below eight pixels text cannot be read, whatever the zoom.
        scale = max(8.0, 0.88 * look().pixels("small")) / _TEXT
        size = round(self.width() / scale), round(self.height() / scale)
        picture, spots = self.picture(size)
        self.spots = [Spot(scale * spot.x, scale * spot.y, spot.tip, spot.lead) for spot in spots]
        style = _COLOUR.sub(lambda name: look().colour(_TOKENS.get(name[1], name[1])).name(), _STYLE)
        svg = picture.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
        svg = svg.replace("<title", f"<style>{style}</style><title", 1)
        inner = QPainter(onto)
        QSvgRenderer(QByteArray(svg.encode())).render(inner, QRectF(self.rect()))
        inner.end()

    def picture(self, size: tuple[int, int]) -> tuple[Html, list[Spot]]:
        """Return the picture of this size, and its spots."""
        raise NotImplementedError

    def draw_over(self, painter: QPainter) -> None:
        """Draw what changes with the pointer."""

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
