"""A second factor of accounts: the codes of an authenticator app (RFC 6238), and codes for when that is lost.

The app's secret is derived from the platform's key and a nonce: the database alone does not tell it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

import pyotp
import segno
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import salted_hmac

from unpooled_server.errors import Conflict, Refused
from unpooled_webapp import tries
from unpooled_webapp.models import SecondFactor

TRIES = 5
"""Codes that somebody who knows the password may try within `tries.WINDOW`: of 3 in 10⁶ that are right."""
RECOVERY_CODES = 10
ISSUER = "Unpooled"


@dataclass(frozen=True)
class Begun:
    """A secret for an authenticator app: to be typed, and the same as a QR code's rows of 0 and 1."""

    secret: str
    picture: list[str]


def is_on(user: User) -> bool:
    factor = getattr(user, "second_factor", None)
    return factor is not None and factor.is_confirmed


def begin(user: User) -> Begun:
    """Make a secret for an app. Nothing changes until a code of the app confirms it."""
    SecondFactor.objects.filter(user=user, is_confirmed=False).delete()
    factor, is_new = SecondFactor.objects.get_or_create(user=user, defaults={"nonce": secrets.token_hex(16)})
    if not is_new:
        raise Conflict("second-factor-on", "Your account has a second factor.", "Turn it off first.")
    app = _app_of(factor)
    uri = app.provisioning_uri(name=user.username, issuer_name=ISSUER)
    rows = segno.make(uri, micro=False).matrix
    return Begun(app.secret, ["".join("1" if dark else "0" for dark in row) for row in rows])


def confirm(user: User, code: str) -> list[str]:
    """Turn the second factor on, with a code of the app. Return the codes for when the app is lost."""
    factor = SecondFactor.objects.filter(user=user, is_confirmed=False).first()
    if factor is None:
        raise Conflict("no-second-factor", "There is no new secret to confirm.", "Begin again.")
    _count(user)
    if not _is_of_app(factor, code):
        raise _wrong()
    codes = [secrets.token_hex(8) for _ in range(RECOVERY_CODES)]
    factor.is_confirmed, factor.recovery = True, [_digest(code) for code in codes]
    factor.save(update_fields=["is_confirmed", "recovery"])
    tries.forget(_key(user))
    return codes


def check(user: User, code: str) -> None:
    """Refused unless the person has no second factor, or this is its code, which is then spent."""
    factor = SecondFactor.objects.filter(user=user, is_confirmed=True).first()
    if factor is None:
        return
    if not code:
        raise Refused(
            "code-wanted", "This account wants a code, too.", "Type the one that your app shows.", status=401
        )
    _count(user)
    if not (_is_of_app(factor, code) or _is_recovery(factor, code)):
        raise _wrong()
    tries.forget(_key(user))


def remove(user: User) -> None:
    SecondFactor.objects.filter(user=user).delete()


def _app_of(factor: SecondFactor) -> pyotp.TOTP:
    key = salted_hmac("unpooled second factor", factor.nonce, algorithm="sha256").digest()[:20]
    return pyotp.TOTP(base64.b32encode(key).decode())


def _is_of_app(factor: SecondFactor, code: str) -> bool:
    """Tell whether a code is the app's of now, or of half a minute before or after; each is good once."""
    app = _app_of(factor)
    now = int(time.time()) // app.interval
    for step in (now - 1, now, now + 1):
        if hmac.compare_digest(app.generate_otp(step).encode(), code.encode()):
            # The condition in the UPDATE: of two requests with the same code one finds the row.
            unused = SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step)
            return bool(unused.update(last_step=step))
    return False


def _is_recovery(factor: SecondFactor, code: str) -> bool:
    with transaction.atomic():
        locked = SecondFactor.objects.select_for_update().get(pk=factor.pk)
        if (digest := _digest(code)) not in locked.recovery:
            return False
        locked.recovery.remove(digest)
        locked.save(update_fields=["recovery"])
    return True


def _digest(code: str) -> str:
    return hashlib.sha256(code.strip().lower().encode()).hexdigest()  # of 64 random bits: nothing to guess


def _key(user: User) -> str:
    return f"code:{user.pk}"


def _count(user: User) -> None:
    tries.count({_key(user): TRIES})


def _wrong() -> Refused:
    return Refused(
        "wrong-code",
        "This code is not right, or has already been used.",
        "Wait for the next one.",
        status=401,
    )
