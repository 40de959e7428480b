"""The first administrator chooses name and password in the browser, by the token that `unpooled up` printed.

Whoever reaches the address first must not become the administrator: the token lies in the home folder, which
only the platform's operator reads, and is gone once it was used.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from unpooled_server.errors import Conflict, Refused
from unpooled_webapp import accounts, environment

# 144 bits, which nobody guesses, in 24 characters that a person can still copy.
TOKEN_BYTES = 18


def is_needed() -> bool:
    return not accounts.has_administrator()


def token() -> str:
    """The token of this installation's first run; made now if it is not there."""
    return environment.kept_secret(token_file(), TOKEN_BYTES)


def create_administrator(given: str, name: str, password: str) -> User:
    """The first administrator. The token admits one person, once."""
    if not is_needed():
        raise Conflict("set-up", "This platform already has an administrator.", "Sign in.")
    if not (token_file().exists() and secrets.compare_digest(given.encode(), token().encode())):
        raise Refused(
            "wrong-token",
            "This is not the address of the first run, or it has already been used.",
            "Open the address that `unpooled up` printed, or run `unpooled administrator NAME` there.",
            status=403,
        )
    accounts.check_new(name, password)
    try:
        token_file().unlink()  # of two requests one finds it
    except FileNotFoundError:
        raise Conflict("set-up", "Somebody was faster.", "Sign in.") from None
    return accounts.create(name, password, accounts.ADMINISTRATOR)


def token_file() -> Path:
    """Return the path of the token, where it lies until it is used."""
    return Path(settings.UNPOOLED_HOME) / "first-run-token"
