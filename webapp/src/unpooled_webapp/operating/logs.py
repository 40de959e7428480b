"""Each request becomes a line of the log and, where an address for traces is set, a span."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import MiddlewareNotUsed
from django.http import FileResponse, HttpRequest, HttpResponseBase
from structlog.contextvars import bind_contextvars, clear_contextvars

from unpooled_server import traces
from unpooled_server.cohort_api.held import Waits
from unpooled_webapp.middleware import Middleware

log = logging.getLogger("unpooled.access")

_REQUEST_NUMBER = re.compile("[0-9A-Za-z-]{1,64}")


class AccessLog(Middleware):
    """Writes a line for each request, and gives every other line that it causes the request's number.

    A query, a header or a body may hold secrets: none is logged.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        clear_contextvars()  # of what the thread did before
        bind_contextvars(request=_number(request))
        began = time.monotonic()
        response = self.get_response(request)
        if not isinstance(response, Waits):  # it will be asked again
            log.info("answered", extra=_facts(request, response, time.monotonic() - began))
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]) -> None:
        if "study" in kwargs:
            bind_contextvars(study=_plain(str(kwargs["study"])))
        if "round_id" in kwargs:
            bind_contextvars(round=kwargs["round_id"])


class Traces(Middleware):
    """Makes a span of each request, but those for files; tasks that it rings for are below it.

    It has the request's route, which holds no name and no token, in place of its address.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            raise MiddlewareNotUsed

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        span = traces.start("request", "SERVER")
        with traces.current(span):
            response = self.get_response(request)
        if span is not None and not isinstance(response, Waits):
            route = request.resolver_match.route if request.resolver_match else ""
            span.update_name(f"{request.method} {route}".strip())
            status = response.status_code
            span.set_attribute("http.response.status_code", status)
            traces.end(span, error=str(status) if status >= 500 else "")
        return response


def _number(request: HttpRequest) -> str:
    """Return the number that a proxy has given the request, so that its log has the same; else a new one."""
    given = request.headers.get("X-Request-ID", "")
    return given if _REQUEST_NUMBER.fullmatch(given) else secrets.token_hex(8)


def _facts(request: HttpRequest, response: HttpResponseBase, seconds: float) -> dict[str, Any]:
    found = {
        "method": request.method,
        "path": _plain(request.path),
        "status": response.status_code,
        "bytes": _bytes(response),
        "ms": round(1000 * seconds, 1),
        "user": _user(request),
    }
    return {name: value for name, value in found.items() if value is not None}


def _plain(text: str) -> str:
    """Make one short word of text that somebody sent: it may hold line breaks."""
    return ascii(text[:200])[1:-1]


def _bytes(response: HttpResponseBase) -> int | None:
    if isinstance(response, FileResponse) or response.streaming:
        return int(response.headers["Content-Length"]) if "Content-Length" in response.headers else None
    return len(getattr(response, "content", b""))


def _user(request: HttpRequest) -> int | None:
    """Return the number of who is signed in, if anybody has asked: asking now would read the session."""
    asked = (request.__dict__.get(name) for name in ("user", "_cached_user"))
    return next((user.pk for user in asked if type(user) is User), None)
