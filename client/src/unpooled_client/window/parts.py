"""Small widgets that the pages share. Colours are the system's; sizes follow its font."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QStyle,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from unpooled_client.window import documents
from unpooled_client.window.model import Card, Tone

_ICONS = {
    Tone.GOOD: QStyle.StandardPixmap.SP_DialogApplyButton,
    Tone.WARNING: QStyle.StandardPixmap.SP_MessageBoxWarning,
    Tone.PROBLEM: QStyle.StandardPixmap.SP_MessageBoxCritical,
}
"""Of the system's own icons those that are clear on light and on dark; else the sign itself is drawn."""


def label(text: str = "") -> QLabel:
    """Plain text that wraps."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(True)
    return made


def button(text: str, pressed: Callable[[], None], *, default: bool = False) -> QPushButton:
    """A button; its mnemonic is in its text."""
    made = QPushButton(text)
    made.setAutoDefault(True)
    made.setDefault(default)
    made.clicked.connect(lambda: pressed())
    return made


class Document(QTextBrowser):
    """Text to read: selectable, scrolled by keyboard, in the system's colours. Loads nothing."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setOpenLinks(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.viewport().setAutoFillBackground(False)
        self._shown = ""

    def show_html(self, html: str) -> None:
        """Show this, unless it is there already: a reader keeps the place."""
        if html != self._shown:
            self._shown = html
            self.setHtml(html)


class CardBox(QFrame):
    """The one thing to know now, with its icon; hidden while there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.StyledPanel)
        row = QHBoxLayout(self)
        self._icon, self._text = QLabel(), QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)
        self.shown: Card | None = None
        self.hide()

    def show_card(self, card: Card | None) -> None:
        self.setVisible(card is not None)
        self.shown = card
        if card is None:
            return
        side = QApplication.style().pixelMetric(QStyle.PixelMetric.PM_LargeIconSize)
        if card.tone in _ICONS:
            self._icon.setPixmap(QApplication.style().standardIcon(_ICONS[card.tone]).pixmap(side, side))
        else:
            self._icon.setText(f"<h1>{card.tone.sign}</h1>")
        self._icon.setFixedWidth(side)
        self._icon.setAccessibleName(card.tone.word)
        self._text.setText(documents.card(card))
        self.setAccessibleName(f"{card.tone.word}: {card.title}")

    @property
    def text(self) -> str:
        return self._text.text() if not self.isHidden() else ""


class Page(QWidget):
    """A page at the right: its title, a card if there is something to know, its content, its buttons."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = QLabel(f"<h2>{title}</h2>")
        self.card = CardBox()
        self.body, self.row = QVBoxLayout(), QHBoxLayout()
        self.row.addStretch(1)
        self._buttons: list[QPushButton] = []
        column = QVBoxLayout(self)
        column.addWidget(self.title)
        column.addWidget(self.card)
        column.addLayout(self.body, 1)
        column.addLayout(self.row)

    def focus(self) -> None:
        """Let the keyboard begin at the button for the next step, if it can be pressed."""
        for found in self._buttons:
            if found.isDefault() and found.isEnabled():
                found.setFocus()

    def add_button(self, text: str, pressed: Callable[[], None], *, default: bool = False) -> QPushButton:
        made = button(text, pressed, default=default)
        self.row.addWidget(made)
        self._buttons.append(made)
        return made


class FileChoice(QWidget):
    """A file to choose, or to type."""

    def __init__(self, name: str, pattern: str, changed: Callable[[], None]) -> None:
        """`pattern` is the dialog's filter, such as "Tables (*.csv *.parquet)"."""
        super().__init__()
        self._name, self._pattern = name, pattern
        self.edit = QLineEdit()
        self.edit.setAccessibleName(name)
        self.edit.editingFinished.connect(changed)
        choose = QPushButton("Choose…")
        choose.setAccessibleName(f"Choose: {name}")
        choose.clicked.connect(self._choose)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.edit, 1)
        row.addWidget(choose)
        self._changed = changed
        self.setFocusProxy(self.edit)

    @property
    def path(self) -> str:
        return self.edit.text().strip()

    def set_path(self, path: str) -> None:
        self.edit.setText(path)
        self._changed()

    def _choose(self) -> None:
        start = str(Path(self.path).parent) if self.path else ""
        found, _ = QFileDialog.getOpenFileName(self, self._name, start, f"{self._pattern};;All files (*)")
        if found:
            self.set_path(found)


def save_as(parent: QWidget, title: str, name: str, patterns: str) -> Path | None:
    """Where a person wants something kept, or None."""
    found, _ = QFileDialog.getSaveFileName(parent, title, name, patterns)
    return Path(found) if found else None
