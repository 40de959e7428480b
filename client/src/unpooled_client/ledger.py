"""The ledger: everything that left this computer, written down before it is sent.

One JSON object a line, appended and never changed. Each line holds the digest of the line before it, so a
line that is altered or taken out later shows. The ledger itself stays at the cohort.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unpooled.errors import UnpooledError
from unpooled.leaving import Form

_START = "0" * 64
_APPEND = os.O_APPEND | os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0)


class LedgerError(UnpooledError):
    """A line of the ledger is not what was written."""


@dataclass(frozen=True)
class Entry:
    """One message: when, what, how large, in which form, and who can read it."""

    time: str
    quantity: str
    bytes: int
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
        self._last = _START
        self._mend()

    def record(self, quantity: str, data: bytes, form: Form, to: str, **details: Any) -> Entry:
        """Write down, durably, that `data` is about to be sent."""
        digest = hashlib.sha256(data).hexdigest()
        entry = Entry(_now(), quantity, len(data), form.value, to, sha256=digest, **details)
        with self._lock:
            line = json.dumps({"previous": self._last} | asdict(entry), ensure_ascii=False).encode()
            with os.fdopen(os.open(self.path, _APPEND, 0o600), "ab") as file:
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._last = hashlib.sha256(line).hexdigest()
        return entry

    def _mend(self) -> None:
        """Take up the chain at the last line. Half a line is what a crash leaves of a message never sent."""
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))
        if whole:
            self._last = hashlib.sha256(whole[:-1].rpartition(b"\n")[2]).hexdigest()


def read(path: Path) -> Iterator[Entry]:
    """The entries in order; LedgerError at a line that does not continue the chain."""
    previous = _START
    for number, line in enumerate(_lines(path), 1):
        try:
            values = json.loads(line)
            if values.pop("previous") != previous:
                raise LedgerError(f"{path}:{number}: the line before this one was changed or taken out")
            yield Entry(**values | {"arrays": tuple(values["arrays"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LedgerError(f"{path}:{number}: this line was changed") from error
        previous = hashlib.sha256(line).hexdigest()


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
