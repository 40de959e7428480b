from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.middleware.http import ConditionalGetMiddleware

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class ContentSecurityPolicy:
    """Tells browsers to load nothing from elsewhere and to run no inline script."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response


class AlwaysAsked:
    """Answers of the API are one person's, and a browser asks each time whether its copy is still right."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

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
    return isinstance(response, HttpResponse) and not request.path.startswith("/api/v1/cohort/")
