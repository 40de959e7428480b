"""The window, with a person before it: who presses, types, waits, and looks."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from client_trials import Member

try:
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QPixmap
    from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QTabBar, QWidget
    from pytestqt.qtbot import QtBot
except ImportError as error:
    if os.environ.get("CI"):
        raise
    pytest.skip(
        f"no Qt: {error}. Get it with: scripts/setup; sudo apt-get install libegl1 libgl1 libxkbcommon0 "
        "libdbus-1-3 libfontconfig1 fonts-dejavu-core",
        allow_module_level=True,
    )

from tests.patience import PATIENCE
from unpooled_client.state.stage import Stage
from unpooled_client.window.application import Window
from unpooled_client.window.look import style
from unpooled_client.window.parts import Page
from unpooled_client.window.study_view import StudyView
from unpooled_client.window.tables import Table

PICTURES = None if os.environ.get("CI") else Path(__file__).parents[2] / ".cache" / "screenshots"
"""Folder of pictures of the window for people to look at; None in CI, as writing takes longer than drawing.
"""
SIZE = 900, 600
OPTION, MNEMONIC = re.compile(r"(?<![\w-])--[a-z0-9]"), re.compile(r"&(\w)")
MILLISECONDS = round(1000 * PATIENCE)


def keep(picture: QPixmap, name: str) -> None:
    if PICTURES:
        PICTURES.mkdir(parents=True, exist_ok=True)
        picture.save(str(PICTURES / f"window-{name}.png"))


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
            self.bot.waitUntil(holds, timeout=MILLISECONDS)
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

    def agree(self, member: Member) -> None:
        """Join as the person did who pasted the invitation, and accept plan and roster."""
        self.window.join(member.invitation)
        self.press(self.view.join.accept_button)
        self.at(Stage.DATA)

    def check_and_start(self) -> None:
        """Go from chosen files to the run, and answer everything that is asked with yes."""
        self.press(self.view.data.check_button)
        self.press(self.view.check.next_button)
        self.press(self.view.review.release_button)
        self.press(self.view.run.start_button)

    @property
    def card(self) -> str:
        return self.page.card.text

    def reads(self, *texts: str) -> None:
        """Wait until the card says all this."""
        self.until(lambda: all(text in self.card for text in texts))

    def look(self, name: str) -> None:
        """Take pictures of the window as it is, light and dark, on a usual screen and on a fine one.

        Without anybody to look it turns once, from how it was: most of the time goes into turning.
        """
        dark, light = Qt.ColorScheme.Dark, Qt.ColorScheme.Light
        for scheme in (dark, light) if PICTURES else (light if style.look().is_dark else dark,):
            self.system_is(scheme)
            for ratio in (1, 2):
                picture = QPixmap(self.window.size() * ratio)
                picture.setDevicePixelRatio(ratio)
                self.window.render(picture)
                keep(picture, f"{name}-{scheme.name.lower()}-{ratio}x")
        self.is_well_worded()
        size = self.window.size()
        assert (size.width(), size.height()) == SIZE, f"{name} does not fit: {size}"

    def is_well_worded(self) -> None:
        """Assert that no sentence names an option of the command line, and each mnemonic stands once."""
        seen = [widget for widget in self.window.findChildren(QWidget) if widget.isVisible()]
        sentences = [
            each.text() for each in seen if isinstance(each, QLabel | QAbstractButton) and not _is_small(each)
        ]
        for table in (each for each in seen if isinstance(each, Table)):
            cells = itertools.product(range(table.count), range(table.model().columnCount()))
            sentences += [table.model().index(*cell).data() for cell in cells]
        named = [text for text in sentences if OPTION.search(text)]
        assert not named, named
        labels = [each.text() for each in seen if isinstance(each, QAbstractButton)]
        labels += [each.text() for each in seen if isinstance(each, QLabel) and each.buddy() is not None]
        bars = [each for each in seen if isinstance(each, QTabBar)]
        labels += [bar.tabText(k) for bar in bars for k in range(bar.count()) if bar.isTabVisible(k)]
        letters = [found[1].lower() for text in labels if (found := MNEMONIC.search(text))]
        assert len(letters) == len(set(letters)), f"a mnemonic stands twice: {sorted(labels)}"

    def system_is(self, scheme: Qt.ColorScheme) -> None:
        """The system turns light or dark, as its signal says; offscreen there is none that would."""
        QApplication.styleHints().colorSchemeChanged.emit(scheme)
        for _ in range(3):
            QApplication.processEvents()


def _is_small(widget: QWidget) -> bool:
    """Tell whether it is what may stand small next to a field: the option that says the same."""
    return bool(widget.property("kind") == "small")
