"""Commands as a person types them: in a pipe, or at a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any


def typed(*arguments: Any, terminal: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
    """`unpooled-client` with these arguments; at a `terminal` all that it writes is on standard error."""
    command = [sys.executable, "-m", "unpooled_client", *map(str, arguments)]
    if terminal:
        return _at_a_terminal(command, os.environ | environment)
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )  # fmt: skip


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
    code = process.wait(30)
    return subprocess.CompletedProcess(command, code, "", written.decode(errors="replace"))
