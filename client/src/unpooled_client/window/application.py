"""The application: one window, with the studies of this computer, one study, or an invitation."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from unpooled.protocol.invitation import Invitation
from unpooled_client.state.folder import StateFolder, folder_of
from unpooled_client.window.home import HomePage
from unpooled_client.window.invite import InvitePage
from unpooled_client.window.parts import button
from unpooled_client.window.study import Study
from unpooled_client.window.study_view import StudyView

TITLE = "Unpooled"
_SMALLEST = (900, 600)


class Window(QMainWindow):
    """What a person sees. Closing it stops nothing that runs in the background."""

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle(TITLE)
        self.resize(1000, 700)
        self.home = HomePage(self.open_study, self.show_invite)
        self.invite = InvitePage(self.join, self.show_home)
        self.view: StudyView | None = None
        self.pages = QStackedWidget()
        for page in (self.home, self.invite):
            self.pages.addWidget(page)
        self._name = QLabel()
        self._name.setTextFormat(self._name.textFormat().PlainText)
        self._top = QWidget()
        row = QHBoxLayout(self._top)
        row.addWidget(button("← All st&udies", self.show_home))
        row.addWidget(self._name, 1)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._top.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        column.addWidget(self._top)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(inside)
        self._zoom_by_keys()
        self.show_home()

    def open_study(self, folder: StateFolder, invitation: Invitation | None = None) -> None:
        """Show one study, and go on with it."""
        self._leave()
        study = Study(folder, invitation)
        study.refresh()
        self.view = StudyView(study)
        study.changed.connect(self._show_name)
        self.pages.addWidget(self.view)
        self.pages.setCurrentWidget(self.view)
        self._top.show()
        self.view.begin()
        self._show_name()

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
        super().closeEvent(event)

    def _leave(self) -> None:
        if self.view is not None:
            self.view.study.close()
            self.pages.removeWidget(self.view)
            self.view.deleteLater()
            self.view = None

    def _show_name(self) -> None:
        if self.view is not None:
            study = self.view.study
            cohort = study.saved.cohort if study.saved is not None else ""
            self._name.setText(f"{study.title}, as cohort {cohort}" if cohort else study.title)
            self.setWindowTitle(f"{study.title} - {TITLE}")

    def _zoom_by_keys(self) -> None:
        for keys, factor in (
            (QKeySequence.StandardKey.ZoomIn, 1.1),
            (QKeySequence.StandardKey.ZoomOut, 1 / 1.1),
        ):
            QShortcut(keys, self, lambda f=factor: _scale_text(f))


def _scale_text(factor: float) -> None:
    """Make all text larger or smaller."""
    font = QApplication.font()
    font.setPointSizeF(min(max(font.pointSizeF() * factor, 6.0), 40.0))
    QApplication.setFont(font)


def run(folder: Path | None) -> int:
    """Open the window and stay until it is closed; the exit status."""
    application = QApplication(sys.argv[:1])
    application.setApplicationName(TITLE)
    window = Window()
    window.setMinimumSize(*_SMALLEST)
    window.show()
    if folder is not None:
        window.open_study(StateFolder(folder))
    return application.exec()
