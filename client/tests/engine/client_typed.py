"""Commands as a person types them: in a pipe, or at a terminal."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from tests.patience import PATIENCE
from tests.starting import Program, run


def typed(*arguments: Any, terminal: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
    """`unpooled-client` with these arguments; at a `terminal` all that it writes is on standard error."""
    program, environment = Program("unpooled_client", [*map(str, arguments)]), os.environ | environment
    return _at_a_terminal(program.command, environment) if terminal else run(program, environment=environment)


def _at_a_terminal(
    command: list[str], environment: dict[str, str] | os._Environ[str]
) -> subprocess.CompletedProcess[str]:
    import pty  # Windows has none

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux's word for the end
            part = b""
        if not part:
            break
        written += part
    os.close(ours)
    code = process.wait(PATIENCE)
    return subprocess.CompletedProcess(command, code, "", written.decode(errors="replace"))
