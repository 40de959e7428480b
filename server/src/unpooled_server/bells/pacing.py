"""Pace at which a waiting party looks into the database: often while things happen, ever less while nothing
does.
"""

from __future__ import annotations

import time

# Seconds. The least is what a quick round may wait for a look, the most what a study that rests costs looks.
_LEAST, MOST = 0.005, 0.1
_SHARE = 1 / 40
"""Pause between looks, as a share of the time waited so far, within the bounds above: a wait ends late by no
more.
"""


def until_next_look(since: float) -> float:
    """Seconds from one look to the next, where nothing has happened since then, by the monotonic clock."""
    return min(max(_LEAST, (time.monotonic() - since) * _SHARE), MOST)
