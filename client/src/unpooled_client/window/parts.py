"""Small widgets that the pages share. Colours, sizes and icons are those of the look."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6 import QtWidgets
from PySide6.QtCore import QSize, Qt, QTimer

from unpooled_client.window import documents
from unpooled_client.window.busy import Spinner
from unpooled_client.window.look.icons import icon, pixmap
from unpooled_client.window.look.style import look
from unpooled_client.window.model import Bar, Card, Tone

ICONS = {
    Tone.GOOD: ("done", "good"),
    Tone.NOW: ("run", "accent"),
    Tone.WAITING: ("waiting", "muted"),
    Tone.WARNING: ("alert", "warning"),
    Tone.PROBLEM: ("cross", "bad"),
    Tone.LATER: ("later", "muted"),
}
"""The sign of each tone, and its colour. Each shape differs from the others without its colour."""

_TONES = {Tone.GOOD: "good", Tone.NOW: "info", Tone.WARNING: "warning", Tone.PROBLEM: "bad"}
_INKS = {"primary": "on-accent", "danger": "bad", "quiet": "accent"}
_ICON = "4"
"""Size of large icons, as a token."""


def label(text: str = "", kind: str = "") -> QtWidgets.QLabel:
    """Plain text that wraps; `kind` is one that the style sheet knows."""
    made = QtWidgets.QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(True)
    made.setProperty("kind", kind)
    return made


class Button(QtWidgets.QPushButton):
    """A button of one of the kinds that the style sheet knows; its mnemonic is in its text."""

    def __init__(
        self, text: str, pressed: Callable[[], None], *, kind: str = "", icon: str = "", default: bool = False
    ) -> None:
        super().__init__(text)
        self.setProperty("kind", kind)
        self.setAutoDefault(True)
        self.setDefault(default)
        self.clicked.connect(lambda: pressed())
        self._icon, self.ink = icon, _INKS.get(kind, "text")
        if icon:
            look().changed.connect(self._draw)
            self._draw()

    def set_icon(self, icon: str) -> None:
        self._icon = icon
        self._draw()

    def set_kind(self, kind: str) -> None:
        if kind != self.property("kind"):
            self.setProperty("kind", kind)
            self.style().polish(self)
            self.ink = _INKS.get(kind, "text")
            if self._icon:
                self._draw()

    def _draw(self) -> None:
        side = look().pixels(_ICON)
        self.setIconSize(QSize(side, side))
        self.setIcon(icon(self._icon, look().colour(self.ink), look().colour("line-strong")))


class Document(QtWidgets.QTextBrowser):
    """Text to read: selectable, scrolled by keyboard. Loads nothing."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setOpenLinks(False)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        self._shown = ""
        look().changed.connect(self._again)

    def grow(self) -> None:
        """Be as high as the text is, in a page that scrolls."""
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.document().documentLayout().documentSizeChanged.connect(
            lambda size: self.setFixedHeight(math.ceil(size.height()) + 4)
        )

    def show_html(self, html: str) -> None:
        """Show this, unless it is there already: a reader keeps the place."""
        if html != self._shown:
            self._shown = html
            self._again()

    def _again(self) -> None:
        muted, small = look().colour("muted").name(), look().pixels("small")
        self.document().setDefaultStyleSheet(
            f"h3 {{ font-size: {look().pixels('large')}px; font-weight: 600; }}"
            f"b, th {{ font-weight: 600; }} .muted {{ color: {muted}; }}"
            f".small {{ color: {muted}; font-size: {small}px; }}"
        )
        self.setHtml(self._shown)


