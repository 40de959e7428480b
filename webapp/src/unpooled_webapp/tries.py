"""Limits on how often, and how soon, somebody may try something, such as a password: counts that are
forgotten.

They lie in Redis, so that several processes see the same; while Redis is away each process counts for itself.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache

from unpooled_server.errors import Refused

log = logging.getLogger(__name__)

WINDOW = 300  # seconds
AT_ONCE, STEP, LONGEST = 24, 0.5, 16.0
"""Tries that wait for nothing; seconds that each further one waits longer than the one before; at most."""
MONTH = 30 * 24 * 3600
sleep: Callable[[float], None] = time.sleep
T = TypeVar("T")


def count(keys: Mapping[str, int], said: str = "Too many attempts to sign in.") -> None:
    """Count a try under each key; Refused if there were more than its number within the window.

    The first key that is spent ends it: an address that may not try any more makes no entries for names,
    which would push others out of the cache.
    """
    if any(_with_cache(functools.partial(_more, key)) > most for key, most in keys.items()):
        raise Refused("too-many-tries", said, "Wait five minutes, then try again.", status=429)


def slow_down(key: str) -> None:
    """Count a try under a key, and wait the longer the more there were within the window.

    Whoever waits holds a thread. So few wait at once; Refused for those beyond.
    """
    seconds = min(LONGEST, STEP * (_with_cache(functools.partial(_more, key)) - AT_ONCE))
    if seconds <= 0:
        return
    if not _waiting().acquire(blocking=False):
        raise Refused(
            "too-many-tries",
            "Many are trying to sign in with this name.",
            "Try again in a minute, or from where you signed in before.",
            status=429,
        )
    try:
        sleep(seconds)
    finally:
        _waiting().release()


@functools.cache
def _waiting() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(max(1, settings.UNPOOLED_THREADS // 8))


def remember(key: str) -> None:
    """Know this key for a month."""
    _with_cache(lambda cache: cache.set(_stored(f"known:{key}"), 1, MONTH))


def is_known(key: str) -> bool:
    return _with_cache(lambda cache: cache.get(_stored(f"known:{key}")) is not None)


def take_back(key: str) -> None:
    """Count one try less: it did not fail. The others under this key stay counted."""
    _with_cache(lambda cache: _add(cache, key, -1))


def forget(key: str) -> None:
    """Count none of the tries under this key."""
    _with_cache(lambda cache: cache.delete(_stored(key)))


def _more(key: str, cache: BaseCache) -> int:
    """Count how often this was tried within the window, this time included."""
    cache.add(_stored(key), 0, WINDOW)
    return _add(cache, key, 1)


# Redis adds atomically, and so does the memory's cache under its lock: no two tries are counted as one.
def _add(cache: BaseCache, key: str, number: int) -> int:
    try:
        return int(cache.incr(_stored(key), number))
    except ValueError:  # it expired in between
        return 1


def _with_cache(use: Callable[[BaseCache], T]) -> T:
    try:
        return use(caches["default"])
    except Exception as error:  # whatever Redis' library raises
        log.error("sign-ins are counted by each process for itself: Redis does not answer (%s)", error)
        return use(caches["of this process"])


def _stored(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
