"""The cohort's desktop window: the command line as a window, in the same words.

It never computes and opens no socket. The work is done by a child process of the command line
(`unpooled_client.window.child`); the window follows a run by reading its log
(`unpooled_client.state.journal`). So closing it stops nothing that runs in the background.

`model` and `documents` say what is shown, and know nothing of Qt; the pages only lay it out.
"""

from __future__ import annotations

import sys
from pathlib import Path

MISSING = (
    "The window needs Qt, which is not installed here. Install it with\n"
    '    pip install "unpooled-client[window]"\n'
    "or use the command line, which does the same: unpooled-client --help"
)
LACKING = (
    "The window's library Qt is installed, but cannot be loaded: {reason}\n"
    "On Debian and Ubuntu this is fixed by\n"
    "    sudo apt-get install libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1\n"
    "Or use the command line, which does the same: unpooled-client --help"
)


def problem() -> str:
    """Why the window cannot be opened here, with what to do; empty if it can."""
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ModuleNotFoundError:
        return MISSING
    except ImportError as error:
        return LACKING.format(reason=error)
    return ""


def main(state: Path | None = None) -> int:
    """Open the window, at the study in the folder `state` if one is given; the exit status."""
    if found := problem():
        print(found, file=sys.stderr)
        return 2
    from unpooled_client.window.application import run

    return run(state)
