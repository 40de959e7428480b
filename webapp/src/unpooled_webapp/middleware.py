from __future__ import annotations

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.middleware.gzip import GZipMiddleware
from django.middleware.http import ConditionalGetMiddleware

from unpooled_server.errors import (
    DATABASE_AWAY,
    Refused,
    StoreAway,
    Unavailable,
    first_line,
    is_full,
    no_room,
)
from unpooled_webapp import tokens
from unpooled_webapp.http_worker import SMALL_BODY

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


COHORT_API = "/api/v1/cohort/"
# Seconds until they may come again, by when a database that was started again may be back.
AWAY_SECONDS = 5

log = logging.getLogger(__name__)


class Middleware:
    """Base of those that are asked for each request, and ask the next one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)


class ContentSecurityPolicy(Middleware):
    """Tells browsers to load nothing from elsewhere and to run no inline script."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response


class WithoutDatabase(Middleware):
    """While database or store are away all are asked to come again, and the log has one line a request."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        return come_again(request, exception) if isinstance(exception, (*DATABASE_AWAY, StoreAway)) else None


class WithoutRoom(Middleware):
    """While a disk is full nothing new is taken; whatever was acknowledged is kept."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        if not is_full(exception):
            return None
        log.error("%s %s: the disk is full (%s)", request.method, request.path, first_line(exception))
        return _refused(no_room())


def come_again(request: HttpRequest, error: Exception) -> HttpResponseBase:
    # Each log line is a sentence of its own: reports of errors leave out what is put into it.
    if isinstance(error, StoreAway):
        log.error("%s %s: the store does not answer (%s)", request.method, request.path, first_line(error))
        refusal = Unavailable("store", "The platform's store does not answer.", "Try again in a few seconds.")
    else:
        log.error("%s %s: the database does not answer (%s)", request.method, request.path, first_line(error))
        refusal = Unavailable(
            "database", "The platform's database does not answer.", "Try again in a few seconds."
        )
    return _refused(refusal)


def _refused(refusal: Refused) -> HttpResponseBase:
    response = JsonResponse(refusal.body(), status=refusal.status, headers={"Retry-After": str(AWAY_SECONDS)})
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django's own mark
    return response


class LargeBodiesOfKnownPeople(Middleware):
    """A body that takes a thread to read is read only if its sender is signed in, or shows an API token.

    Cohorts show another token, which their own interface looks at.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        try:
            if length <= SMALL_BODY or request.path.startswith(COHORT_API) or _is_known(request):
                return self.get_response(request)
        except DATABASE_AWAY as error:
            return come_again(request, error)
        text = f"Without signing in you may send {SMALL_BODY} bytes at most."
        return JsonResponse(Refused("not-signed-in", text, "Sign in first.").body(), status=401)


def _is_known(request: HttpRequest) -> bool:
    return request.user.is_authenticated or tokens.find(tokens.shown(request)) is not None


class NoBodyForHead(Middleware):
    """gunicorn would send none either, but write a warning for each."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method == "HEAD" and isinstance(response, HttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        return response


class AlwaysAsked(Middleware):
    """Answers of the API are one person's, and a browser asks each time whether its copy is still right."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.path.startswith("/api/"):
            response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class EntityTags(ConditionalGetMiddleware):
    """An answer that a browser has already is not sent again: pages poll. Cohorts ask for news only."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return super().process_response(request, response) if _is_page(request, response) else response


class Compression(GZipMiddleware):
    """Pages and answers to them travel compressed; not result files, and nothing that a cohort asks for."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return super().process_response(request, response) if _is_page(request, response) else response


def _is_page(request: HttpRequest, response: HttpResponseBase) -> bool:
    return isinstance(response, HttpResponse) and not request.path.startswith(COHORT_API)
