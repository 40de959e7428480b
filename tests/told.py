"""A program that tells how it was started, for test_starting.py: `python -m tests.told WHAT [STATUS]`."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from pathlib import Path

what, *status = sys.argv[1:]
atexit.register(print, "at exit")
about = {
    "name": __name__,
    "arguments": sys.argv[1:],
    "path": sys.path[0],
    "folder": str(Path.cwd()),
    "environment": dict(os.environ),
    "read": sys.stdin.read(),
    "leads": os.getsid(0) == os.getpid() == os.getpgid(0),
    "interrupts": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "threads": threading.active_count(),
    "files": sum(Path(f"/proc/self/fd/{number}").exists() for number in range(3, 256)),
}
print(json.dumps(about), flush=True)
if what == "fails":
    raise ValueError("as it should")
if what == "waits":
    signal.pause()
sys.exit(int(status[0]) if status else None)
