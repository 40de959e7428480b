"""Requests that wait until there is something to say.

A waiting request holds no thread, no query and no connection to the database. The web server keeps it (`held`
says how), one thread of the process looks for all that wait (`looker`), and when something is new the server
asks the same request again. Where the server keeps none, as in tests, a thread waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest

from unpooled_server.bells.connections import give_back_connection
from unpooled_server.bells.pacing import until_next_look
from unpooled_server.cohort_api.held import HELD, Held, NothingNew
from unpooled_server.models import Cohort
from unpooled_server.reads import asked

T = TypeVar("T")

QUIET = 25.0
"""Seconds that a request may wait in silence: proxies allow answers that take 30 (docs/operations.md)."""
LONGEST = 300.0
"""Seconds that a request may wait to which the server sends a byte now and then."""
RETRY_AFTER = 5
"""Seconds after which whoever finds no place should come again."""


def until(request: HttpRequest, cohort: Cohort, look: Callable[[], T | None]) -> T | None:
    """Return what `look` finds, or None once the request has waited for as long as it wants to.

    Raises NothingNew where the web server is to ask again.
    """
    held: Held | None = request.META.get(HELD)
    seconds, now = _wanted(request, held), time.monotonic()
    if held is None:
        return _in_this_thread(look, now + seconds)
    # Before it looks: what comes after that is other than what is known.
    known = asked.newest([cohort.study_id]).get(cohort.study_id)
    found, end = look(), now + seconds if held.until is None else held.until
    if found is None and end > now and has_place(request):
        raise NothingNew(known, end, seconds > QUIET)
    return found


def has_place(request: HttpRequest) -> bool:
    """Tell whether the web server could keep the request."""
    held: Held | None = request.META.get(HELD)
    return held is None or held.has_place


def _wanted(request: HttpRequest, held: Held | None) -> float:
    """Return the seconds that a request may wait."""
    longest = LONGEST if held and held.can_be_kept_alive else QUIET
    try:
        return min(max(0.0, float(request.GET.get("wait", "0"))), longest)  # 0 also of NaN
    except ValueError:
        return 0.0


def _in_this_thread(look: Callable[[], T | None], end: float) -> T | None:
    began = time.monotonic()
    while (found := look()) is None and time.monotonic() < end:
        give_back_connection()
        time.sleep(until_next_look(began))
    return found
