"""Other parties as child processes: started as `python -m` does, never imported."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from unpooled_webapp.starting import Program, start

GRACE = 10.0  # seconds between asking a process to end and killing it


class Process:
    """A Python module as a child process, its standard error in a log file."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        output: Path | None = None,
        may_ask: bool = False,
    ) -> None:
        self.log = log
        program = Program(module, module, arguments, {**os.environ, **(environment or {})}, may_ask=may_ask)
        with contextlib.ExitStack() as files:
            nothing = files.enter_context(Path(os.devnull).open("rb"))
            errors = files.enter_context(log.open("ab"))
            said = files.enter_context(output.open("ab")) if output else errors
            self._child = start(program, (nothing.fileno(), said.fileno(), errors.fileno()))

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs."""
        return self._child.poll()

    def last_words(self, lines: int = 12) -> str:
        """The end of its log: what a person needs to see when it failed."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])

    def wait(self, seconds: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(seconds)
        return self.exit_status

    def stop(self) -> None:
        if self.exit_status is None:
            self._child.terminate()
            if self.wait(GRACE) is None:
                self._child.kill()
                self._child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
