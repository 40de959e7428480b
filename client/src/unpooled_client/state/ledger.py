"""The ledger: everything that left this computer, written down before it is sent.

One JSON object a line, appended and never changed. Each line holds the digest of the line before it, so a
line that is altered or removed later shows. Beside it a small file, its head, has the number of lines and
the digest of the last, so that lines removed at the end show, too. Whoever can write both files could forge
both; the server's count of this cohort's bytes then differs. The ledger itself stays at the cohort.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unpooled.described.what_leaves import Form
from unpooled.errors import UnpooledError

_START = "0" * 64
_LOST = "f" * 64
"""Stands for the digest of a line that is not known any more."""
_IN_PLACE = os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0)
_APPEND = os.O_APPEND | os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0)


class LedgerError(UnpooledError):
    """A line of the ledger is not what was written."""


@dataclass(frozen=True)
class Entry:
    """One message: when, what, how large, in which form, and who can read it."""

    time: str
    quantity: str
    bytes: int
    """Number of bytes that travelled, without the headers of HTTP."""
    form: str
    to: str
    round: int | None = None
    arrays: tuple[str, ...] = ()
    """Declared names of the arrays in a share."""
    sha256: str = ""
    """Digest of the bytes as sent, so that a captured message can be matched to its line."""


class Ledger:
    """Appends to one ledger file. Safe to use from several threads of one client."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._mend()
        # Where lines are missing the chain goes on from the lost one, so that they are missed for ever.
        self._head = _damage(path)[0]

    def record(self, quantity: str, data: bytes, form: Form, to: str, **details: Any) -> Entry:
        """Write down, durably, that `data` is about to be sent."""
        digest = hashlib.sha256(data).hexdigest()
        entry = Entry(_now(), quantity, len(data), form.value, to, sha256=digest, **details)
        with self._lock:
            line = json.dumps({"previous": self._head.last} | asdict(entry), ensure_ascii=False).encode()
            _append(self.path, line + b"\n")
            # The line comes first: a crash in between leaves one more than the head has, which is no damage.
            self._head = Head(self._head.lines + 1, hashlib.sha256(line).hexdigest())
            self._head.write(head_path(self.path))
        return entry

    def _mend(self) -> None:
        """Take off half a line: it is what a crash leaves of a message never sent."""
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self.path, whole)


def _append(path: Path, line: bytes) -> None:
    """Add a line durably; OSError leaves the file as it was, so that no half line comes before another."""
    descriptor = os.open(path, _APPEND, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            # A full disk takes a part of a line without an error.
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Head:
    """End of a ledger: its number of lines, and the digest of the last."""

    lines: int = 0
    last: str = _START

    @classmethod
    def of(cls, lines: list[bytes]) -> Head:
        return cls(len(lines), hashlib.sha256(lines[-1]).hexdigest()) if lines else cls()

    @classmethod
    def read(cls, path: Path) -> Head | None:
        """The head that was written; None if there is none. ValueError if it cannot be read."""
        try:
            number, last = path.read_text(encoding="ascii").split()
        except FileNotFoundError:
            return None
        return cls(int(number), last)

    def write(self, path: Path) -> None:
        """Write in place, always at the same length: a crash leaves this head or the one before, which is as
        good.
        """
        descriptor = os.open(path, _IN_PLACE, 0o600)
        try:
            is_new = os.fstat(descriptor).st_size == 0
            os.write(descriptor, f"{self.lines:>15} {self.last}\n".encode())
            if is_new:  # else a computer that loses its power may have an empty one
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def head_path(ledger: Path) -> Path:
    """Return the path of a ledger's head."""
    return ledger.with_suffix(".head")


@dataclass(frozen=True)
class Total:
    """All messages of one quantity in one form to the same parties."""

    quantity: str
    form: str
    to: str
    messages: int
    bytes: int


def totals(entries: Iterable[Entry]) -> list[Total]:
    """Messages and bytes of each quantity, in the order in which they were first sent."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for entry in entries:
        found.setdefault((entry.quantity, entry.form, entry.to), []).append(entry.bytes)
    return [Total(*key, len(sizes), sum(sizes)) for key, sizes in found.items()]


def read(path: Path) -> Iterator[Entry]:
    """The entries in order; LedgerError at a line that does not continue the chain, or is missing."""
    previous = _START
    for number, line in enumerate(_lines(path), 1):
        try:
            values = json.loads(line)
            if values.pop("previous") != previous:
                raise LedgerError(f"{path}:{number}: the line before this one was changed or removed")
            yield Entry(**values | {"arrays": tuple(values["arrays"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LedgerError(f"{path}:{number}: this line was changed") from error
        previous = hashlib.sha256(line).hexdigest()
    if damage := _damage(path)[1]:
        raise LedgerError(damage)


def _damage(path: Path) -> tuple[Head, str]:
    """Return the head from which the chain continues, and any fault at the ledger's end, in words."""
    try:
        kept, problem = Head.read(head_path(path)), ""  # before the lines: one may be added meanwhile
    except (ValueError, OSError):
        kept, problem = None, f"{head_path(path)}:1: this line was changed"
    lines = _lines(path)
    found = Head.of(lines)
    if problem:
        return Head(len(lines), _LOST), problem
    if kept is None:
        if not lines:
            return found, ""
        return Head(len(lines), _LOST), f"{head_path(path)}:1: this file is missing"
    if kept.lines > len(lines):
        return kept, f"{path}:{len(lines) + 1}: {kept.lines - len(lines)} lines at the end were removed"
    if Head.of(lines[: kept.lines]) != kept:
        return Head(len(lines), _LOST), f"{path}:{kept.lines}: this line was changed"
    return found, ""  # a crash may have come between the last line and the head


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
