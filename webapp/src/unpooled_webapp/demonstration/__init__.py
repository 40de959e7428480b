"""A study over generated cohorts, started in the browser: real client processes on the server's own machine.

Only where the operator permits it, by the address in `UNPOOLED_DEMO_ADDRESS`; one at a time.
"""

from __future__ import annotations

from pathlib import Path


def folder_in(home: Path) -> Path:
    """Return the folder of a demo's cohorts, which lasts as long as the demo."""
    return home / "demo"
