"""Notifications for a person who does not look at the window: a study has ended, or it waits for them."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from unpooled_client.state.stage import Stage
from unpooled_client.window.model import Tone
from unpooled_client.window.studies import Studies
from unpooled_client.window.where import Where

_SHOWN_FOR = 10_000  # milliseconds


@dataclass(frozen=True)
class News:
    """A message in the corner of the screen."""

    title: str
    text: str
    tone: Tone


def news(study: str, before: Where | None, now: Where) -> News | None:
    """Return news worth calling a person for: the end, or that it is their turn. None at the first look."""
    # The first look is no news: what is shown has been so before the window was opened.
    if before is None or (before.stage, before.tone, before.is_asking) == (
        now.stage,
        now.tone,
        now.is_asking,
    ):
        return None
    if now.stage is Stage.RESULTS:
        return News(study, "The results are here.", Tone.GOOD)
    if now.tone in (Tone.PROBLEM, Tone.WARNING):
        return News(study, f"{now.text}.", now.tone)
    if now.is_asking:
        return News(study, f"You are waited for: {now.text[:1].lower()}{now.text[1:]}.", Tone.NOW)
    return None


class Tray(QObject):
    """Says the news of all studies while nobody looks at the window."""

    def __init__(self, window: QWidget, studies: Studies) -> None:
        super().__init__(window)
        self._window, self._studies = window, studies
        self._before: dict[str, Where] = {}
        self.said: list[News] = []
        self._icon = QSystemTrayIcon(QApplication.windowIcon(), self)
        self._icon.setToolTip(window.windowTitle())
        self._icon.activated.connect(lambda _: self._raise())
        self._icon.messageClicked.connect(self._raise)
        if QSystemTrayIcon.isSystemTrayAvailable():
            self._icon.show()
        studies.looked.connect(self._look)

    def _look(self) -> None:
        for study in self._studies.found:
            key, now = str(study.folder.path), study.where
            found = news(study.title, self._before.get(key), now)
            self._before[key] = now
            if found is not None and not self._window.isActiveWindow():
                self._say(found)

    def _say(self, found: News) -> None:
        self.said.append(found)
        QApplication.alert(self._window)
        kinds = {
            Tone.PROBLEM: QSystemTrayIcon.MessageIcon.Critical,
            Tone.WARNING: QSystemTrayIcon.MessageIcon.Warning,
        }
        kind = kinds.get(found.tone, QSystemTrayIcon.MessageIcon.Information)
        self._icon.showMessage(found.title, found.text, kind, _SHOWN_FOR)

    def _raise(self) -> None:
        self._window.showNormal()
        self._window.raise_()
        self._window.activateWindow()

    def close(self) -> None:
        self._icon.hide()
