"""The worker without a broker: looks for what is to do when it rings, and does it on a few threads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Hashable
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections

from unpooled.methods import TESTS
from unpooled_server.bells import doorbell
from unpooled_server.bells.pacing import until_next_look
from unpooled_server.bells.warming import warm_up
from unpooled_server.errors import DATABASE_AWAY, first_line, logged_if_away
from unpooled_server.reads import selectors
from unpooled_server.services import rounds, studies, sweeping

log = logging.getLogger(__name__)

# Seconds between two looks while no study is at work: somebody who starts one hardly notices.
IDLE = 0.25
# The same while one is at work: whatever can be done next has rung, and a ring can be lost.
LOOK_ANYWAY = 0.1
# Seconds between two looks for studies that have begun or ended, while one is at work.
SURVEY = 1.0
# Seconds before the same job is done again: one that changes nothing would otherwise take all of a core.
RETRY = 2.0


class Worker:
    """Runs until `stop` is set."""

    def __init__(self, threads: int = 2, tests: Collection[str] = tuple(TESTS)) -> None:
        """Make a worker that loads the machine code of some tests while it has nothing else to do."""
        self._tests = tests
        self.stop = threading.Event()
        self._rung = threading.Event()
        self._done_at = 0.0
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="worker")
        self._not_before: dict[Hashable, float] = {}
        self._running: set[Hashable] = set()
        self._lock = threading.Lock()
        self._next_sweep = self._next_survey = 0.0
        self._live = False

    def run(self) -> None:
        self._pool.submit(warm_up, self._tests)
        hears = doorbell.listen(self._rung)
        while not self.stop.is_set():
            try:
                live = self._look()
            except DATABASE_AWAY as error:
                log.error("the database does not answer (%s); looks again", first_line(error))
                close_old_connections()
                self.stop.wait(RETRY)
                continue
            except Exception:
                log.exception("the worker could not look for work")
                close_old_connections()
                live = False
            pause = LOOK_ANYWAY if hears else until_next_look(self._done_at)
            if self._rung.wait(pause if live else IDLE):
                self._rung.clear()
                self._live = True
        self._pool.shutdown(wait=True)
        close_old_connections()

    def look(self) -> None:
        """Have it look at once."""
        self._rung.set()

    def _look(self) -> bool:
        """Hand what is to do to the threads; whether a study is at work, so that it pays to look often."""
        self._sweep_now_and_then()
        self._survey_now_and_then()
        if not self._live:
            return False
        for round_id in selectors.rounds_to_advance():
            self._do(round_id, 0, rounds.advance, round_id)
        for study_id, version in selectors.studies_to_advance():
            self._do(study_id, version, studies.advance, study_id)
        return True

    def _survey_now_and_then(self) -> None:
        now = time.monotonic()
        if now >= self._next_survey:
            for study_id in selectors.studies_to_clean():
                self._do(study_id, 0, studies.advance, study_id)
            self._live = selectors.is_anything_at_work()
            self._next_survey = now + (SURVEY if self._live else IDLE)

    def _sweep_now_and_then(self) -> None:
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + sweeping.INTERVAL
            with self._lock:
                # Else it would grow with each version of each study.
                self._not_before = {job: when for job, when in self._not_before.items() if when > now}
            self._do("sweep", 0, sweeping.sweep)

    def _do(self, what: Hashable, version: int, function: Callable[..., None], *arguments: object) -> None:
        """Do it unless it is being done, or this version of it was done just now."""
        with self._lock:
            if what in self._running or self._not_before.get((what, version), 0.0) > time.monotonic():
                return
            self._running.add(what)
        self._pool.submit(self._done, what, version, function, *arguments)

    def _done(self, what: Hashable, version: int, function: Callable[..., None], *arguments: object) -> None:
        try:
            with logged_if_away(log, f"work on {what}"):
                function(*arguments)
        except Exception:
            log.exception("work on %s", what)
        finally:
            close_old_connections()  # or back into the pool
            with self._lock:
                # By version: a study that has changed is looked at again at once.
                self._running.discard(what)
                self._not_before[what, version] = time.monotonic() + RETRY
            self._done_at = time.monotonic()
            self.look()  # what is done often brings what is next
