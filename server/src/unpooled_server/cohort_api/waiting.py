"""Long polls: an answer waits until there is something to say.

Cohorts of one study wait for the same thing, and together. So one of them looks into the database, often and
cheaply, whether anything is new, and the others look for what is new to them only when it has seen something.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest

from unpooled_server.bells.connections import give_back_connection
from unpooled_server.bells.pacing import until_next_look
from unpooled_server.reads import selectors

LOOK_ANYWAY = 1.0
"""Seconds after which everybody looks: not all that can be new to somebody shows in what is watched."""
# Seconds that a request may wait. A proxy has to allow answers that take 30 (docs/operations.md).
LONGEST = 25.0
LONG = 1.0
"""Seconds after which an answer takes long: quick rounds are not written down twice."""
T = TypeVar("T")

# Places for requests that wait. The other threads of a process stay free for those that bring something.
_places = threading.BoundedSemaphore(settings.UNPOOLED_LONG_POLLS)


class Watch:
    """Watch on one study's news, shared by all who wait for it in this process."""

    def __init__(self, study_id: str) -> None:
        self.waiters = 0
        self.seen: object = None
        """Result of the last look; None before the first."""
        self._study_id = study_id
        self._since = time.monotonic()
        self._leads = False
        self._turn = threading.Condition()

    def until_other(self, known: object, seconds: float) -> object:
        """Wait until something else than `known` is seen, or for so many seconds; return what is seen."""
        until = time.monotonic() + seconds
        while self.seen == known and (left := until - time.monotonic()) > 0:
            with self._turn:
                # Until there is news, or nobody leads any more: then this one does.
                self._turn.wait_for(lambda: not self._leads or self.seen != known, left)
                if self._leads or self.seen != known:
                    continue
                self._leads = True
            try:
                self._lead(until)
            finally:
                with self._turn:
                    self._leads = False
                    self._turn.notify_all()  # of the news, or so that another one leads
        return self.seen

    def _lead(self, until: float) -> None:
        """Look for all until there is something new."""
        while (now := time.monotonic()) < until:
            seen = selectors.newest(self._study_id)
            give_back_connection()
            if seen != self.seen:
                self.seen, self._since = seen, now
                return
            time.sleep(until_next_look(self._since))


_watches: dict[str, Watch] = {}
_entering = threading.Lock()


@contextmanager
def _watch(study_id: str) -> Iterator[Watch]:
    """The study's watch, which lasts as long as somebody waits."""
    # The lock, so that nobody takes a watch which the last one to leave is just deleting.
    with _entering:
        watch = _watches.get(study_id) or _watches.setdefault(study_id, Watch(study_id))
        watch.waiters += 1
    try:
        yield watch
    finally:
        with _entering:
            watch.waiters -= 1
            if not watch.waiters:
                del _watches[study_id]


def wanted_seconds(request: HttpRequest) -> float:
    try:
        return min(max(0.0, float(request.GET.get("wait", "0"))), LONGEST)  # 0 also of NaN
    except ValueError:
        return 0.0


def until(
    study_id: str, look: Callable[[], T | None], seconds: float, takes_long: Callable[[], None]
) -> T | None:
    """Return what `look` finds, looking again whenever the study has something new, for so many seconds.

    Without a free place it waits a little only. `takes_long` is called once, when nothing was found for a
    while.

    A waiting request holds a thread of the web server; some threads must stay free for shares.
    """
    if seconds <= 0:
        return look()
    with _watch(study_id) as watch:
        known = watch.seen  # before it looks: what comes after that is other than what is known
        if (found := look()) is not None:
            return found
        if not _places.acquire(blocking=False):
            give_back_connection()
            time.sleep(min(seconds, 1.0))
            return look()
        try:
            return _look_until(watch, known, look, seconds, takes_long)
        finally:
            _places.release()


def _look_until(
    watch: Watch, known: object, look: Callable[[], T | None], seconds: float, takes_long: Callable[[], None]
) -> T | None:
    began, is_told = time.monotonic(), False
    while (waited := time.monotonic() - began) < seconds:
        if waited > LONG and not is_told:
            takes_long()
            is_told = True
        give_back_connection()
        known = watch.until_other(known, min(LOOK_ANYWAY, seconds - waited))
        if (found := look()) is not None:
            return found
    return None
