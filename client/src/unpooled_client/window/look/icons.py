"""The window's icons: drawn in one colour on a grid of 16, in the colours of the look."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_FOLDER = Path(__file__).with_name("icons")
_SIZES = (16, 24, 32, 48, 64, 128, 256)
_INK = b"currentColor"


def svg(name: str, colour: QColor) -> bytes:
    """The drawing of that name in a colour."""
    return (_FOLDER / f"{name}.svg").read_bytes().replace(_INK, colour.name().encode())


def pixmap(name: str, colour: QColor, side: int, ratio: float = 1.0) -> QPixmap:
    """An icon of `side` pixels; `ratio` of them are one of the screen's."""
    made = QPixmap(QSize(side, side) * ratio)
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    draw(painter, name, colour, QRectF(0, 0, side, side))
    painter.end()
    return made


def draw(painter: QPainter, name: str, colour: QColor, where: QRectF) -> None:
    _renderer(name, colour.name()).render(painter, where)


@cache
def _renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(svg(name, QColor(colour))))


def icon(name: str, colour: QColor, disabled: QColor) -> QIcon:
    """The icon for a button, in the sizes and on the screens there are."""
    made = QIcon()
    for mode, ink in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, disabled)):
        # A button has no larger icon, whatever the zoom.
        for side in _SIZES[:4]:
            made.addPixmap(pixmap(name, ink, side), mode)
    return made


def application_icon() -> QIcon:
    made = QIcon()
    for side in _SIZES:
        made.addPixmap(pixmap("application", QColor("white"), side))
    return made
