"""`python -m unpooled_webapp.child MODULE`: runs a module as `python -m` does, while its parent lives.

A parent that is killed cannot end its children. They would go on without anybody who sees to them, and hold
the address that the next start wants. So each watches its standard input, which the parent holds open and
never writes to. What a child starts itself (gunicorn's workers, Celery's beat) ends with it: they are one
group.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)  # at once: whatever is being done is safe from kills


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
