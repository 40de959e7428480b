"""Text of a notice: which study, how it stands, and where to look. It has no data."""

from __future__ import annotations

import json

from django.conf import settings

from unpooled_server.models import Study
from unpooled_server.names import StudyState
from unpooled_webapp.models import Delivery, Event

_STATES = {
    Event.DONE: StudyState.DONE,
    Event.PAUSED: StudyState.PAUSED,
    Event.FAILED: StudyState.FAILED,
    Event.WAITED: StudyState.PAUSED,
}

_SAID = {
    Event.DONE: "is done. Its results are there.",
    Event.PAUSED: "is paused. Its page says why.",
    Event.FAILED: "has failed. Its page says why, and what can be done.",
    Event.WAITED: "waits for a cohort that has not been heard of for a while. Its page says which.",
}


def subject(delivery: Delivery) -> str:
    """One line, whatever the study is called."""
    if delivery.study is None:
        return "A trial from Unpooled"
    event = Event(delivery.event)
    state = "waits for a cohort" if event == Event.WAITED else event.label.lower()
    return f"{' '.join(delivery.study.name.split())}: {state}"


def text(delivery: Delivery) -> str:
    """The whole of a mail."""
    if delivery.study is None:
        said = "This is a trial. Notices about your studies will come to this address."
    else:
        said = f"The study “{delivery.study.name}” {_SAID[Event(delivery.event)]}"
    link = _link(delivery.study)
    foot = "You asked for this on your account's page, under Notifications, where you can also end it."
    return "\n\n".join(part for part in (said, link, foot) if part) + "\n"


def payload(delivery: Delivery) -> bytes:
    """Return the body of a webhook's request: the same bytes at every try."""
    study = delivery.study
    body = {
        "id": str(delivery.pk),
        "event": delivery.event,
        "time": delivery.time.isoformat(),
        "study": study and {"id": study.pk, "name": study.name, "state": _STATES[Event(delivery.event)]},
        "link": _link(study),
    }
    return json.dumps(body, separators=(",", ":")).encode()


def _link(study: Study | None) -> str:
    """Return the address at which to look; empty if the platform has not been told its own address."""
    if not settings.UNPOOLED_PUBLIC_URL:
        return ""
    return (
        f"{settings.UNPOOLED_PUBLIC_URL}/studies/{study.pk}" if study else f"{settings.UNPOOLED_PUBLIC_URL}/"
    )
