"""The page of the step Results: the files, this cohort against the pool, and everything that was sent."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QTabWidget, QVBoxLayout, QWidget

from unpooled_client.compare.report import NAME as OWN
from unpooled_client.state.stage import Stage
from unpooled_client.window import documents
from unpooled_client.window.child import Ended
from unpooled_client.window.model import Card, Tone, trouble
from unpooled_client.window.parts import Document, Page, button, save_as
from unpooled_client.window.study import Study
from unpooled_client.words import sentences

_SHOWN = 500
"""Lines of the ledger in the table; the file has all."""

_NO_OWN = (
    "This cohort was not compared with the pool. The log of the run says why; once that is fixed, "
    "“unpooled-client results” does it."
)


class ResultsPage(Page):
    """What came, and what went."""

    def __init__(self, study: Study) -> None:
        super().__init__("Results")
        self._study, self._is_loaded = study, False
        self.files, self.own, self.ledger = (
            Document(name) for name in ("Result files", "This cohort against the pool", "Ledger")
        )
        self.tabs = QTabWidget()
        self.tabs.addTab(self.files, "&Files")
        self.own_button = button("Open as a &page", self._open_own)
        self.tabs.addTab(_below(self.own, self.own_button), "&Your cohort and the pool")
        export = button("&Export the ledger…", self._export)
        self.tabs.addTab(_below(self.ledger, export), "Everything that was &sent")
        self.body.addWidget(self.tabs, 1)
        self.open_button = self.add_button("&Open the folder", self._open, default=True)

    @property
    def folder(self) -> Path | None:
        saved = self._study.saved
        return Path(saved.out) if saved is not None and saved.delivered else None

    def refresh(self) -> None:
        """Once the results are here, list them; once the run has ended, too, have the rest looked up."""
        if self._study.stage is not Stage.RESULTS or self._is_loaded or self.folder is None:
            return
        self._is_loaded = not self._study.is_alive
        files = sorted(path for path in self.folder.glob("*") if path.is_file())
        rows = [(path.name, sentences.size(path.stat().st_size)) for path in files]
        self.files.show_html(
            documents.facts([("Folder", str(self.folder))]) + documents.table(("File", "Size"), rows)
        )
        self.card.show_card(Card(Tone.GOOD, f"The results are here: {len(files)} files"))
        self._show_own(self.folder / f"{OWN}.tsv")
        if self._is_loaded:
            self._study.call("ledger", "--json", ended=self._show_ledger)

    def _show_own(self, file: Path) -> None:
        """What the run wrote of this cohort beside the pool, if it could."""
        self.own_button.setEnabled(file.with_suffix(".html").is_file())
        if not file.is_file():
            self.own.show_html(documents.paragraph(_NO_OWN))
            return
        with file.open(encoding="utf-8", newline="") as lines:
            self.own.show_html(documents.own_cohort(list(csv.DictReader(lines, delimiter="\t"))))

    def _show_ledger(self, ended: Ended) -> None:
        if ended.code:
            self.card.show_card(trouble(ended.errors))
        self.ledger.show_html(documents.ledger(ended.json_lines(), most=_SHOWN, is_whole=not ended.code))

    def _open(self) -> None:
        if self.folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.folder)))

    def _open_own(self) -> None:
        if self.folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.folder / f"{OWN}.html")))

    def _export(self) -> None:
        chosen = save_as(self, "Export the ledger", "unpooled-ledger.jsonl", "JSON lines (*.jsonl)")
        if chosen is not None:
            shutil.copyfile(self._study.folder.ledger, chosen)


def _below(document: Document, pressed: QPushButton) -> QWidget:
    """A document with a button below it."""
    inside, row = QWidget(), QHBoxLayout()
    row.addStretch(1)
    row.addWidget(pressed)
    column = QVBoxLayout(inside)
    column.addWidget(document, 1)
    column.addLayout(row)
    return inside
