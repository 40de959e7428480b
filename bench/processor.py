"""The processor time of each party of a rehearsal, looked at from outside while it runs (Linux)."""

from __future__ import annotations

import bisect
import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

EVERY = 0.02  # seconds; a look takes some 30 µs
PARTIES = {"unpooled_client": "client", "unpooled_compensator": "compensator", "unpooled_webapp": "platform"}


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
        """Seconds of processor time of each party between two times, in seconds since 1970."""
        found: dict[str, float] = defaultdict(float)
        for pid, looks in self._looks.items():
            found[self._party(pid)] += _at(looks, until) - _at(looks, since)
        return dict(found)

    def _party(self, pid: int) -> str:
        return " ".join(self._words.get(pid, ["?"])[2:8])

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            for pid in _descendants(self._root):
                with contextlib.suppress(OSError):
                    self._looks[pid].append((time.time(), _processor(pid)))
                    if words := Path(f"/proc/{pid}/cmdline").read_text():  # none of one that has ended
                        self._words[pid] = words.split("\0")


def _descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _descendants(child)


def _processor(pid: int) -> float:
    """Seconds that a process has used, by its clock: proc(5) counts hundredths."""
    return time.clock_gettime(~pid << 3 | 2)


def _at(looks: list[tuple[float, float]], when: float) -> float:
    place = bisect.bisect(looks, (when, float("inf")))
    return looks[place - 1][1] if place else 0.0
