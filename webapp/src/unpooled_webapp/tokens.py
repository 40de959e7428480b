"""API tokens: a program uses the API in a person's name, as far as the token's scope goes."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from unpooled_server.errors import Conflict
from unpooled_webapp.models import ApiToken, Scope

PREFIX = "unpooled_"
"""So that a token is known for one where it should not lie; and others' tokens are not looked up."""
MOST = 50  # of one person
DAYS = 365  # that a token is good for, at most
# A program that polls would otherwise cost a write with each request.
_NOTED_EVERY = timedelta(minutes=1)


def issue(user: User, name: str, scope: Scope, days: int) -> tuple[ApiToken, str]:
    """A new token, and its text, which is shown only once."""
    if user.api_tokens.count() >= MOST:
        raise Conflict("too-many-tokens", f"You have {MOST} tokens already.", "Revoke one of them first.")
    text = PREFIX + secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(days=days)
    token = ApiToken.objects.create(
        user=user, name=name, token_hash=_hash(text), scope=scope, expires_at=expires_at
    )
    return token, text


def shown(request: HttpRequest) -> str:
    """The token of ours that a request shows; empty if it shows none."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" and text.strip().startswith(PREFIX) else ""


def find(text: str) -> ApiToken | None:
    """The token with this text, if it is still good and its person's account is open."""
    good = ApiToken.objects.filter(expires_at__gt=timezone.now(), user__is_active=True)
    return good.filter(token_hash=_hash(text)).select_related("user").first() if text else None


def note_use(token: ApiToken) -> None:
    now = timezone.now()
    long_ago = Q(used_at=None) | Q(used_at__lt=now - _NOTED_EVERY)
    # In the WHERE: of many requests at once one writes.
    ApiToken.objects.filter(long_ago, pk=token.pk).update(used_at=now)


def _hash(text: str) -> str:
    # Nobody guesses 256 bits: a slow hash as for passwords would protect nothing more.
    return hashlib.sha256(text.encode()).hexdigest()
