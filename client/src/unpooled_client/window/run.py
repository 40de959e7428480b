"""The page of the step Run: how far the study is. The run itself is a process in the background."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from unpooled_client.state.events import Exit
from unpooled_client.state.stage import Stage
from unpooled_client.study import background
from unpooled_client.study.answering import MOST_THREADS
from unpooled_client.window.child import Ended
from unpooled_client.window.connection import ConnectionTest
from unpooled_client.window.model import Bar, Card, Tone, trouble
from unpooled_client.window.parts import Page, label, save_as
from unpooled_client.window.study import Study, results_folder

CLOSE = "You can close this window: the run goes on in the background, as long as this computer is on."
_AGAIN = Card(
    Tone.NOW,
    "The run was interrupted, and goes on by itself",
    "You released it earlier, so it was started again when this window was opened.",
)


class RunPage(Page):
    """Starts the run, follows it, stops it."""

    def __init__(self, study: Study) -> None:
        super().__init__("Run")
        self._study = study
        self._trouble: Card | None = None
        self._is_starting = self._is_again = False
        self._make_wishes()
        self.note = label(CLOSE)
        self.traffic = label()
        self.traffic.setAccessibleName("Sent and received")
        self._bars: dict[str, tuple[QLabel, QProgressBar]] = {}
        self._steps = QVBoxLayout()
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setAccessibleName("Log of the run")
        self.log.setTabChangesFocus(True)
        self.body.addWidget(self.wishes)
        self.body.addLayout(self._steps)
        self.body.addWidget(self.traffic)
        self.body.addWidget(self.note)
        self.body.addWidget(self.log, 1)
        self.body.addStretch(0)
        self.save_button = self.add_button("Save the &log…", self._save)
        self.test_button = self.add_button("&Test the connection", self._test)
        self.stop_button = self.add_button("S&top", self._stop)
        self.start_button = self.add_button("&Start", self.start, default=True)
        self.refresh()

    def _make_wishes(self) -> None:
        self.wishes = QWidget()
        form = QFormLayout(self.wishes)
        form.setContentsMargins(0, 0, 0, 0)
        self.threads = QSpinBox()
        most = min(os.cpu_count() or 1, MOST_THREADS)
        self.threads.setRange(1, most)
        self.threads.setValue(min(self._study.cores or most, most))
        form.addRow("Number of &cores", self.threads)
        self.out = QLineEdit()
        choose = QPushButton("C&hoose…")
        choose.clicked.connect(self._choose)
        row = QHBoxLayout()
        row.addWidget(self.out, 1)
        row.addWidget(choose)
        form.addRow("&Folder for the results", row)
        form.labelForField(row).setBuddy(self.out)  # type: ignore[attr-defined]

    def _choose(self) -> None:
        if found := QFileDialog.getExistingDirectory(self, "Folder for the results", self.out.text()):
            self.out.setText(found)

    def start(self) -> None:
        """Start the run in the background, or go on with it."""
        self._trouble, self._is_starting = None, True
        self._study.keep_cores(self.threads.value())
        arguments = ["--detach", "--threads", str(self.threads.value()), "--out", self._out]
        self._study.call("run", *arguments, ended=self._started)
        self.refresh()

    def go_on(self) -> None:
        """Start it again after this computer, or the process, was ended from outside."""
        self._is_again = True
        self.start()

    @property
    def _out(self) -> str:
        saved = self._study.saved
        kept = saved.out if saved is not None else ""
        return self.out.text().strip() or kept or str(results_folder(self._study.invitation.study))

    def _started(self, ended: Ended) -> None:
        self._is_starting = False
        if ended.code and self._study.progress.failed is None:
            self._trouble = trouble(ended.errors)
        self._study.refresh()
        self.refresh()

    def _stop(self) -> None:
        self.stop_button.setEnabled(False)
        try:
            background.stop(self._study.folder)
        except background.NotStopped as error:
            self._trouble = trouble(str(error))
        self._is_again = False
        self._study.refresh()
        self.refresh()

    def _test(self) -> None:
        ConnectionTest(self, self._study).open()

    def refresh(self) -> None:
        """Show how the run stands."""
        progress, alive = self._study.progress, self._study.is_alive or self._is_starting
        failed = progress.failed
        is_dead = failed is not None and failed.exit == Exit.STUDY_ENDED
        ready = self._study.stage is Stage.RUN and not is_dead
        over = self._study.stage is Stage.RESULTS
        has_run = bool(progress.bars) or progress.is_over or alive or over
        if not self.out.text():
            self.out.setText(self._out)
        self.wishes.setVisible(ready and not alive)
        self.card.show_card(self._card(alive=alive, over=over))
        for bar in progress.bars:
            self._show_bar(bar)
        self.traffic.setText(f"Traffic: {progress.traffic}" if progress.traffic and has_run else "")
        self.note.setVisible(alive and not over)
        self._show_log(progress.log, visible=has_run)
        self.stop_button.setVisible(alive and not over)
        self.stop_button.setEnabled(self._study.is_alive)
        self.test_button.setVisible(alive and not over)
        self.start_button.setVisible(ready and not alive)
        self.start_button.setText("&Go on" if progress.is_over or progress.was_interrupted else "&Start")
        self.save_button.setVisible(has_run)

    def _card(self, *, alive: bool, over: bool) -> Card | None:
        if self._trouble is not None:
            return self._trouble
        if over:
            return Card(Tone.GOOD, "The run is done, and the results are here")
        found: Card | None = self._study.progress.card if not self._is_starting else None
        if found is None and self._is_again and alive:
            return _AGAIN
        if found is None and alive:
            return Card(Tone.NOW, "The run goes on" if self._study.progress.bars else "The run begins")
        return found

    def _show_bar(self, bar: Bar) -> None:
        if bar.step not in self._bars:
            caption, drawn = QLabel(), QProgressBar()
            drawn.setAccessibleName(bar.step)
            self._bars[bar.step] = caption, drawn
            self._steps.addWidget(caption)
            self._steps.addWidget(drawn)
        caption, drawn = self._bars[bar.step]
        caption.setText(f"{bar.title}: {bar.note}")
        # A bar counts in thousandths: there may be more variants than its numbers reach.
        drawn.setRange(0, 1000)
        whole = bar.total is None or bar.done >= bar.total
        drawn.setValue(1000 if whole else 1000 * bar.done // max(bar.total or 1, 1))
        drawn.setTextVisible(bar.total is not None)

    def _show_log(self, lines: list[str], *, visible: bool) -> None:
        self.log.setVisible(visible)
        text = "\n".join(lines)
        if text != self.log.toPlainText():
            at_end = self.log.verticalScrollBar().value() == self.log.verticalScrollBar().maximum()
            self.log.setPlainText(text)
            if at_end:
                self.log.verticalScrollBar().setValue(self.log.verticalScrollBar().maximum())

    def _save(self) -> None:
        chosen = save_as(self, "Save the log", "unpooled-log.txt", "Text (*.txt)")
        if chosen is not None:
            self.save_log(chosen)

    def save_log(self, file: Path) -> None:
        """Keep what the log shows."""
        file.write_text("\n".join(self._study.progress.log) + "\n", encoding="utf-8")
