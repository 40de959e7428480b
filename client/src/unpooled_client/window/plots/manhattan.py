"""The Manhattan plot, whose loci are chosen by pointer and by keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPen

from unpooled.pages.page import Html
from unpooled.pictures import manhattan_svg
from unpooled.pictures.associations import p_text
from unpooled.pictures.manhattan_svg import LEFT, TOP
from unpooled_client.window.look.style import look
from unpooled_client.window.plots.frame import Plot, Spot

_RING = 10.0  # pixels around the middle of what is chosen


class ManhattanPlot(Plot):
    """Arrow keys go from locus to locus; `chose` says to which."""

    chose = Signal(int)

    def __init__(self) -> None:
        super().__init__("Manhattan plot")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._told: Mapping[str, Any] = {}
        self._loci: Sequence[Mapping[str, Any]] = ()
        self.chosen: int | None = None

    def put(self, overview: Mapping[str, Any], loci: Sequence[Mapping[str, Any]]) -> None:
        """Show this; `loci` are the table's rows, the strongest first."""
        self._told, self._loci = overview, loci
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

    def picture(self, size: tuple[int, int]) -> tuple[Html, list[Spot]]:
        if not self._told.get("chromosomes"):
            return Html(""), []
        genome, axis = manhattan_svg.scales(self._told, size)
        points, leads = self._told["points"], set(self._told["leads"])

        def spot(row: tuple[str, int, float, str], lead: int | None = None) -> Spot:
            name, place, size, word = row
            tip = f"{word}\n{name}:{place:,}\nP {p_text(size)}"
            return Spot(LEFT + genome.x(name, place), TOP + axis.y(size), tip, lead)

        names = ("chromosome", "position", "neg_log10_p", "id")
        of_points = enumerate(zip(*(points[name] for name in names), strict=True))
        spots = [spot(row) for k, row in of_points if k not in leads]
        of_locus = itemgetter(*names)
        spots += [spot(of_locus(row), k) for k, row in enumerate(self._loci)]
        return manhattan_svg.draw(self._told, size), spots

    def draw_over(self, painter: QPainter) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        spot = next((spot for spot in self.spots if spot.lead is not None and spot.lead == self.chosen), None)
        if spot is not None:
            painter.setPen(QPen(look().colour("focus" if self.hasFocus() else "mark-lead"), 2.0))
            painter.drawEllipse(QPointF(spot.x, spot.y), _RING, _RING)
        if self.hasFocus():
            painter.setPen(QPen(look().colour("focus"), 1.0))
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
        by_place = sorted(range(len(self._loci)), key=lambda locus: int(self._loci[locus]["index"]))
        at = by_place.index(self.chosen) if self.chosen is not None else -1
        self.chose.emit(by_place[(at + steps[Qt.Key(event.key())]) % len(by_place)])

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()
