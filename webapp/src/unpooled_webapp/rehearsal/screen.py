"""Display of a running rehearsal: one line that changes on a terminal, a line per phase elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Screen:
    """Phases with their seconds, on standard error; quiet if so wished."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(file=sys.stderr, quiet=quiet)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[parts]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, visible=False, parts="")
        self._phase, self._began = "", 0.0

    def phase(self, text: str) -> None:
        """Begin a new phase, and say how long the one before took."""
        if text == self._phase:
            return
        self._end()
        self._phase, self._began = text, time.monotonic()
        if self._console.is_terminal:
            self._progress.reset(self._task, description=text, total=None, visible=True, parts="")
        else:
            self._print(text, end="")

    def steps(self, done: int, total: int) -> None:
        """`done` of `total` parts of the phase are behind us."""
        if total:
            self._progress.update(self._task, completed=done, total=total, parts=f"{done} of {total}")

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self._end()
        self._print(text)

    def _end(self) -> None:
        if self._phase:
            took = f"{time.monotonic() - self._began:.1f} s"
            self._print(f"{self._phase}: {took}" if self._console.is_terminal else f": {took}")
            self._phase = ""

    def _print(self, text: str, end: str = "\n") -> None:
        self._console.print(text, end=end, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away: what follows is the caller's to print."""
        self._end()
        self._progress.stop()

    def __enter__(self) -> Screen:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
