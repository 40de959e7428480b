"""The page of the step Check: reads the files here, offline, and shows what was found."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTabWidget

from unpooled_client.data.findings.report import Finding, Report, Severity
from unpooled_client.sentences.sentences import amount
from unpooled_client.state.events import Event, StepProgress
from unpooled_client.window import documents, rows
from unpooled_client.window.child import Child, Ended
from unpooled_client.window.form import DataForm
from unpooled_client.window.model import Bar, Card, Tone, trouble
from unpooled_client.window.parts import Bars, Document, Facts, Page, panel, save_as, stacked
from unpooled_client.window.study import Study
from unpooled_client.window.tables import Table

_READING = Card(
    Tone.WAITING,
    "Reading the files…",
    "On this computer, and without the network. A large .bed may take a few minutes; of a VCF or BGEN a copy "
    "is made first, which takes longer.",
    busy=True,
)
_KINDS = "HTML (*.html);;JSON (*.json);;Text (*.txt)"


class CheckPage(Page):
    """Findings by severity, with the place and the remedy; then what the files hold."""

    def __init__(self, study: Study, back: Callable[[], None], go_on: Callable[[], None]) -> None:
        super().__init__("Check")
        self._study = study
        self._child: Child | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="unpooled-")
        self.findings = Table("What the check found", rows.FINDINGS, wraps=True)
        self.details, self.document = Facts("About this finding"), Document("What the files hold")
        self._found: list[Finding] = []
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.panel = panel(self.details)
        self.findings.on_chosen(self._show_details)
        self.tabs.addTab(stacked(self.findings, self.panel), "&Findings")
        self.tabs.addTab(self.document, "What the files &hold")
        self.files = Bars()
        self.body.addWidget(self.files)
        self.body.addWidget(self.tabs, 1)
        self.body.addStretch(0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.save_button = self.add_tool("&Save the report…", self._save, icon="save")
        self.back_button = self.add_button("&Back to the data", back)
        self.next_button = self.add_button("&Next: review what leaves", go_on, default=True)
        self._show()

    def _show_details(self) -> None:
        row = self.findings.chosen
        self.panel.setVisible(row is not None and row < len(self._found))
        if row is not None and row < len(self._found):
            self.details.put(rows.details(self._found[row]))

    def start(self, form: DataForm) -> None:
        """Check these files under the plan agreed to."""
        self._put(None)
        self.files.clear()
        arguments = ["--json", "--progress", "--html", str(self._html), *form.arguments()]
        self._child = self._study.call(
            "check", *arguments, doing="Reading the files", on_line=self._hear, ended=self._end
        )
        self._show(_READING)

    def _hear(self, values: dict[str, Any]) -> None:
        """Show how much of a file is read."""
        match Event.from_json(values):
            case StepProgress() as event:
                self.files.put(_bar(event))

    def focus(self) -> None:
        """Let the keyboard begin at the page: Return goes on, and the end of a check moves no focus."""
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.hasFocus() and not self.is_checking:
            (self.next_button if self.next_button.isEnabled() else self.back_button).click()
        else:
            super().keyPressEvent(event)

    def stop(self) -> None:
        """Other files are to be chosen: what these hold is not waited for."""
        if self._child is not None and self._child.is_running:
            self._child.end()
            self._show()

    @property
    def is_checking(self) -> bool:
        return self._child is not None and self._child.is_running

    @property
    def _html(self) -> Path:
        return Path(self._folder.name) / "check.html"

    def _end(self, ended: Ended) -> None:
        found = ended.json()
        self.files.clear()
        if ended.code in (0, 1) and isinstance(found, dict) and "findings" in found:
            report = Report.from_json(found)
            self._put(report)
            self._show(_verdict(report))
        else:
            self._show(trouble(ended.errors))
        self._study.refresh()

    def _put(self, report: Report | None) -> None:
        self._study.report = report
        self._found = [one for severity in Severity for one in report.of(severity)] if report else []
        self.findings.put(rows.findings(self._found))
        self.document.show_html(documents.holdings(report.summary if report else {}))
        self.tabs.setTabText(0, f"&Findings ({len(self._found)})" if report else "&Findings")
        self.tabs.setCurrentIndex(0 if self._found or not report else 1)
        self.tabs.setVisible(report is not None)
        self._show_details()

    def _show(self, card: Card | None = None) -> None:
        self.card.show_card(card)
        report = self._study.report
        is_ready = report is not None and report.ok
        self.next_button.setEnabled(is_ready)
        self.save_button.setEnabled(report is not None)
        self.next_button.setDefault(is_ready)
        self.back_button.setDefault(not is_ready)

    def _save(self) -> None:
        chosen = save_as(self, "Save the report", "unpooled-check.html", _KINDS)
        if chosen is not None:
            self.save_report(chosen)

    def save_report(self, file: Path) -> None:
        """Keep the report: as JSON or text, as the command prints it, or as the page that the check wrote."""
        from unpooled_client.data.show import as_json, as_text  # which loads what a terminal is drawn with

        write = {".json": as_json, ".txt": as_text}.get(file.suffix.lower())
        if write is None:
            shutil.copyfile(self._html, file)
        elif self._study.report is not None:
            file.write_text(write(self._study.report), encoding="utf-8")


def _bar(event: StepProgress) -> Bar:
    """The bar of a file: of one that is copied the variants are counted, any other is open or read."""
    is_copied = event.total != 1
    note = f"copying: {amount(event)}" if is_copied else "read" if event.done else "reading…"
    return Bar(event.step, Path(event.title).name, event.done, event.total or 1, note)


def _verdict(report: Report) -> Card:
    verdict = report.verdict.removesuffix(".")
    if report.ok:
        return Card(Tone.GOOD, verdict)
    return Card(
        Tone.PROBLEM,
        verdict,
        "Fix the files, or choose others; what you typed is kept.",
        "in this cohort's files",
    )
