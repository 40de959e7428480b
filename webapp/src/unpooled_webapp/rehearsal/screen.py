"""Display of a running rehearsal: one line that changes on a terminal, a line per phase elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class Screen:
    """Progress on standard error; quiet if so wished."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(file=sys.stderr, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=1, visible=False)
        self._phase = ""

    def phase(self, text: str) -> None:
        """A new phase begins."""
        if text != self._phase:
            self._phase = text
            self._progress.update(self._task, visible=False)
            self._console.print(text, highlight=False, markup=False)

    def steps(self, text: str, done: int, total: int) -> None:
        """`done` of `total` parts of a phase are behind us."""
        if total and text:
            if self._console.is_terminal:
                self._progress.update(self._task, description=text, completed=done, total=total, visible=True)
            elif text != self._phase:
                self._phase = text
                self._console.print(f"{text}: {total} parts", highlight=False, markup=False)

    def close(self) -> None:
        """Take the bar away: what follows is the caller's to print."""
        self._progress.stop()

    def __enter__(self) -> Screen:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
