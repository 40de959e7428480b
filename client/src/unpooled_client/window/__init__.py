"""The cohort's desktop window: the command line as a window, in the same words.

It never computes and opens no socket. The work is done by a child process of the command line
(`unpooled_client.window.child`); the window follows a run by reading its log
(`unpooled_client.state.journal`). So closing it stops nothing that runs in the background.

`model`, `form`, `where` and `documents` say what is shown, and know nothing of Qt; the pages only lay it out.
`look` is what all of it looks like, and `system` says what is missing where there can be no window.
"""

from __future__ import annotations

import sys
from pathlib import Path

from unpooled_client.window.system import problem


def main(state: Path | None = None) -> int:
    """Open the window, at the study in the folder `state` if one is given; the exit status."""
    if found := problem():
        print(found, file=sys.stderr)
        return 2
    from unpooled_client.window.application import run

    return run(state)
