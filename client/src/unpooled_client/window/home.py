"""The studies on this computer, and where each of them is."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem

from unpooled_client.state.folder import StateFolder, known_folders
from unpooled_client.window.parts import Page, label
from unpooled_client.window.study import Study

_FOLDER = Qt.ItemDataRole.UserRole


class HomePage(Page):
    """A row for each study, the latest first."""

    def __init__(self, open_study: Callable[[StateFolder], None], join: Callable[[], None]) -> None:
        super().__init__("Studies on this computer")
        self._open = open_study
        self.empty = label(
            "No study was joined on this computer yet. You need an invitation from the coordinator of a "
            "study. Your data stay on this computer: what leaves it is shown to you first, and only you "
            "release it."
        )
        self.list = QTreeWidget()
        self.list.setHeaderLabels(["Study", "Cohort", "Where it is"])
        self.list.setRootIsDecorated(False)
        self.list.setAccessibleName("Studies on this computer")
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.list.itemActivated.connect(self._activate)
        self.list.itemSelectionChanged.connect(self._allow)
        self.body.addWidget(self.empty)
        self.body.addWidget(self.list, 1)
        self.body.addStretch(0)
        self.join_button = self.add_button("&Join a study…", join)
        self.open_button = self.add_button("&Open", self._open_selected, default=True)

    def refresh(self) -> None:
        """Read again which studies there are."""
        self.list.clear()
        items = []
        for folder in known_folders():
            study = Study(folder)
            study.refresh()
            if study.saved is None:
                continue
            found = study.where
            item = QTreeWidgetItem([study.title, study.saved.cohort, f"{found.tone.sign}  {found.text}"])
            item.setToolTip(0, str(folder.path))
            item.setData(0, _FOLDER, folder)
            items.append(item)
        self.list.addTopLevelItems(items)
        some = bool(items)
        self.list.setVisible(some)
        self.empty.setVisible(not some)
        self.open_button.setVisible(some)
        self.join_button.setDefault(not some)
        if some:
            self.list.setCurrentItem(items[0])
            self.list.setFocus()
        self._allow()

    def _allow(self) -> None:
        self.open_button.setEnabled(bool(self.list.selectedItems()))

    def _activate(self, item: QTreeWidgetItem) -> None:
        self._open(item.data(0, _FOLDER))

    def _open_selected(self) -> None:
        for item in self.list.selectedItems():
            self._activate(item)
