"""The look of the application: palette, style sheet and face, light or dark as the system is."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import cast

from PySide6.QtCore import QDir, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication

from unpooled_client.window.look import tokens
from unpooled_client.window.look.icons import application_icon, svg

FACE = "Inter"
_HERE = Path(__file__).parent
_NAME = re.compile(r"@([a-z0-9-]+)")
_SMALLEST, _LARGEST = 9, 40
"""Pixels of text, however a person zooms."""
_DRAWN = {"down": "muted", "up": "muted", "right": "muted", "tick": "on-accent"}
"""Icons that the style sheet names, each with its colour."""
_PALETTE = {
    QPalette.ColorRole.Window: "page",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.Base: "surface",
    QPalette.ColorRole.AlternateBase: "sunken",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.PlaceholderText: "muted",
    QPalette.ColorRole.Button: "surface",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.BrightText: "bad",
    QPalette.ColorRole.Highlight: "accent",
    QPalette.ColorRole.HighlightedText: "on-accent",
    QPalette.ColorRole.Accent: "accent",
    QPalette.ColorRole.Link: "accent",
    QPalette.ColorRole.ToolTipBase: "surface",
    QPalette.ColorRole.ToolTipText: "text",
    QPalette.ColorRole.Mid: "line",
    QPalette.ColorRole.Dark: "line-strong",
}


class Look(QObject):
    """Current look of the application. `changed`: what is drawn by hand must be drawn again."""

    changed = Signal()

    def __init__(self) -> None:
        application = cast(QApplication, QApplication.instance())
        super().__init__(application)
        self._application = application
        self._system = QFontInfo(application.font()).pixelSize()
        self._zoom = 1.0
        self._folder = tempfile.TemporaryDirectory(prefix="unpooled-")
        self.is_dark = False
        application.setStyle("Fusion")
        application.setWindowIcon(application_icon())
        for file in sorted((_HERE / "fonts").glob("*.ttf")):
            QFontDatabase.addApplicationFont(str(file))
        hints = application.styleHints()
        hints.colorSchemeChanged.connect(self.follow)
        self.follow(hints.colorScheme())

    def follow(self, scheme: Qt.ColorScheme) -> None:
        """Be dark where the system is, and else light."""
        self.is_dark = scheme == Qt.ColorScheme.Dark
        self._apply()

    def zoom(self, factor: float) -> None:
        """Make all text larger or smaller."""
        self._zoom *= factor
        self._zoom = min(max(self._zoom, _SMALLEST / self._system), _LARGEST / self._system)
        self._apply()

    def colour(self, token: str) -> QColor:
        return QColor(tokens.colours(dark=self.is_dark)[token])

    def pixels(self, token: str) -> int:
        """A size or a distance. Text follows the system's, and all else follows text."""
        sizes = tokens.sizes()
        return max(1, round(sizes[token] / sizes["body"] * self._body))

    @property
    def _body(self) -> float:
        return self._system * 1.08 * self._zoom  # Inter runs smaller than what systems bring

    def _apply(self) -> None:
        self._application.setPalette(self._palette())
        font = QFont(FACE)
        font.setPixelSize(self.pixels("body"))
        font.setFeature(QFont.Tag("tnum"), 1)  # figures stand below one another
        self._application.setFont(font)
        self._draw_icons()
        self._application.setStyleSheet(self._sheet())
        self.changed.emit()

    def _palette(self) -> QPalette:
        palette = QPalette()
        for role, token in _PALETTE.items():
            palette.setColor(role, self.colour(token))
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, self.colour("line-strong"))
        return palette

    def _draw_icons(self) -> None:
        """A style sheet shows only icons that lie in files, and shows what it has read once."""
        folder = Path(self._folder.name) / self._scheme
        folder.mkdir(exist_ok=True)
        for name, token in _DRAWN.items():
            (folder / f"{name}.svg").write_bytes(svg(name, self.colour(token)))
        QDir.setSearchPaths("look", [self._folder.name])

    @property
    def _scheme(self) -> str:
        return "dark" if self.is_dark else "light"

    def _sheet(self) -> str:
        values = tokens.colours(dark=self.is_dark) | {"scheme": self._scheme}
        values |= {name: f"{self.pixels(name)}px" for name in tokens.sizes()}
        # A thicker border takes its room from the padding, at every zoom, so that no letter is cut.
        values |= {f"within-{name}": f"{max(0, self.pixels(name) - 1)}px" for name in ("1", "4")}
        rules = (_HERE / "style.qss").read_text("utf-8")
        return _NAME.sub(lambda found: values[found[1]], rules)


_look: Look | None = None


def look() -> Look:
    """The look of this application, put on when it is first asked for."""
    global _look
    if _look is None:
        _look = Look()
    return _look
