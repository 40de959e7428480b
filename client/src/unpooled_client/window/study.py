"""One study of this computer, as the window knows it: its folder, the log of its run, its child process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QStandardPaths, QTimer, Signal

from unpooled.plan.plan import Plan
from unpooled.protocol.invitation import Invitation
from unpooled_client.data.findings.report import Report
from unpooled_client.state.files import StateError, write_atomically
from unpooled_client.state.folder import Saved, StateFolder
from unpooled_client.state.journal import Journal
from unpooled_client.state.stage import Stage, stage_of
from unpooled_client.study import background
from unpooled_client.window.busy import aside
from unpooled_client.window.child import Child, Ended
from unpooled_client.window.form import DataForm
from unpooled_client.window.model import Progress, Tone
from unpooled_client.window.where import Where, where

LOOK_EVERY = 400
"""Milliseconds between two looks at the log of the run."""


class Study(QObject):
    """State shared by all pages of one study. `changed` is emitted when there is something new to show."""

    changed = Signal()
    busy = Signal(str)
    """The pending action, in words; empty if none."""

    def __init__(self, folder: StateFolder, invitation: Invitation | None = None) -> None:
        super().__init__()
        self.folder, self._invitation = folder, invitation
        self.saved: Saved | None = None
        self.progress, self._journal = Progress(), Journal(folder.log)
        self.report: Report | None = None
        """Report of the last check in this window."""
        self.is_alive = False
        self._typed: DataForm | None = None
        self._children: dict[str, Child] = {}
        """The latest of each command."""
        self._silent: dict[str, str] = {}
        """Actions of the commands that have reported nothing yet, in words."""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)

    def open(self) -> None:
        """Read what is on disk, and follow the run from now on."""
        self.refresh()
        self._timer.start(LOOK_EVERY)

    def close(self) -> None:
        """Follow it no longer. What runs in the background goes on."""
        self._timer.stop()
        for child in self._children.values():
            child.end()

    def refresh(self) -> None:
        """Read again what is on disk."""
        self._read_log()
        self._load()
        self.changed.emit()

    def _load(self) -> None:
        try:
            self.saved = self.folder.load() if self.folder.exists() else None
        except StateError:
            self.saved = None

    @property
    def invitation(self) -> Invitation:
        if self._invitation is not None:
            return self._invitation
        if self.saved is None:
            raise StateError(f"there is no study in {self.folder.path}")
        return self.saved.invitation

    @property
    def stage(self) -> Stage:
        return stage_of(self.saved) if self.saved is not None else Stage.JOIN

    @property
    def where(self) -> Where:
        if self.saved is not None and self.saved.repeated_in:
            return Where(self.stage, Tone.GOOD, "Goes on in the study that repeats it")
        return where(self.stage, self.progress, is_alive=self.is_alive)

    @property
    def plan(self) -> Plan | None:
        """The plan that was agreed to."""
        return self.saved.agreement.plan if self.saved is not None and self.saved.agreement else None

    @property
    def title(self) -> str:
        if self.saved is not None and self.saved.agreement is not None:
            return self.saved.agreement.study
        return self.progress.study or f"Study {self.invitation.study}"

    @property
    def form(self) -> DataForm:
        """The data form as it was last filled in, here or in an earlier window."""
        if self._typed is not None:
            return self._typed
        return DataForm.from_options(self.saved.options if self.saved is not None else {})

    def keep_form(self, form: DataForm) -> None:
        self._typed = form

    @property
    def cores(self) -> int | None:
        """Number of cores that a person gave the run; None before."""
        try:
            return int(self._cores.read_text("ascii"))
        except (OSError, ValueError):
            return None

    def keep_cores(self, cores: int) -> None:
        """Remember it: a run that goes on after a restart shall not take more."""
        write_atomically(self._cores, str(cores).encode(), private=True)

    @property
    def _cores(self) -> Path:
        return self.folder.path / "cores"

    def call(
        self,
        *arguments: str,
        doing: str,
        ended: Callable[[Ended], None],
        on_line: Callable[[dict[str, Any]], None] | None = None,
        first_line: str = "",
        answers: bool = False,
        of_study: bool = True,
    ) -> Child:
        """Run a command of the command line; an earlier one of the same name that still runs is ended.

        `doing` says to people what it does. `of_study`: the command is told this study's folder.
        """
        command, *others = arguments
        if command in self._children:
            # Two of one kind would answer in any order, and the later answer is not the newer.
            self._children[command].end()

        def hear(values: dict[str, Any]) -> None:
            if on_line is not None:  # who hears of it, shows it
                self._set_doing(command, "")
                on_line(values)

        def end(how: Ended) -> None:
            self._set_doing(command, "")
            ended(how)

        self._set_doing(command, doing)
        self._children[command] = child = Child(
            self,
            [command, *(("--state", str(self.folder.path)) if of_study else ()), *others],
            ended=end,
            on_line=hear,
            first_line=first_line,
            answers=answers,
        )
        return child

    def wait_for(self, work: Callable[[], Any], ended: Callable[[Any], None], *, doing: str) -> None:
        """Do something that only waits, beside the window."""

        def end(found: Any) -> None:
            if self._timer.isActive():  # else nobody looks at this study any more
                self._set_doing(doing, "")
                ended(found)

        self._set_doing(doing, doing)
        aside(work, end)

    def _set_doing(self, what: str, doing: str) -> None:
        self._silent.pop(what, None)
        if doing:
            self._silent[what] = doing
        self.busy.emit(next(reversed(self._silent.values()), ""))

    def _look(self) -> None:
        if self._read_log():
            self._load()
            self.changed.emit()

    def _read_log(self) -> bool:
        """Take up what the run told since the last look; whether there was anything."""
        # Looked at before the log: a run that ends between the two has then still told of its end.
        alive, events = background.is_running(self.folder), self._journal.new()
        self.progress.add_all(events)
        changed = bool(events) or alive != self.is_alive
        self.is_alive = alive
        return changed


def documents_folder() -> Path:
    """Return the folder where this person keeps documents."""
    found = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return Path(found or Path.home())
