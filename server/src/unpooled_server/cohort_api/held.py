"""Requests that wait, as web server and views describe them to each other.

The web server imports this before Django is set up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import HttpResponse

if TYPE_CHECKING:
    from unpooled_server.models import Cohort

HELD = "unpooled.held"
"""Key of the WSGI environment under which a web server that keeps requests puts what it knows of this one."""


@dataclass(frozen=True)
class Held:
    """Facts about a request that only a web server which keeps requests knows."""

    has_place: bool
    """False where it keeps as many as it can."""
    can_be_kept_alive: bool
    """True where it can send bytes before the answer."""
    until: float | None = None
    """The end of its wait, by the monotonic clock; None when it is asked for the first time."""
    waiting: int = 0
    """Number of requests that it keeps now."""
    places: int = 0
    """Number of requests that it can keep."""


class NothingNew(Exception):
    """Raised in a view where its request is to wait."""

    def __init__(self, known: object, until: float, is_long: bool) -> None:
        super().__init__()
        self.known = known
        """The study's `asked.newest` before the request looked."""
        self.until = until
        """The end of its wait, by the monotonic clock."""
        self.is_long = is_long
        """True if it wants to wait for longer than in silence: bytes have to keep it alive."""


class Waits(HttpResponse):
    """No answer yet: the web server asks again once there is news of the study, or the wait is over."""

    def __init__(self, cohort: Cohort, instance: str, doing: str, found: NothingNew) -> None:
        super().__init__(status=503)  # for a server that does not know what it means
        self._has_been_logged = True  # Django's own mark: it is no error
        self.cohort, self.instance, self.doing = cohort, instance, doing
        self.known, self.until, self.is_long = found.known, found.until, found.is_long
