"""State shared by the phases of one run: the connection to the server, the saved state, the ledger, and
waiting.

The phases are generators of events. Whatever takes time runs in a thread beside them, so that they can keep
reporting what happens: that the server does not answer, that the study is waiting for somebody.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

from unpooled.described import what_leaves
from unpooled.described.what_leaves import Form
from unpooled.errors import UnpooledError
from unpooled.protocol import bodies
from unpooled_client.network.answers import Study
from unpooled_client.network.api import Api, Trouble
from unpooled_client.state import events
from unpooled_client.state.folder import Saved, StateFolder
from unpooled_client.state.ledger import Ledger

T = TypeVar("T")

TICK = 0.25
"""Seconds between two looks at what else there is to tell."""

SILENT_TROUBLE = 1.0
"""Seconds for which a server that does not answer is nobody's concern: a restart of it takes so long."""

BEFORE = ("draft", "open", "ready")
OVER = ("done", "aborted", "failed")


class StudyEnded(UnpooledError):
    """The study ended without results."""

    def __init__(self, study: Study) -> None:
        self.state, self.reason = study.state, study.reason
        ended = "failed" if study.state == "failed" else f"was {study.state}"
        super().__init__(f"the study {ended}: {study.reason}".rstrip(": "))


class Session:
    """One run of one client. Its methods that are generators yield the events of the time that they take."""

    def __init__(self, folder: StateFolder, saved: Saved, api: Api, threads: int) -> None:
        self.folder, self.saved, self.api, self.threads = folder, saved, api, threads
        self.ledger = Ledger(folder.ledger)
        self.asked: events.ReviewNeeded | events.ReleaseNeeded | None = None
        self.decision: Future[bool] = Future()
        """Answer of the person to `asked`."""
        self.files_changed = False
        """True if the files for which a person released what leaves have changed under the same paths."""
        self.seconds: dict[str, float] = {}
        self._lock = threading.Lock()
        self._reported: Trouble | None = None
        self._waiting: events.Waiting | None = None
        self._news: events.Event | None = None

    def ask(self, question: events.ReviewNeeded | events.ReleaseNeeded) -> Iterator[events.Event]:
        """Have a person asked; the answer comes as `decision`."""
        self.decision, self.asked = Future(), question
        yield question

    @property
    def asks_anew(self) -> bool:
        """True if what is asked would replace what a person accepted earlier."""
        if isinstance(self.asked, events.ReleaseNeeded):
            return self.files_changed or self.saved.released not in (b"", bytes.fromhex(self.asked.plan_hash))
        return bool(self.saved.agreement) or self.files_changed

    def save(self, **changes: Any) -> None:
        """Change what is remembered; it is on disk when this returns."""
        self.saved = dataclasses.replace(self.saved, **changes)
        self.folder.save(self.saved)

    def spawn(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        """Begin some work beside. The thread does not keep the program from ending."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = work(*arguments)
            except BaseException as error:  # whoever asks for the result gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        # No pool: its threads would be waited for at the end, and one may hang in a request of minutes.
        threading.Thread(target=run, daemon=True).start()
        return future

    def wait_for(self, work: Callable[..., T], *arguments: Any) -> Generator[events.Event, None, T]:
        """The result of some work that is done beside."""
        future = self.spawn(work, *arguments)
        yield from self.until_one([future])
        return future.result()

    def tell(self, event: events.Event) -> None:
        """Tell of the progress of some work soon, from its thread. Of several events the last one counts."""
        self._news = event

    def until_one(self, futures: Collection[Future[Any]]) -> Iterator[events.Event]:
        """Wait until at least one is done."""
        # Woken at intervals: trouble and progress are no futures that could be waited for.
        while not wait(futures, timeout=TICK, return_when=FIRST_COMPLETED).done:
            yield from self._trouble()
            yield from self._progress_beside()
        yield from self._trouble()
        yield from self._progress_beside()

    def study(self) -> Generator[events.Event, None, Study]:
        """The study as it is now."""
        return (yield from self.wait_for(self.api.study))

    def waiting(
        self, what: str, names: tuple[str, ...], waits: tuple[str, ...] = ()
    ) -> Iterator[events.Event]:
        """Tell for whom we wait, once each time that it changes."""
        told = self._waiting
        if told is None or (told.what, told.names, told.waits) != (what, names, waits):
            self._waiting = events.Waiting(what, names, time.time(), waits)
            yield self._waiting

    def not_waiting(self) -> None:
        self._waiting = None

    def record(self, quantity: str, data: bytes, form: Form, to: str, **details: Any) -> events.Sent:
        """Write into the ledger what is about to be sent; the event that tells so."""
        self.ledger.record(quantity, data, form, to, **details)
        return events.Sent(quantity, len(data), form, details.get("round"))

    @contextlib.contextmanager
    def clock(self, phase: str) -> Iterator[None]:
        """Count the seconds of a phase."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.count(phase, time.perf_counter() - started)

    def count(self, phase: str, seconds: float) -> None:
        # Shares are computed in several threads, each of which counts its seconds.
        with self._lock:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def report_timing(self) -> Generator[events.Event, None, Future[None]]:
        """Tell the coordinator how long what took; whole seconds say little of this cohort's size."""
        timing = {phase: round(value) for phase, value in self.seconds.items()}
        yield self.record(what_leaves.TIMING, bodies.timing(timing), Form.CLEAR, what_leaves.TO_COORDINATOR)
        return self.spawn(self.api.report_timing, timing)

    def _progress_beside(self) -> Iterator[events.Event]:
        # A report that comes between the two is lost, and the next one says more.
        event, self._news = self._news, None
        if event is not None:
            yield event

    def _trouble(self) -> Iterator[events.Event]:
        trouble, told = self.api.trouble, self._reported
        if trouble is None:
            self._reported = None
            if told is not None:
                yield events.Reachable(self.api.server, time.time() - told.since)
        elif time.time() - trouble.since > SILENT_TROUBLE and (told is None or told.reason != trouble.reason):
            self._reported = trouble
            yield events.Unreachable(self.api.server, trouble.reason, trouble.since)
