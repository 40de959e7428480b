from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from unpooled_server.errors import Refused, Unauthorized
from unpooled_webapp import tokens
from unpooled_webapp.models import ApiToken, Scope


class Session(SessionAuthentication):
    """The session cookie, with CSRF; answers 401 rather than 403 to somebody who is not signed in."""

    def authenticate_header(self, request: Request) -> str:
        return "Session"


class Described(SessionScheme):  # type: ignore[no-untyped-call]
    """Description of the session in the schema."""

    target_class = Session  # type: ignore[assignment]


class Token(BaseAuthentication):
    """An API token. Its scope is looked at here, so that no view can forget to."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        text = tokens.shown(request._request)
        if not text:
            return None
        token = tokens.find(text)
        if token is None:
            raise Unauthorized(
                "bad-token", "This API token is unknown, expired or revoked.", "Create another one."
            )
        if token.scope != Scope.CHANGE and request.method not in SAFE_METHODS:
            raise Refused(
                "token-reads-only",
                "This API token may read, not change.",
                "Create one that may change, or sign in.",
                status=403,
            )
        tokens.note_use(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class DescribedToken(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Description of the token in the schema."""

    target_class = Token
    name = "apiToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
