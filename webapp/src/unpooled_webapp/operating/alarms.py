"""Tells the operators when something begins to be wrong, and when it is well again: once each.

It keeps what it knows in a file, for the database may be what is wrong.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

from unpooled_server.services import keeping
from unpooled_webapp.models import Channel, ChannelKind
from unpooled_webapp.notices import delivering, webhooks
from unpooled_webapp.notices.webhooks import Undelivered
from unpooled_webapp.operating import probes

log = logging.getLogger(__name__)

LOW = 0.1
"""Share of the disk below which its operator hears of it, while there is time to make room."""


@dataclass(frozen=True)
class Alarm:
    """A state that operators should know of."""

    name: str
    is_wrong: Callable[[], bool]
    begins: str
    ends: str
    lasts: float = 0.0
    """Seconds that it must last: what is back within them is nobody's concern."""


def _is_disk_low() -> bool:
    total, free = keeping.disk()
    return free < LOW * total


ALARMS = (
    Alarm(
        "database",
        lambda: not probes.is_ok("database"),
        "The platform's database does not answer.",
        "The platform's database answers again.",
    ),
    Alarm(
        "compensator",
        lambda: not probes.is_ok("compensator"),
        "The compensator has not answered for five minutes. Studies pause until it does.",
        "The compensator answers again.",
        lasts=300.0,
    ),
    Alarm(
        "disk",
        _is_disk_low,
        f"Less than {LOW:.0%} of the platform's disk is free. Make room.",
        f"More than {LOW:.0%} of the platform's disk is free again.",
    ),
    Alarm(
        "sweep",
        lambda: not probes.is_ok("sweep"),
        "No worker has looked at the studies for a minute. Start one, or look at its log.",
        "A worker looks at the studies again.",
    ),
)


def look(now: float) -> None:
    """Look whether anything has begun or ended, and tell it; `now` is in seconds since whenever."""
    if not settings.UNPOOLED_OPERATORS:
        return
    with _alone() as is_alone:
        if is_alone:
            for alarm in ALARMS:
                _look_at(alarm, now)


def _look_at(alarm: Alarm, now: float) -> None:
    known = _read()
    before = known.get(alarm.name)
    if not alarm.is_wrong():
        if before:
            _change(known, alarm.name, None)
            if before["told"] and not _tell_all(alarm, alarm.ends):
                _change(known, alarm.name, before)
        return
    since = before["since"] if before else now
    is_due = now - since >= alarm.lasts and not (before and before["told"])
    # Written first: on a full disk it cannot be, and would be told at each look.
    _change(known, alarm.name, {"since": since, "told": is_due or bool(before and before["told"])})
    if is_due and not _tell_all(alarm, alarm.begins):
        _change(known, alarm.name, {"since": since, "told": False})


def _file() -> Path:
    return Path(settings.UNPOOLED_HOME) / "alarms.json"


def _read() -> dict[str, Any]:
    try:
        return dict(json.loads(_file().read_text()))
    except (FileNotFoundError, ValueError):
        return {}


def _change(known: dict[str, Any], name: str, value: dict[str, Any] | None) -> None:
    if known.get(name) == value:
        return
    known.pop(name, None)
    if value is not None:
        known[name] = value
    draft = _file().with_suffix(".draft")
    draft.write_text(json.dumps(known))
    draft.replace(_file())


@contextmanager
def _alone() -> Iterator[bool]:
    """Tell whether no other worker looks at this moment: it would send the same."""
    file = os.open(_file().with_suffix(".lock"), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(file)


def _tell_all(alarm: Alarm, text: str) -> bool:
    """Tell all operators; whether one of them heard."""
    log.warning("%s", text)
    told = [tell(address, alarm.name, text) for address in settings.UNPOOLED_OPERATORS]
    return any(told)


def tell(address: str, event: str, text: str) -> bool:
    """Send a mail or a request; whether it got there."""
    try:
        if "://" in address:
            body = json.dumps({"event": event, "text": text, "link": settings.UNPOOLED_PUBLIC_URL})
            webhooks.deliver(channel(address), os.urandom(16).hex(), body.encode())
        else:
            where = settings.UNPOOLED_PUBLIC_URL
            delivering.send(EmailMessage(f"Unpooled: {text}", f"{text}\n\n{where}\n", to=[address]))
    except Undelivered as error:
        log.error("an operator could not be told: %s", error)
        return False
    return True


def channel(address: str) -> Channel:
    """Return an operator's webhook, which is in no table; its secret follows from its address."""
    return Channel(kind=ChannelKind.WEBHOOK, address=address, nonce=f"operators {address}")
