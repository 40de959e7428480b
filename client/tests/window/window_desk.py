"""The window, with a person before it: who presses, types, waits, and looks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

try:
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QColor, QPalette
    from PySide6.QtWidgets import QAbstractButton, QApplication
    from pytestqt.qtbot import QtBot
except ImportError as error:
    if os.environ.get("CI"):
        raise
    pytest.skip(
        f"no Qt: {error}. Get it with: scripts/setup; sudo apt-get install libegl1 libgl1 libxkbcommon0 "
        "libdbus-1-3 libfontconfig1 fonts-dejavu-core",
        allow_module_level=True,
    )

from unpooled_client.state.stage import Stage
from unpooled_client.window.application import Window
from unpooled_client.window.parts import Page
from unpooled_client.window.study_view import StudyView

PICTURES = Path(os.environ.get("UNPOOLED_SCREENSHOTS", Path(__file__).parents[3] / ".cache" / "screenshots"))
SIZE = 900, 600
PATIENCE = 40_000  # milliseconds that a busy machine may take over anything


class Desk:
    """One window. Pressing and typing go through Qt, as a person's do."""

    def __init__(self, bot: QtBot) -> None:
        self.bot = bot
        self.sit_down()

    def sit_down(self) -> None:
        """Open a new window."""
        self.window = Window()
        self.bot.addWidget(self.window)
        self.window.resize(*SIZE)
        self.window.show()
        self.window.activateWindow()

    @property
    def view(self) -> StudyView:
        assert self.window.view is not None
        return self.window.view

    @property
    def page(self) -> Page:
        """The page that is seen."""
        shown = self.window.pages.currentWidget()
        found = shown.pages.currentWidget() if isinstance(shown, StudyView) else shown
        assert isinstance(found, Page)
        return found

    def until(self, holds: Callable[[], bool]) -> None:
        try:
            self.bot.waitUntil(holds, timeout=PATIENCE)
        except Exception as error:
            self.look("stuck")
            raise AssertionError(f"waited in vain; the card says: {self.card}") from error

    def press(self, button: QAbstractButton) -> None:
        """Wait until a button can be pressed, and press it."""
        self.until(lambda: button.isVisible() and button.isEnabled())
        self.bot.mouseClick(button, Qt.MouseButton.LeftButton)

    def type(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press a key where the focus is."""
        self.bot.keyClick(QApplication.focusWidget() or self.window, key, modifier)

    def at(self, step: Stage) -> None:
        """Wait until the window shows this step."""
        self.until(lambda: self.view.pages.currentIndex() == step.number)

    @property
    def card(self) -> str:
        return self.page.card.text

    def reads(self, *texts: str) -> None:
        """Wait until the card says all this."""
        self.until(lambda: all(text in self.card for text in texts))

    def look(self, name: str) -> None:
        """Take pictures of the window as it is, light and dark."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        for scheme, palette in (("dark", dark()), ("light", QApplication.style().standardPalette())):
            QApplication.setPalette(palette)
            for _ in range(3):
                QApplication.processEvents()
            self.window.grab().save(str(PICTURES / f"window-{name}-{scheme}.png"))
        size = self.window.size()
        assert (size.width(), size.height()) == SIZE, f"{name} does not fit: {size}"


def dark() -> QPalette:
    """Colours as a system in dark mode gives them; offscreen there is none to follow."""
    palette = QPalette()
    role = QPalette.ColorRole
    colours = {
        "#2d2d30": [role.Window, role.Button, role.AlternateBase, role.ToolTipBase],
        "#1e1e20": [role.Base],
        "#f0f0f0": [role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.BrightText],
        "#2f6fb0": [role.Highlight],
        "#ffffff": [role.HighlightedText],
        "#a0a0a0": [role.PlaceholderText],
    }
    for colour, roles in colours.items():
        for each in roles:
            palette.setColor(each, QColor(colour))
    for each in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, each, QColor("#808080"))
    return palette
