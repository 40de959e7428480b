"""Other parties as child processes: started by `python -m`, never imported."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

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
    ) -> None:
        self.log = log
        with contextlib.ExitStack() as files:
            errors = files.enter_context(log.open("ab"))
            self._child = subprocess.Popen(  # noqa: S603  # our own modules, no shell
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=files.enter_context(output.open("ab")) if output else errors,
                stderr=errors,
                env={**os.environ, **(environment or {})},
            )

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
