"""How often who waits looks into the database: often while things happen, ever less while nothing does."""

from __future__ import annotations

import time

_LEAST, _MOST = 0.005, 0.1  # seconds
_SHARE = 1 / 40
"""Of what has been waited: so much longer than it must a wait lasts at most, but for the least."""


def until_next_look(since: float) -> float:
    """Seconds from one look to the next, where nothing has happened since then, by the monotonic clock."""
    return min(max(_LEAST, (time.monotonic() - since) * _SHARE), _MOST)
