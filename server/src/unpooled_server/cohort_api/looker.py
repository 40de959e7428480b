"""Looks into the database for all requests that wait in this process, and notes whose they are.

One query asks about all their studies, and often about those that had news just now. Notices from the
database (LISTEN) or from Redis would save these queries, but a listener holds a connection, a lost notice has
to be found by looking all the same, and SQLite sends none.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from unpooled_server.bells.connections import give_back_connection
from unpooled_server.bells.pacing import MOST, until_next_look
from unpooled_server.cohort_api.held import Waits
from unpooled_server.errors import first_line
from unpooled_server.reads import asked
from unpooled_server.services import metering

log = logging.getLogger(__name__)

LONG = 1.0
"""Seconds after which a request waits for long: of quick rounds it is not written down who waits."""
HEARD_EVERY = 15.0
"""Seconds after which a client that still waits is written down as heard once more."""
NOTED_EVERY = 1.0
"""Seconds for which clients are gathered that are to be written down."""
_LIVELY = 4.0
"""Seconds after news for which a study is looked at in every look: then the looks are as slow as they get."""

Who = TypeVar("Who", bound=Hashable)


@dataclass
class _Waiting:
    wait: Waits
    note_at: float = field(default_factory=lambda: time.monotonic() + LONG)


@dataclass
class _Watched(Generic[Who]):
    """A study, and the requests that wait for news of it."""

    waiting: dict[Who, _Waiting] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)
    """When it last had news, or was first watched."""


class Looker(Generic[Who]):
    """Calls `wake` with each request for which there may be something new, or that has waited long enough."""

    def __init__(self, wake: Callable[[Who], None]) -> None:
        self._wake = wake
        self._changed = threading.Condition()
        self._studies: dict[str, _Watched[Who]] = {}
        self._is_running = False
        self._all_seen = 0.0

    def add(self, who: Who, wait: Waits) -> None:
        with self._changed:
            self._studies.setdefault(wait.cohort.study_id, _Watched()).waiting[who] = _Waiting(wait)
            if not self._is_running:  # not earlier: a process is forked after this was made
                self._is_running = True
                # Two threads, for notes wait where others have locked the database, and answers must not.
                self._keep(self._look, self._until_next_look)
                self._keep(self._note, lambda: NOTED_EVERY)
            self._changed.notify_all()

    def remove(self, who: Who, wait: Waits) -> None:
        """Forget a request whose client is gone."""
        with self._changed:
            if watched := self._studies.get(wait.cohort.study_id):
                watched.waiting.pop(who, None)

    def _keep(self, doing: Callable[[], None], pause: Callable[[], float]) -> None:
        """Do it again and again, on a thread of its own, while anybody waits."""

        def go_on() -> None:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._studies)
                try:
                    doing()
                except Exception as error:  # whatever it was: all who wait depend on the next time
                    log.error("requests that wait: %s", first_line(error))
                give_back_connection()
                time.sleep(pause())

        threading.Thread(target=go_on, name="looker", daemon=True).start()

    def _until_next_look(self) -> float:
        with self._changed:
            return until_next_look(max((watched.since for watched in self._studies.values()), default=0.0))

    def _look(self) -> None:
        now = time.monotonic()
        with self._changed:
            is_slow = now - self._all_seen >= MOST
            due = [pk for pk, watched in self._studies.items() if is_slow or now - watched.since < _LIVELY]
        self._all_seen = now if is_slow else self._all_seen
        seen = asked.newest(due) if due else {}
        with self._changed:
            for pk in due:
                self._wake_of(pk, seen.get(pk), now)

    def _wake_of(self, study_id: str, seen: object, now: float) -> None:
        watched = self._studies[study_id]
        for who, waiting in list(watched.waiting.items()):
            if waiting.wait.known != seen:
                watched.since = now
            elif waiting.wait.until > now:
                continue
            del watched.waiting[who]
            self._wake(who)
        if not watched.waiting and now - watched.since > _LIVELY:
            del self._studies[study_id]

    def _note(self) -> None:
        """Write down clients that begin to wait for long, and those that still wait."""
        now = time.monotonic()
        with self._changed:
            watched = [waiting for study in self._studies.values() for waiting in study.waiting.values()]
        due = [waiting for waiting in watched if waiting.note_at <= now]
        if due:
            metering.wait((each.wait.cohort, each.wait.instance, each.wait.doing) for each in due)
        for each in due:
            each.note_at = now + HEARD_EVERY