class Facts(QtWidgets.QWidget):
    """Names at the left, what they are at the right."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._grid = QtWidgets.QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(look().pixels("5"))
        self._grid.setVerticalSpacing(look().pixels("1"))
        self._grid.setColumnStretch(1, 1)
        self._shown: list[tuple[str, str]] = []

    def put(self, rows: Iterable[tuple[str, str]]) -> None:
        """Show these, unless they are there already."""
        if (wanted := list(rows)) == self._shown:
            return
        self._shown = wanted
        while (item := self._grid.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.deleteLater()
        for row, (name, value) in enumerate(wanted):
            caption, words = label(name, "muted"), label(value)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            words.setAccessibleName(f"{name}: {value}")
            self._grid.addWidget(caption, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(words, row, 1)
        self._narrow()

    def _narrow(self) -> None:
        """Names take as much room as the longest needs, and not more than a third."""
        wide = max((self.fontMetrics().horizontalAdvance(name) for name, _ in self._shown), default=0)
        self._grid.setColumnMinimumWidth(0, min(wide + 2, 16 * self.fontMetrics().height()))

    @property
    def text(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._shown)


class CardBox(QtWidgets.QFrame):
    """The one thing to know now, with its icon; hidden while there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self._icon, self._text, self._spinner = QtWidgets.QLabel(), QtWidgets.QLabel(), Spinner()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(
            QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Preferred
        )
        row = QtWidgets.QHBoxLayout(self)
        row.setContentsMargins(*(look().pixels(side) for side in ("4", "3", "4", "3")))
        row.setSpacing(look().pixels("3"))
        for sign in (self._icon, self._spinner):
            row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)
        self.shown: Card | None = None
        look().changed.connect(self._again)
        self.hide()

    def show_card(self, card: Card | None) -> None:
        self.setVisible(card is not None)
        self.shown = card
        if card is None:
            return
        name, colour = ICONS[card.tone]
        side = look().pixels(_ICON) + 2
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(name, look().colour(colour), side, max(ratio, 2.0)))
        self._icon.setVisible(not card.busy)
        self._spinner.setVisible(card.busy)
        self._icon.setAccessibleName(card.tone.word)
        self._text.setText(documents.card(card, muted=look().colour("muted").name()))
        self.setAccessibleName(f"{card.tone.word}: {card.title}")
        self.setProperty("tone", _TONES.get(card.tone, ""))
        self.style().polish(self)

    def _again(self) -> None:
        self.show_card(self.shown)

    @property
    def text(self) -> str:
        return self._text.text() if not self.isHidden() else ""


class Page(QtWidgets.QWidget):
    """A page at the right: its title, a card if there is something to know, its content, its buttons."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = label(title, "title")
        self.card = CardBox()
        self.body, self._left, self.row = (
            QtWidgets.QVBoxLayout(),
            QtWidgets.QHBoxLayout(),
            QtWidgets.QHBoxLayout(),
        )
        self.body.setSpacing(look().pixels("3"))
        foot = QtWidgets.QHBoxLayout()
        foot.addLayout(self._left)
        foot.addStretch(1)
        foot.addLayout(self.row)
        for part in (self._left, self.row):
            part.setSpacing(look().pixels("2"))
        self._buttons: list[Button] = []
        self.column = column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(*(look().pixels(side) for side in ("5", "4", "5", "4")))
        column.setSpacing(look().pixels("4"))
        column.addWidget(self.title)
        column.addWidget(self.card)
        column.addLayout(self.body, 1)
        column.addLayout(foot)

    def focus(self) -> None:
        """Let the keyboard begin at the button for the next step, if it can be pressed."""
        for found in self._buttons:
            if found.isDefault() and found.isEnabled():
                found.setFocus()

    def add_button(
        self, text: str, pressed: Callable[[], None], *, kind: str = "", icon: str = "", default: bool = False
    ) -> Button:
        """A button for the next step, or back, at the right; the primary one is added last."""
        made = Button(text, pressed, kind="primary" if default else kind, icon=icon, default=default)
        self.row.addWidget(made)
        self._buttons.append(made)
        return made

    def add_tool(self, text: str, pressed: Callable[[], None], *, icon: str) -> Button:
        """A button at the left for what is no step: to keep something, or to look at it."""
        made = Button(text, pressed, icon=icon)
        self._left.addWidget(made)
        self._buttons.append(made)
        return made


class FileChoice(QtWidgets.QWidget):
    """A file to choose, or to type."""

    def __init__(self, name: str, pattern: str, changed: Callable[[], None]) -> None:
        """`pattern` is the dialog's filter, such as "Tables (*.csv *.parquet)"."""
        super().__init__()
        self._name, self._pattern = name, pattern
        self.edit = QtWidgets.QLineEdit()
        self.edit.setAccessibleName(name)
        self.edit.editingFinished.connect(changed)
        self.button = Button("Choose…", self._choose, icon="folder")
        self.button.setAccessibleName(f"Choose: {name}")
        row = QtWidgets.QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.edit, 1)
        row.addWidget(self.button)
        self._changed = changed
        self.setFocusProxy(self.edit)

    @property
    def path(self) -> str:
        return self.edit.text().strip()

    def set_path(self, path: str) -> None:
        self.edit.setText(path)
        self._changed()

    def _choose(self) -> None:
        if found := self._asked():
            self.set_path(found)

    def _asked(self) -> str:
        """The path that the person chooses in the dialog; empty if none."""
        start = str(Path(self.path).parent) if self.path else ""
        return QtWidgets.QFileDialog.getOpenFileName(
            self, self._name, start, f"{self._pattern};;All files (*)"
        )[0]


class FolderChoice(FileChoice):
    """A folder to choose, or to type."""

    def __init__(self, name: str, changed: Callable[[], None]) -> None:
        super().__init__(name, "", changed)

    def _asked(self) -> str:
        return QtWidgets.QFileDialog.getExistingDirectory(self, self._name, self.path)


