"""Long polls: an answer waits until there is something to say, by a cheap look into the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest

from unpooled_server.lending import give_back_connection

LOOK_EVERY = 0.05
LONGEST = 25.0
LONG = 1.0
"""Seconds after which an answer takes long: quick rounds are not written down twice."""
T = TypeVar("T")

_places = threading.BoundedSemaphore(settings.UNPOOLED_LONG_POLLS)


def wanted_seconds(request: HttpRequest) -> float:
    try:
        return min(max(0.0, float(request.GET.get("wait", "0"))), LONGEST)  # 0 also of NaN
    except ValueError:
        return 0.0


def until(look: Callable[[], T | None], seconds: float, takes_long: Callable[[], None]) -> T | None:
    """What `look` finds, looking again and again for so long. Without a free place it waits a little only.

    `takes_long` is called once, when nothing was found for a while.

    A waiting request holds a thread of the web server; some threads must stay free for shares.
    """
    found = look()
    if found is not None or seconds <= 0:
        return found
    if not _places.acquire(blocking=False):
        give_back_connection()
        time.sleep(min(seconds, 1.0))
        return look()
    try:
        return _look_until(look, seconds, takes_long)
    finally:
        _places.release()


def _look_until(look: Callable[[], T | None], seconds: float, takes_long: Callable[[], None]) -> T | None:
    began, is_told = time.monotonic(), False
    pause = LOOK_EVERY / 4  # the next question is often near
    while (waited := time.monotonic() - began) < seconds:
        if waited > LONG and not is_told:
            takes_long()
            is_told = True
        give_back_connection()
        time.sleep(pause)
        if (found := look()) is not None:
            return found
        pause = min(pause * 1.5, LOOK_EVERY)
    return None
