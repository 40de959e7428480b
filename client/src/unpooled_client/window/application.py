"""The application: one window, with the studies of this computer, one study, or an invitation."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6 import QtWidgets
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut

from unpooled.protocol.invitation import Invitation
from unpooled_client.state.folder import StateFolder, folder_of
from unpooled_client.state.stage import Stage
from unpooled_client.window.busy import BusySign, busy_cursor
from unpooled_client.window.home import HomePage
from unpooled_client.window.invite import InvitePage
from unpooled_client.window.look.style import look
from unpooled_client.window.news import Tray
from unpooled_client.window.parts import Button, label
from unpooled_client.window.studies import Studies
from unpooled_client.window.study import Study
from unpooled_client.window.study_view import StudyView

TITLE = "Unpooled"
_SMALLEST = (900, 600)
_FIRST = (1100, 760)


class Window(QtWidgets.QMainWindow):
    """Main window. Closing it stops nothing that runs in the background."""

    def __init__(self) -> None:
        look()
        super().__init__()
        self.setWindowTitle(TITLE)
        self.resize(*_FIRST)
        self.studies = Studies(self)
        self.home = HomePage(self.studies, self.open_study, self.show_invite)
        self.invite = InvitePage(self.join, self.show_home)
        self.view: StudyView | None = None
        self.tray = Tray(self, self.studies)
        self.pages = QtWidgets.QStackedWidget()
        for page in (self.home, self.invite):
            self.pages.addWidget(page)
        self._make_top()
        inside = QtWidgets.QWidget()
        column = QtWidgets.QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._top)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(inside)
        self._make_shortcuts()
        self.show_home()

    def _make_top(self) -> None:
        """The line above a study: back, its name, and what is under way."""
        self._name, self._cohort, self.busy = label(kind="strong"), label(kind="muted"), BusySign()
        self._top = QtWidgets.QFrame()
        self._top.setObjectName("top")
        self._top.setSizePolicy(QtWidgets.QSizePolicy.Policy.Preferred, QtWidgets.QSizePolicy.Policy.Maximum)
        row = QtWidgets.QHBoxLayout(self._top)
        row.setContentsMargins(*(look().pixels(side) for side in ("3", "2", "4", "2")))
        row.setSpacing(look().pixels("3"))
        row.addWidget(Button("All st&udies", self.show_home, kind="quiet", icon="back"))
        for words in (self._name, self._cohort):
            words.setWordWrap(False)
            row.addWidget(words)
        row.addStretch(1)
        row.addWidget(self.busy)

    def open_study(self, folder: StateFolder, invitation: Invitation | None = None) -> None:
        """Show one study, and go on with it."""
        self._leave()
        with busy_cursor():
            study = Study(folder, invitation)
            study.refresh()
            self.view = StudyView(study, self.go_on_in)
            study.changed.connect(self._show_name)
            study.busy.connect(self.busy.say)
            self.pages.addWidget(self.view)
            self.pages.setCurrentWidget(self.view)
            self._top.show()
            self.view.begin()
            self._show_name()

    def go_on_in(self, folder: StateFolder) -> None:
        """Show the study that repeats the one before, and run it if nothing is left to be decided."""
        self.open_study(folder)
        if self.view is not None and self.view.study.stage is Stage.RUN and not self.view.study.is_alive:
            self.view.run.start()

    def join(self, invitation: Invitation) -> None:
        """Join the study of an invitation, or go on with it if it was joined before."""
        self.invite.clear()
        self.open_study(folder_of(invitation), invitation)

    def show_invite(self) -> None:
        self.pages.setCurrentWidget(self.invite)
        self.invite.clear()

    def show_home(self) -> None:
        self._leave()
        self._top.hide()
        self.setWindowTitle(TITLE)
        self.pages.setCurrentWidget(self.home)
        self.home.refresh()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._leave()
        self.studies.close()
        self.tray.close()
        super().closeEvent(event)

    def _leave(self) -> None:
        if self.view is not None:
            # Before the page goes: its children end here, and tell a page that is gone nothing.
            self.view.study.close()
            self.pages.removeWidget(self.view)
            self.view.deleteLater()
            self.view = None
            self.busy.say("")

    def _show_name(self) -> None:
        if self.view is not None:
            study = self.view.study
            cohort = study.saved.cohort if study.saved is not None else ""
            self._name.setText(study.title)
            self._cohort.setText(f"as cohort {cohort}" if cohort else "")
            self.setWindowTitle(f"{study.title} - {TITLE}")

    def _make_shortcuts(self) -> None:
        standard = QKeySequence.StandardKey
        for keys, factor in ((standard.ZoomIn, 1.1), (standard.ZoomOut, 1 / 1.1)):
            QShortcut(keys, self, lambda f=factor: look().zoom(f))
        QShortcut(QKeySequence("Ctrl+="), self, lambda: look().zoom(1.1))
        QShortcut(QKeySequence("Ctrl+N"), self, self.show_invite_from_home)
        QShortcut(QKeySequence("Alt+Left"), self, self._back)
        QShortcut(QKeySequence("Ctrl+Q"), self, self.close)
        for number in range(1, 7):
            QShortcut(QKeySequence(f"Ctrl+{number}"), self, lambda n=number: self._go_to(n - 1))

    def show_invite_from_home(self) -> None:
        """Join another study, wherever the person is."""
        self.show_home()
        self.show_invite()

    def _back(self) -> None:
        if self.pages.currentWidget() is not self.home:
            self.show_home()

    def _go_to(self, stage: int) -> None:
        if self.view is not None:
            self.view.show_if_open(stage)


def run(folder: Path | None) -> int:
    """Open the window and stay until it is closed; the exit status."""
    application = QtWidgets.QApplication(sys.argv[:1])
    application.setApplicationName(TITLE)
    application.setDesktopFileName("unpooled-window")
    window = Window()
    window.setMinimumSize(*_SMALLEST)
    window.show()
    if folder is not None:
        window.open_study(StateFolder(folder))
    return application.exec()