def stacked(*widgets: QtWidgets.QWidget, buttons: Iterable[Button] = ()) -> QtWidgets.QWidget:
    """Widgets below one another in a tab, tables as high as there is room, and buttons below."""
    inside = QtWidgets.QWidget()
    column = QtWidgets.QVBoxLayout(inside)
    column.setContentsMargins(0, look().pixels("3"), 0, 0)
    column.setSpacing(look().pixels("3"))
    for widget in widgets:
        column.addWidget(widget, int(isinstance(widget, QtWidgets.QAbstractItemView)))
    if not any(isinstance(widget, QtWidgets.QAbstractItemView) for widget in widgets):
        column.addStretch(0)
    row = QtWidgets.QHBoxLayout()
    for button in buttons:
        row.addWidget(button)
    if row.count():
        row.addStretch(1)
        column.addLayout(row)
    return inside


def panel(inside: QtWidgets.QWidget) -> QtWidgets.QFrame:
    """A frame on the page's surface."""
    frame = QtWidgets.QFrame()
    frame.setObjectName("panel")
    column = QtWidgets.QVBoxLayout(frame)
    column.setContentsMargins(*(look().pixels(side) for side in ("4", "3", "4", "3")))
    column.addWidget(inside)
    return frame


class Scrolled(QtWidgets.QScrollArea):
    """Widgets below one another, as high as they want to be, in a page that scrolls."""

    def __init__(self, *widgets: QtWidgets.QWidget) -> None:
        super().__init__()
        self.inside = QtWidgets.QWidget()
        self.inside.setObjectName("inside")
        self._column = QtWidgets.QVBoxLayout(self.inside)
        self._column.setContentsMargins(*(look().pixels(side) for side in ("2", "1", "3", "1")))
        self._column.setSpacing(look().pixels("2"))
        self._column.addStretch(1)
        for widget in widgets:
            self.add(widget)
        self.setWidgetResizable(True)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(self.inside)

    def add(self, widget: QtWidgets.QWidget) -> None:
        self._column.insertWidget(self._column.count() - 1, widget)


class _StepBar(QtWidgets.QWidget):
    """A step's name, how much of it is done, and a bar below both."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self._title, self._note = label(kind="strong"), label(kind="muted")
        self._bar = QtWidgets.QProgressBar()
        self._bar.setAccessibleName(step)
        self._bar.setTextVisible(False)
        # A bar counts in thousandths: there may be more variants than its numbers reach.
        self._bar.setRange(0, 1000)
        grid = QtWidgets.QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(look().pixels("1"))
        grid.setColumnStretch(0, 1)
        grid.addWidget(self._title, 0, 0)
        grid.addWidget(self._note, 0, 1)
        grid.addWidget(self._bar, 1, 0, 1, 2)
        self._note.setWordWrap(False)

    def put(self, bar: Bar) -> None:
        self._title.setText(bar.title)
        self._note.setText(bar.note)
        whole = bar.total is None or bar.done >= bar.total
        self._bar.setValue(1000 if whole else 1000 * bar.done // max(bar.total or 1, 1))
        self._bar.setAccessibleDescription(bar.note)


class Bars(Scrolled):
    """A bar for each step, hidden while there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.bars: dict[str, _StepBar] = {}
        self.hide()

    def put(self, bar: Bar) -> None:
        """Show how far a step is, below the others if it is new."""
        if bar.step not in self.bars:
            self.bars[bar.step] = _StepBar(bar.step)
            self._append(self.bars[bar.step])
        self.bars[bar.step].put(bar)

    def _append(self, bar: _StepBar) -> None:
        self.add(bar)
        bar.show()  # else the layout counts it as hidden
        self.show()
        # A limit, not a fixed height: a page that needs more than the window has would make the window grow.
        self.setMaximumHeight(min(self.inside.sizeHint().height(), 6 * look().pixels("7")))
        self.updateGeometry()
        QTimer.singleShot(0, self, lambda: self.ensureWidgetVisible(bar))

    def sizeHint(self) -> QSize:
        """Return the size of all bars: Qt remembers that of the first."""
        return QSize(super().sizeHint().width(), self.inside.sizeHint().height())

    def clear(self) -> None:
        """Take all bars away."""
        for bar in self.bars.values():
            bar.hide()
            bar.deleteLater()
        self.bars = {}
        self.hide()


def save_as(parent: QtWidgets.QWidget, title: str, name: str, patterns: str) -> Path | None:
    """Ask the person for a path to save to; None if they choose none."""
    found, _ = QtWidgets.QFileDialog.getSaveFileName(parent, title, name, patterns)
    return Path(found) if found else None
