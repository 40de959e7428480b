from __future__ import annotations

from drf_spectacular.authentication import SessionScheme
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request


class Session(SessionAuthentication):
    """The session cookie, with CSRF; answers 401 rather than 403 to somebody who is not signed in."""

    def authenticate_header(self, request: Request) -> str:
        return "Session"


class Described(SessionScheme):  # type: ignore[no-untyped-call]
    """How the schema describes it."""

    target_class = Session  # type: ignore[assignment]
