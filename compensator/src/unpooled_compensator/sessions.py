"""Comparisons that are under way, in memory only: what one is at follows from the messages sent again.

The disk holds a digest of each message (`store`). So a session that is gone, after a crash or because others
needed the room, begins anew with the same messages, and gives the same answers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from unpooled.protocol.two_party import Lengths

MAX_BYTES = 1 << 30
"""Maximum bytes of all sessions together, but the last: one is always kept, however large."""

_TIMES = 4
"""A session takes at most so many times the bytes of its messages and its dealing: 3.8 as measured."""

Side = Generator[bytes, bytes, None]
Key = tuple[str, int]  # study, round


@dataclass(eq=False)
class Session:
    """One comparison, as far as it has come. `begin` makes this side of it, at the first message."""

    lengths: Lengths
    begin: Callable[[], Side] = field(repr=False)
    answers: list[bytes] = field(default_factory=list, repr=False)
    _side: Side | None = field(default=None, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def size(self) -> int:
        """Bytes that it may take."""
        found = self.lengths
        return _TIMES * (found.dealing + sum(found.server) + sum(found.compensator))

    @property
    def is_over(self) -> bool:
        return len(self.answers) == len(self.lengths.server)

    def answer(self, number: int, message: bytes) -> bytes:
        """The answer to turn `number`, from 1: one that was given already, or the next. The caller locks."""
        # An answer that was lost on its way is given again: the other side must not be one turn behind.
        if number > len(self.answers):
            if self._side is None:
                self._side = self.begin()
                next(self._side)
            self.answers.append(self._side.send(message))
        return self.answers[number - 1]


class Sessions:
    """The sessions of all studies. Who was not asked for longest makes way for others."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Key, Session] = OrderedDict()
        self._lock = threading.Lock()

    def found_or(self, key: Key, new: Session) -> Session:
        """The session of a round, or this new one if there is none."""
        with self._lock:
            # The one that is there, if two ask at once: both play the same turns, under its own lock.
            session = self._kept.setdefault(key, new)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and sum(each.size for each in self._kept.values()) > self._max_bytes:
                self._kept.popitem(last=False)
        return session

    def found(self, key: Key) -> Session | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def drop(self, key: Key) -> None:
        with self._lock:
            self._kept.pop(key, None)

    def drop_study(self, study: str) -> None:
        with self._lock:
            for key in [key for key in self._kept if key[0] == study]:
                del self._kept[key]
