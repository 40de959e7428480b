"""Reports of errors to an address that understands Sentry's protocol, if the operator sets one.

A report says which line of the program failed, with which error, in which request and study, and no more: no
message of an error, value, address, header, body or name of somebody, for these can be of people or secret.
The log has the message, under the request's number.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from django.conf import settings
from structlog.contextvars import get_contextvars

_KEPT = ("event_id", "timestamp", "platform", "level", "logger", "release", "exception", "transaction", "sdk")
_TAGS = ("request", "study", "round")


def begin() -> None:
    """Report what goes wrong from now on; SystemExit if the address is none, or the library is not there."""
    if not settings.UNPOOLED_ERROR_REPORTS:
        return
    try:
        import sentry_sdk
        from sentry_sdk.integrations.logging import ignore_logger
        from sentry_sdk.utils import BadDsn
    except ImportError:
        raise SystemExit("UNPOOLED_ERROR_REPORTS: install sentry-sdk, or unset it") from None
    try:
        sentry_sdk.init(
            settings.UNPOOLED_ERROR_REPORTS,
            release=version("unpooled-webapp"),
            before_send=without_what_people_sent,
            send_default_pii=False,
            max_request_body_size="never",
            include_local_variables=False,
            max_breadcrumbs=0,
            auto_session_tracking=False,
            trace_propagation_targets=[],  # others are told of no report
        )
        ignore_logger("django.security.DisallowedHost")  # anybody can ask by a wrong name
    except BadDsn:
        raise SystemExit("UNPOOLED_ERROR_REPORTS: want the address of a project (DSN)") from None


def without_what_people_sent(event: Any, hint: Any) -> Any:
    """Keep what the program is, and leave out what anybody sent, or is called."""
    kept = {name: event[name] for name in _KEPT if name in event}
    for error in kept.get("exception", {}).get("values", ()):
        error.pop("value", None)
    logged = event.get("logentry", {})
    if logged.get("params"):  # else the message may have been put together before
        kept["logentry"] = {"message": logged["message"]}
    kept["tags"] = {name: str(value) for name, value in get_contextvars().items() if name in _TAGS}
    return kept
