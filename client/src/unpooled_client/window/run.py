"""The page of the step Run: how far the study is. The run itself is a process in the background."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QWidget,
)

from unpooled_client.state.events import Exit
from unpooled_client.state.stage import Stage
from unpooled_client.state.written import Written
from unpooled_client.study import background
from unpooled_client.study.answering import MOST_THREADS
from unpooled_client.study.delivery import usual_folder
from unpooled_client.window.child import Ended
from unpooled_client.window.connection import ConnectionTest
from unpooled_client.window.look.style import look
from unpooled_client.window.model import Card, Tone, trouble
from unpooled_client.window.parts import Bars, Button, Page, label, save_as
from unpooled_client.window.study import Study, documents_folder

CLOSE = "You can close this window: the run goes on in the background, as long as this computer is on."
_AGAIN = Card(
    Tone.NOW,
    "The run was interrupted, and goes on by itself",
    "You released it earlier, so it was started again when this window was opened.",
)


_NOT_REPEATED = Card(
    Tone.WAITING,
    "The coordinator has not repeated this study",
    "Look again once you hear that it is repeated.",
)


class RunPage(Page):
    """Starts the run, follows it, stops it; leads to the repetition of a study that has ended."""

    def __init__(self, study: Study, look_for_repetition: Callable[[], None]) -> None:
        super().__init__("Run")
        self._study = study
        self.is_not_repeated = False
        """Somebody has looked, and there was no repetition."""
        self._trouble: Card | None = None
        self._is_starting = self._is_again = False
        self._make_wishes()
        self.note = label(CLOSE, "muted")
        self.traffic = label(kind="muted")
        self.traffic.setAccessibleName("Sent and received")
        self._steps = Bars()
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setAccessibleName("Log of the run")
        self.log.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.log.setTabChangesFocus(True)
        self.body.addWidget(self.wishes)
        self.body.addWidget(self._steps, 2)
        self.body.addWidget(self.traffic)
        self.body.addWidget(self.note)
        self.body.addWidget(self.log, 1)
        self.body.addStretch(0)
        self.save_button = self.add_tool("Save the &log…", self._save, icon="save")
        self.test_button = self.add_tool("T&est the connection", self._test, icon="connection")
        self.stop_button = self.add_button("S&top", self._stop, kind="danger", icon="stop")
        self.repeat_button = self.add_button("Go on with the &repetition", look_for_repetition, icon="again")
        self.start_button = self.add_button("&Start", self.start, default=True, icon="run")
        self.refresh()

    def _make_wishes(self) -> None:
        self.wishes = QWidget()
        form = QFormLayout(self.wishes)
        form.setContentsMargins(0, 0, 0, 0)
        self.threads = QSpinBox()
        most = min(os.cpu_count() or 1, MOST_THREADS)
        self.threads.setRange(1, most)
        self.threads.setValue(min(self._study.cores or most, most))
        self.threads.setMaximumWidth(8 * self.fontMetrics().height())
        # A style sheet does not reach the text within.
        self.threads.lineEdit().setTextMargins(look().pixels("2"), 0, 0, 0)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        form.addRow("Number of &cores", self.threads)
        self.out = QLineEdit()
        choose = Button("C&hoose…", self._choose, icon="folder")
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
        self._study.call("run", *arguments, doing="Starting the run", ended=self._started)
        self.refresh()

    def go_on(self) -> None:
        """Start it again after this computer, or the process, was ended from outside."""
        self._is_again = True
        self.start()

    @property
    def _out(self) -> str:
        saved = self._study.saved
        return self.out.text().strip() or (saved.out if saved is not None else "") or self._usual_out()

    def _usual_out(self) -> str:
        """Nothing before the plan is known, for it names the folder."""
        study, plan = self._study, self._study.plan
        if plan is None:
            return ""
        written = Written(study.folder)
        return str(usual_folder(documents_folder(), study.invitation.study, plan, written))

    def _started(self, ended: Ended) -> None:
        self._is_starting = False
        if ended.code and self._study.progress.failed is None:
            self._trouble = trouble(ended.errors)
        self._study.refresh()
        self.refresh()

    def _stop(self) -> None:
        self.stop_button.setEnabled(False)
        folder = self._study.folder
        self._study.wait_for(lambda: background.stop(folder), self._stopped, doing="Stopping the run")

    def _stopped(self, found: object) -> None:
        if isinstance(found, Exception):
            self._trouble = trouble(str(found))
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
            self._steps.put(bar)
        self.traffic.setText(f"Traffic: {progress.traffic}" if progress.traffic and has_run else "")
        self.note.setVisible(alive and not over)
        self._show_log(progress.log, visible=has_run)
        self.stop_button.setVisible(alive and not over)
        self.stop_button.setEnabled(self._study.is_alive)
        self.repeat_button.setVisible((is_dead or over) and not alive)
        self.test_button.setVisible(alive and not over)
        self.start_button.setVisible(ready and not alive)
        self.start_button.setText("&Go on" if progress.is_over or progress.was_interrupted else "&Start")
        self.save_button.setVisible(has_run)

    def _card(self, *, alive: bool, over: bool) -> Card | None:
        if self._trouble is not None:
            return self._trouble
        if self.is_not_repeated:
            return _NOT_REPEATED
        if over:
            return Card(Tone.GOOD, "The run is done, and the results are here")
        found: Card | None = self._study.progress.card if not self._is_starting else None
        if found is None and self._is_again and alive:
            return _AGAIN
        if found is None and alive:
            return Card(Tone.NOW, "The run goes on" if self._study.progress.bars else "The run begins")
        return found

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
