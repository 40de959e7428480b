"""Child processes: the command line, started by the window, one command at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment

from unpooled_client.study import background

_END_SOON = 3000
"""Milliseconds that a child may take to end before the window closes."""


@dataclass(frozen=True)
class Ended:
    """End of a child process: its exit status, and what it printed."""

    code: int
    output: str
    errors: str

    def json(self) -> Any:
        """Its output as one JSON value, after lines that told of progress; None if it is none."""
        lines = self.output.splitlines()
        while len(lines) > 1 and _object(lines[0]) is not None:
            del lines[0]
        try:
            return json.loads("\n".join(lines))
        except ValueError:
            return None

    def json_lines(self) -> list[dict[str, Any]]:
        """The lines of its output that are JSON objects."""
        return [found for line in self.output.splitlines() if (found := _object(line)) is not None]


class Child(QObject):
    """One running command. `on_line` hears lines of JSON, `ended` the end, in the window's thread."""

    def __init__(
        self,
        parent: QObject,
        arguments: Sequence[str],
        *,
        ended: Callable[[Ended], None],
        on_line: Callable[[dict[str, Any]], None] | None = None,
        first_line: str = "",
        answers: bool = False,
    ) -> None:
        """`first_line` is given on standard input: an invitation is no argument, for others see those.

        `answers`: more lines may follow (`say`).
        """
        super().__init__(parent)
        self._on_line, self._ended, self._is_over = on_line, ended, False
        self._output, self._rest, self._errors = b"", b"", b""
        self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONIOENCODING", "utf-8")
        self._process.setProcessEnvironment(environment)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._fail)
        program, *before = background.program()
        self._process.start(program, [*before, *arguments])
        if first_line:
            self.say(first_line)
        # Its standard input ends: a command that asks then knows that nobody will answer.
        if not answers:
            self._process.closeWriteChannel()

    def say(self, line: str) -> None:
        """Give it a line on standard input."""
        self._process.write(f"{line}\n".encode())

    @property
    def is_running(self) -> bool:
        return not self._is_over

    def end(self) -> None:
        """End it now, without a word; what it must not forget is on disk."""
        if not self._is_over:
            # Set before it is killed: what it still says, and its end, must not be heard.
            self._is_over = True
            self._process.kill()
            self._process.waitForFinished(_END_SOON)

    def _read(self) -> None:
        data = self._process.readAllStandardOutput().data()
        self._output += data
        # A line may come in pieces: the last one waits for its end.
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            found = _object(line.decode("utf-8", errors="replace"))
            if found is not None and self._on_line is not None and not self._is_over:
                self._on_line(found)

    def _read_errors(self) -> None:
        self._errors += self._process.readAllStandardError().data()

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._errors += self._process.errorString().encode()
            self._finish(-1)

    def _finish(self, code: int) -> None:
        if self._is_over:
            return
        self._read()
        self._read_errors()
        self._is_over = True
        output, errors = (data.decode("utf-8", errors="replace") for data in (self._output, self._errors))
        self._ended(Ended(code, output, errors))
        self.deleteLater()


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line) if line.startswith("{") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
