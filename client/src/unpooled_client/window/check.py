"""The page of the step Check: reads the files here, offline, and shows what was found."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unpooled_client.window import documents
from unpooled_client.window.child import Child, Ended
from unpooled_client.window.form import DataForm
from unpooled_client.window.model import Card, Tone, trouble
from unpooled_client.window.parts import Document, Page, save_as
from unpooled_client.window.study import Study

_READING = Card(
    Tone.WAITING,
    "Reading the files…",
    "On this computer, and without the network. A large .bed may take a few minutes.",
)
_KINDS = "HTML (*.html);;JSON (*.json);;Text (*.txt)"


class CheckPage(Page):
    """Findings by severity, with the place and the remedy; then what the files hold."""

    def __init__(self, study: Study, back: Callable[[], None], go_on: Callable[[], None]) -> None:
        super().__init__("Check")
        self._study = study
        self._child: Child | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="unpooled-")
        self.document = Document("What the check found")
        self.body.addWidget(self.document, 1)
        self.save_button = self.add_button("&Save the report…", self._save)
        self.back_button = self.add_button("&Back to the data", back)
        self.next_button = self.add_button("&Next: review what leaves", go_on, default=True)
        self._show()

    def start(self, form: DataForm) -> None:
        """Check these files under the plan agreed to."""
        self._study.report = {}
        self.document.show_html("")
        arguments = ["--json", "--html", str(self._html), *form.arguments()]
        self._child = self._study.call("check", *arguments, ended=self._end)
        self._show(_READING)

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
        report = ended.json()
        if ended.code in (0, 1) and isinstance(report, dict) and "findings" in report:
            self._study.report = report
            self.document.show_html(documents.report(report))
            self._show(_verdict(report))
        else:
            self._show(trouble(ended.errors))
        self._study.refresh()

    def _show(self, card: Card | None = None) -> None:
        self.card.show_card(card)
        report = self._study.report
        self.next_button.setEnabled(bool(report.get("ok")))
        self.save_button.setEnabled(bool(report))
        self.next_button.setDefault(bool(report.get("ok")))
        self.back_button.setDefault(not report.get("ok"))
        self.focus()

    def _save(self) -> None:
        chosen = save_as(self, "Save the report", "unpooled-check.html", _KINDS)
        if chosen is not None:
            self.save_report(chosen)

    def save_report(self, file: Path) -> None:
        """Keep the report: as JSON or text, as the command prints it, or as the page that the check wrote."""
        from unpooled_client.data.report import Report
        from unpooled_client.data.show import as_json, as_text

        write = {".json": as_json, ".txt": as_text}.get(file.suffix.lower())
        if write is None:
            shutil.copyfile(self._html, file)
        else:
            file.write_text(write(Report.from_json(self._study.report)), encoding="utf-8")


def _verdict(report: dict[str, Any]) -> Card:
    if report.get("ok"):
        return Card(Tone.GOOD, documents.verdict(report))
    return Card(
        Tone.PROBLEM,
        documents.verdict(report),
        "Fix the files, or choose others; what you typed is kept.",
        "in this cohort's files",
    )
