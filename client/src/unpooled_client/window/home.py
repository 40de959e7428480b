"""The studies on this computer, and where each of them is."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedWidget, QVBoxLayout, QWidget

from unpooled_client.state.folder import StateFolder
from unpooled_client.window.busy import busy_cursor
from unpooled_client.window.look.icons import pixmap
from unpooled_client.window.look.style import look
from unpooled_client.window.parts import Page, label
from unpooled_client.window.studies import Studies
from unpooled_client.window.tables import Cell, Column, Row, Table, strong

_NONE_YET = (
    "You need an invitation from the coordinator of a study. Your data stay on this computer: what leaves it "
    "is shown to you first, and only you release it."
)


class HomePage(Page):
    """A row for each study, the latest first."""

    def __init__(
        self, studies: Studies, open_study: Callable[[StateFolder], None], join: Callable[[], None]
    ) -> None:
        super().__init__("Studies on this computer")
        self._studies, self._open = studies, open_study
        self._folders: list[StateFolder] = []
        self.table = Table(
            "Studies on this computer", [Column("Study", 4), Column("Cohort", 2), Column("Where it is", 5)]
        )
        self.table.activated.connect(lambda _: self._open_chosen())
        self.empty = _Empty()
        self.several = label("Several studies are on this computer. Choose one, and open it.", "muted")
        self._either = QStackedWidget()
        for widget in (self.empty, self.table):
            self._either.addWidget(widget)
        self.body.addWidget(self.several)
        self.body.addWidget(self._either, 1)
        self.join_button = self.add_button("&Join a study…", join, icon="add")
        self.open_button = self.add_button("&Open", self._open_chosen, default=True)
        studies.looked.connect(self._show)

    def refresh(self) -> None:
        """Read again which studies there are, and begin at the latest."""
        with busy_cursor():
            self._studies.look()
        self.table.choose(0)
        (self.table if self._folders else self.join_button).setFocus()

    def _show(self) -> None:
        found = self._studies.found
        self._folders = [study.folder for study in found]
        rows: list[Row] = []
        for study in found:
            where, cohort = study.where, study.saved.cohort if study.saved is not None else ""
            rows.append([strong(study.title), cohort, Cell(where.text, tone=where.tone)])
        self.table.put(rows)
        some = bool(rows)
        self._either.setCurrentWidget(self.table if some else self.empty)
        self.several.setVisible(len(rows) > 1)
        self.open_button.setVisible(some)
        self.join_button.setDefault(not some)
        self.join_button.set_kind("" if some else "primary")

    def _open_chosen(self) -> None:
        if (row := self.table.chosen) is not None:
            self._open(self._folders[row])


class _Empty(QWidget):
    """Guidance for a person who has not joined a study yet."""

    def __init__(self) -> None:
        super().__init__()
        self._sign = QLabel()
        head, self._words = (
            label("No study was joined on this computer yet", "heading"),
            label(_NONE_YET, "muted"),
        )
        head.setWordWrap(False)
        column = QVBoxLayout(self)
        column.addStretch(2)
        for widget in (self._sign, head, self._words):
            widget.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)
        look().changed.connect(self._draw)
        self._draw()

    def _draw(self) -> None:
        self._sign.setPixmap(pixmap("application", look().colour("accent"), look().pixels("7"), 2.0))
        # A text that stands in the middle is not asked how high it is at its width.
        wide = 26 * self.fontMetrics().height()
        self._words.setFixedSize(wide, self._words.heightForWidth(wide))
