"""The process that has OpenFHE, under an interpreter of its own: OpenFHE has no package for this one.

`UNPOOLED_OPENFHE_PYTHON` names the interpreter: CPython 3.10 or 3.12 for Linux on x86-64, with the packages
`openfhe` and `numpy`. Where it names none that serves, `problem` says why, and nothing is encrypted.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.errors import UnpooledError
from unpooled.protocol.encrypted.arrays_by_pipe import read, write

SETTING = "UNPOOLED_OPENFHE_PYTHON"
_HERE = Path(__file__).parent
_PROGRAM = _HERE / "apart" / "openfhe_worker.py"
"""It is in no package, since it cannot be imported here."""
_LONGEST_START = 60


class WorkerError(UnpooledError):
    """The worker could not be started, has ended, or refuses what it was given."""


def problem() -> str:
    """Say why nothing can be encrypted here; empty if it can."""
    return _problem(os.environ.get(SETTING, ""))


@functools.cache
def _problem(python: str) -> str:
    if not python:
        return f"encrypted sums need OpenFHE: name an interpreter that has it by {SETTING}"
    try:
        subprocess.run(  # noqa: S603 - the operator names it
            [python, "-c", "import numpy, openfhe"],
            check=True,
            capture_output=True,
            timeout=_LONGEST_START,
            env=_environment(),
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
        return f"the interpreter that {SETTING} names does not import OpenFHE: {said[-1] if said else error}"
    return ""


def _environment() -> dict[str, str]:
    """The environment for another interpreter, which must not find the libraries of a packed client."""
    found = dict(os.environ)
    if getattr(sys, "frozen", False):
        found["LD_LIBRARY_PATH"] = found.get("LD_LIBRARY_PATH_ORIG", "")
    return found


class Worker:
    """A running worker; several threads may ask it in turn."""

    def __init__(self) -> None:
        if found := problem():
            raise WorkerError(f"{found}. Install it for CPython 3.10 or 3.12, or choose another trust.")
        # One thread: parties share a machine's cores, and sums are small.
        self._process = subprocess.Popen(  # noqa: S603 - the operator names it
            [os.environ[SETTING], _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**_environment(), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(_HERE)},
        )
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the process; whoever asks `worker` next starts another."""
        worker.cache_clear()
        self._process.communicate()

    def ask(self, task: str, **given: Any) -> dict[str, np.ndarray]:
        """Have a task done; WorkerError if it is refused, or the worker has ended."""
        arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
        others = {name: value for name, value in given.items() if name not in arrays}
        pipes = self._process.stdin, self._process.stdout
        if pipes[0] is None or pipes[1] is None:
            raise AssertionError("the worker has no pipes")
        try:
            with self._lock:
                write(pipes[0], {"do": task, **others}, arrays)
                found = read(pipes[1])
        except OSError:
            found = {}
        if not found:
            worker.cache_clear()  # whoever asks next starts another
        if not found or "error" in found:
            said = found.get("error", "it has ended")
            raise WorkerError(f"OpenFHE's worker was asked for {task}, and says: {said}")
        return found


@functools.cache
def worker() -> Worker:
    """The worker of this process, started when first asked for."""
    return Worker()
