"""The processor time of each party of a rehearsal, looked at from outside while it runs; on Linux only."""

from __future__ import annotations

import bisect
import contextlib
import resource
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

from memory import descendants

EVERY = 0.02  # seconds; a look takes some tenths of a millisecond
PARTIES = {
    "unpooled_client": "clients",
    "compensator": "compensator",
    "unpooled_compensator": "compensator",
    "web": "web",
    "gunicorn": "web",
    "worker": "worker",
}
"""Each party by its name or by words of its command line; all other processes only watch."""


class Watch:
    """Looks at all descendants of a process until it is stopped."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._looks: dict[int, list[tuple[float, float]]] = defaultdict(list)
        self._words: dict[int, list[str]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def spent(self, since: float, until: float) -> dict[str, float]:
        """Add up each party's seconds of processor time between two times, in seconds since 1970."""
        found: Counter[str] = Counter()
        for pid, looks in self._looks.items():
            found[self._party(pid)] += _at(looks, until) - _at(looks, since)
        return dict(found)

    def _party(self, pid: int) -> str:
        words = self._words.get(pid, [])
        return next((party for word, party in PARTIES.items() if word in words), "others")

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            for pid in descendants(self._root):
                with contextlib.suppress(OSError):  # it has ended
                    self._looks[pid].append((time.time(), processor_seconds(pid)))
                    if words := Path(f"/proc/{pid}/cmdline").read_text():
                        name = Path(f"/proc/{pid}/comm").read_text().strip()  # of one that was forked
                        self._words[pid] = [name, *words.split("\0")]


def processor_seconds(pid: int) -> float:
    """Read a process's own clock of processor time, as clock_getcpuclockid(3) names it.

    What /proc tells is in hundredths of a second.
    """
    return time.clock_gettime(~pid << 3 | 2)


def seconds_of_children() -> float:
    """Return the seconds of processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _at(looks: list[tuple[float, float]], when: float) -> float:
    place = bisect.bisect(looks, (when, float("inf")))
    return looks[place - 1][1] if place else 0.0
