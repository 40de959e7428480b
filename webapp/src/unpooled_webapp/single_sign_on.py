"""Sign-in through an organisation's own provider, by OpenID Connect: Authlib asks it and checks what it says.

A person is known by the provider's identifier for them, never by a name or a mail address, which can be given
to somebody else. Where an operator says what the provider's groups mean, they decide about roles at each
sign-in.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Mapping
from typing import Any

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from joserfc.errors import JoseError

from unpooled_server.errors import Conflict, Refused, first_line
from unpooled_webapp import accounts
from unpooled_webapp.models import ProviderAccount

SECONDS = 10
"""The longest that the provider may take for an answer: a person waits, and so does a thread."""

log = logging.getLogger(__name__)


def begin(request: HttpRequest, back: str) -> str:
    """Return the provider's address for this browser, which is sent to the address `back` afterwards."""
    accounts.limit_address(request)
    try:
        return str(_provider().authorize_redirect(request, back).url)
    except (OAuthError, requests.RequestException, RuntimeError, ValueError) as error:
        raise _broken(error) from error


def finish(request: HttpRequest) -> User:
    """Return the person whom the provider sent back, who is connected or created where that is new."""
    try:
        claims = _provider().authorize_access_token(request)["userinfo"]
        subject = f"{claims['iss']} {claims['sub']}"
    except (OAuthError, JoseError, requests.RequestException, RuntimeError, ValueError, KeyError) as error:
        raise _broken(error) from error
    role = _role(claims)
    with transaction.atomic():
        user = _connected(request, subject) or _created(claims, subject)
        if role and role != accounts.role(user) and not accounts.is_last_administrator(user):
            accounts.set_role(user, role)
    return user


@functools.cache
def _provider_of(issuer: str, client: str, secret: str, scopes: str) -> Any:
    """Return Authlib's client, which learns the provider's addresses and keys when it first needs them."""
    return OAuth().register(
        "provider",
        client_id=client,
        client_secret=secret,
        server_metadata_url=f"{issuer}/.well-known/openid-configuration",
        client_kwargs={"scope": scopes, "code_challenge_method": "S256", "default_timeout": SECONDS},
    )


def _provider() -> Any:
    return _provider_of(
        settings.UNPOOLED_OIDC_ISSUER,
        settings.UNPOOLED_OIDC_CLIENT,
        settings.UNPOOLED_OIDC_SECRET,
        settings.UNPOOLED_OIDC_SCOPES,
    )


def _role(claims: Mapping[str, Any]) -> str:
    """Return the highest role that the provider's groups give; empty where groups decide nothing."""
    meanings: Mapping[str, str] = settings.UNPOOLED_OIDC_ROLES
    groups = claims.get(settings.UNPOOLED_OIDC_CLAIM) or []
    given = {meanings.get(str(group)) for group in ([groups] if isinstance(groups, str) else groups)}
    if meanings and not given - {None}:
        raise Refused(
            "no-role",
            "Your organisation's sign-in gives you no role on this platform.",
            "Ask its administrators to add you to a group that has one.",
            status=403,
        )
    return next((role for role in accounts.ROLES if role in given), "")


def _connected(request: HttpRequest, subject: str) -> User | None:
    """Return whose account this is: a connected one, or that of who is signed in and connects it."""
    known = ProviderAccount.objects.select_related("user").filter(subject=subject).first()
    if isinstance(request.user, User):
        if known and known.user != request.user:
            raise Conflict("connected", "You have another account here already.", "Sign in with that one.")
        ProviderAccount.objects.update_or_create(user=request.user, defaults={"subject": subject})
        return request.user
    if known and not known.user.is_active:
        raise Refused("closed", "Your account here is closed.", "Ask an administrator.", status=403)
    return known.user if known else None


def _created(claims: Mapping[str, Any], subject: str) -> User:
    """Create the account of somebody new, an observer until somebody says otherwise."""
    username = str(claims.get("preferred_username") or claims.get("email") or claims["sub"])
    if not re.fullmatch(accounts.USERNAME, username):
        raise Refused(
            "no-name",
            "Your organisation's sign-in tells no user name that an account here could have.",
            "A name has letters, digits and @.+-_ only.",
            status=403,
        )
    if User.objects.filter(username__iexact=username).exists():
        raise Conflict(
            "name-taken",
            "An account here has your user name already.",
            "If it is yours, sign in with its password, and connect the two on your account's page.",
        )
    user = accounts.create(username, None, accounts.OBSERVER)
    ProviderAccount.objects.create(user=user, subject=subject)
    return user


def _broken(error: Exception) -> Refused:
    log.warning("single sign-on: %s: %r", type(error).__name__, first_line(error))
    return Refused(
        "provider",
        "Your organisation's sign-in did not work.",
        "Try again; the platform's log says what was wrong.",
        status=502,
    )
