"""Display of events on the command line: JSON lines, lines of text, or bars on a terminal.

Progress goes to standard error; the names of result files, and JSON, to standard output.
"""

from __future__ import annotations

import abc
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from unpooled_client.sentences import sentences
from unpooled_client.sentences.log_lines import Sparing
from unpooled_client.state import events

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Group
    from rich.progress import TaskID

    from unpooled_client.data.imputed.pieces import Reading


class Screen(contextlib.AbstractContextManager["Screen", None]):
    """A place to show events."""

    @abc.abstractmethod
    def show(self, event: events.Event) -> None:
        """Show an event, if it is worth it."""

    def ask(self, question: str, more: str = "") -> bool | None:
        """Return a person's answer, who may read `more` first; None if there is nobody to ask."""
        if not sys.stdin.isatty():
            return None
        return _confirmed(question, more) if more else click.confirm(question, default=False, err=True)

    def close(self) -> None:
        """Leave the terminal as it was."""

    def __exit__(self, *error: object) -> None:
        self.close()


def screen_for(*, as_json: bool, quiet: bool) -> Screen:
    """The screen for these options and this standard error."""
    if as_json:
        return JsonScreen()
    if quiet:
        return QuietScreen()
    return TerminalScreen() if sys.stderr.isatty() else LineScreen()


@contextlib.contextmanager
def progress() -> Iterator[Reading]:
    """Show on a terminal how much of each file is read."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[Path, TaskID] = {}

        def show(file: Path, done: int, total: int) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file.name, total=None)
            # What is opened and read in one go has no share that could be shown until it is done.
            bars.update(tasks[file], completed=done, total=total if done else None)

        yield show


@contextlib.contextmanager
def in_lines() -> Iterator[Reading]:
    """The same for another program: each time an event as one line of JSON on standard output."""
    screen = JsonScreen()

    def show(file: Path, done: int, total: int) -> None:
        unit = "variants" if total > 1 else "files"
        screen.show(events.StepProgress(str(file), done, total or None, unit, 1))

    yield show


def _confirmed(question: str, more: str) -> bool:
    """Ask until it is answered; for `?` show more."""
    answers = click.Choice(["y", "yes", "n", "no", "?"], case_sensitive=False)
    while True:
        answer = click.prompt(
            f"{question} [y/N, ? shows everything]", "n", err=True, type=answers, show_default=False,
            show_choices=False,
        )  # fmt: skip
        if answer != "?":
            return answer in ("y", "yes")
        click.echo(more, err=True)


class JsonScreen(Screen):
    """Every event as one line of JSON on standard output, a failure too.

    What is asked is answered by another program: a line `yes` or `no` on standard input.
    """

    def show(self, event: events.Event) -> None:
        # Flushed, for another program waits for this line, and not for a full buffer.
        print(json.dumps(event.to_json()), flush=True)

    def ask(self, question: str, more: str = "") -> bool | None:
        return {"yes": True, "no": False}.get(sys.stdin.readline().strip())


class QuietScreen(Screen):
    """Screen that shows only failures, and what somebody must accept."""

    def __init__(self) -> None:
        self._asked: list[str] = []

    def show(self, event: events.Event) -> None:
        if isinstance(event, events.Failed):
            click.echo(sentences.failure(event), err=True)
        self._keep(event)

    def ask(self, question: str, more: str = "") -> bool | None:
        click.echo("\n".join(self._asked), err=True)
        return super().ask(question, more)

    def _keep(self, event: events.Event) -> None:
        if isinstance(event, events.Proposal | events.ReleaseNeeded):
            self._asked = sentences.lines(event)


class LineScreen(QuietScreen):
    """Lines with the time, few enough for a log. What is asked for is shown at length only to be answered."""

    def __init__(self) -> None:
        super().__init__()
        self._sparing = Sparing()

    def show(self, event: events.Event) -> None:
        self._keep(event)
        for line in self._sparing.lines(event, time.monotonic()):
            click.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)
        if isinstance(event, events.Results | events.Compared):
            for file in event.files:
                click.echo(file)


class TerminalScreen(Screen):
    """Lines for what happens, a bar for each step, and a last line that says what is waited for."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.spinner import Spinner

        self._console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[note]}"),
        )
        self._bars = Progress(*columns, TimeElapsedColumn(), console=self._console)
        self._tasks: dict[str, TaskID] = {}
        self._status, self._waits = Spinner("dots"), False
        # Redrawn by itself: the clock of a step and the spinner move between two events.
        self._live = Live(get_renderable=self._draw, console=self._console, refresh_per_second=6)

    def show(self, event: events.Event) -> None:
        status = sentences.status(event)
        self._waits = bool(status)
        if status:
            self._status.update(text=status)
            self._live.start()
        elif isinstance(event, events.StepProgress):
            self._bar(event)
        elif not (isinstance(event, events.Sent) and event.round is not None):
            for line in sentences.lines(event):
                self._console.print(line, highlight=False, markup=False, soft_wrap=True)
        if isinstance(event, events.Results | events.Compared):
            self.close()
            for file in event.files:
                click.echo(file)

    def ask(self, question: str, more: str = "") -> bool | None:
        self.close()
        return super().ask(question, more)

    def _bar(self, event: events.StepProgress) -> None:
        note = ", ".join(filter(None, [sentences.amount(event), sentences.left(event)]))
        # Where nobody knows how much there is, what came so far is all.
        total = event.done if event.total is None else event.total
        if event.step not in self._tasks:
            self._tasks[event.step] = self._bars.add_task(event.title, total=total, note=note)
        task = self._tasks[event.step]  # of all its iterations
        self._bars.update(task, description=event.title, completed=event.done, total=total, note=note)
        self._live.start()

    def _draw(self) -> Group:
        from rich.console import Group

        return Group(self._bars, self._status) if self._waits else Group(self._bars)

    def close(self) -> None:
        self._waits = False
        self._live.stop()
