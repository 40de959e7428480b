"""A sign that something is under way, where it takes longer than a person takes for at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from PySide6.QtCore import QObject, QRectF, QRunnable, QSize, Qt, QThreadPool, QTimer, Signal
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QStyle, QWidget

from unpooled_client.window.look.style import look

SOON = 300
"""Milliseconds after which a person would ask what is going on."""

_TURN = 40  # milliseconds between two pictures
_STEP = 24  # degrees


class Spinner(QWidget):
    """An arc that goes round; it stands still where the system asks for no animation."""

    def __init__(self) -> None:
        super().__init__()
        self._angle = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._turn)
        self.setAccessibleName("Busy")

    def sizeHint(self) -> QSize:
        side = look().pixels("4")
        return QSize(side, side)

    def showEvent(self, event: QShowEvent) -> None:
        if self.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, self):
            self._timer.start(_TURN)

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()

    def _turn(self) -> None:
        self._angle = (self._angle - _STEP) % 360
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        side = min(self.width(), self.height())
        thick = max(2.0, side / 8)
        box = QRectF(0, 0, side - thick, side - thick)
        box.moveCenter(QRectF(self.rect()).center())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for colour, start, span in (("line", 0, 360), ("accent", self._angle, 100)):
            painter.setPen(QPen(look().colour(colour), thick, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawArc(box, start * 16, span * 16)


class BusySign(QWidget):
    """The arc with words beside it; shown only once it has taken `SOON`."""

    def __init__(self) -> None:
        super().__init__()
        self._words = QLabel()
        self._words.setProperty("kind", "muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(Spinner())
        row.addWidget(self._words)
        self._timer = QTimer(self, singleShot=True, interval=SOON)
        self._timer.timeout.connect(self.show)
        self.hide()

    def say(self, words: str) -> None:
        """Show what is under way; hide if `words` is empty."""
        self._words.setText(words)
        self.setAccessibleName(words)
        if not words:
            self._timer.stop()
            self.hide()
        elif not self._timer.isActive() and self.isHidden():
            self._timer.start()

    @property
    def words(self) -> str:
        return self._words.text() if not self.isHidden() else ""


@contextmanager
def busy_cursor() -> Iterator[None]:
    """While the window itself is at work, the pointer says so."""
    QApplication.setOverrideCursor(Qt.CursorShape.BusyCursor)
    try:
        yield
    finally:
        QApplication.restoreOverrideCursor()


class _Receiver(QObject):
    """Lives in the window's thread, and so hears there what was done in another."""

    came = Signal(object)

    def __init__(self, ended: Callable[[Any], None]) -> None:
        super().__init__()
        self._ended = ended
        self.came.connect(self._hear)
        _awaited.add(self)

    def _hear(self, found: Any) -> None:
        _awaited.discard(self)
        self._ended(found)


_awaited: set[_Receiver] = set()
"""Objects that are kept alive while they are waited for, as nothing else holds them."""


class _Work(QRunnable):
    def __init__(self, work: Callable[[], Any], receiver: _Receiver) -> None:
        super().__init__()
        self._work, self._receiver = work, receiver

    def run(self) -> None:
        try:
            found: Any = self._work()
        except Exception as error:  # handed to who asked, in the window's thread
            found = error
        self._receiver.came.emit(found)


def aside(work: Callable[[], Any], ended: Callable[[Any], None]) -> None:
    """Do something that only waits while the window goes on; `ended` hears what it gave, or its exception."""
    QThreadPool.globalInstance().start(_Work(work, _Receiver(ended)))
