"""How often somebody may try something, such as a password: counts that are forgotten after a while.

They lie in Redis, so that several processes see the same; while Redis is away each process counts for itself.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from django.core.cache import caches
from django.core.cache.backends.base import BaseCache

from unpooled_server.errors import Refused

log = logging.getLogger(__name__)

WINDOW = 300  # seconds
T = TypeVar("T")


def count(keys: Mapping[str, int], said: str = "Too many attempts to sign in.") -> None:
    """Count a try under each key; Refused if there were more than its number within the window.

    The first key that is spent ends it: an address that may not try any more makes no entries for names,
    which would push others out of the cache.
    """
    if any(_with_cache(functools.partial(_more, key)) > most for key, most in keys.items()):
        raise Refused(
            "too-many-tries",
            said,
            "Wait five minutes, then try again.",
            status=429,
        )


def take_back(key: str) -> None:
    """Count one try less: it did not fail. The others under this key stay counted."""
    _with_cache(lambda cache: _add(cache, key, -1))


def forget(key: str) -> None:
    """Count none of the tries under this key."""
    _with_cache(lambda cache: cache.delete(_stored(key)))


def _more(key: str, cache: BaseCache) -> int:
    """How often this was tried within the window, this time included."""
    cache.add(_stored(key), 0, WINDOW)
    return _add(cache, key, 1)


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
