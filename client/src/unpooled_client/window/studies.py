"""All studies of this computer, looked at again and again: their states, and what is news about them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from unpooled_client.state.folder import known_folders
from unpooled_client.window.study import Study

EVERY = 2000
"""Milliseconds between two looks at all studies."""


class Studies(QObject):
    """`looked` is emitted after each look, when `found` is up to date."""

    looked = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._known: dict[Path, Study] = {}
        self.found: list[Study] = []
        """Studies that were joined, the latest first."""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.look)
        self._timer.start(EVERY)

    def look(self) -> None:
        folders = {folder.path: folder for folder in known_folders()}
        for path in self._known.keys() - folders.keys():
            self._known.pop(path).deleteLater()
        for path, folder in folders.items():
            if path not in self._known:
                self._known[path] = Study(folder)
            self._known[path].refresh()
        self.found = [self._known[path] for path in folders if self._known[path].saved is not None]
        self.looked.emit()

    def close(self) -> None:
        self._timer.stop()
