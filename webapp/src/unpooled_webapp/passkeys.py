"""Passkeys (WebAuthn): a person's device signs a challenge of the platform, for the platform's address alone.

The device makes sure who uses it, by a PIN or a fingerprint: a passkey stands for password and second factor.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import webauthn
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from webauthn.helpers import options_to_json_dict, parse_authentication_credential_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from unpooled_server.errors import Conflict, Refused, first_line
from unpooled_webapp.models import Passkey

SECONDS = 300
"""The longest that a device may take to sign a challenge."""
_CHALLENGE = "passkey-challenge"
_SIGN_IN = "sign in"

log = logging.getLogger(__name__)


def begin_to_add(request: HttpRequest, user: User, url: str) -> dict[str, Any]:
    """Return what the browser asks a device for: a new passkey of this person, at this address."""
    known = [PublicKeyCredentialDescriptor(id=bytes(passkey.credential)) for passkey in user.passkeys.all()]
    options = webauthn.generate_registration_options(
        rp_id=_host(url),
        rp_name="Unpooled",
        user_id=_handle(user),
        user_name=user.username,
        challenge=_new_challenge(request, _adding(user)),
        timeout=SECONDS * 1000,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=known,
    )
    return options_to_json_dict(options)


def add(request: HttpRequest, user: User, url: str, name: str, answer: dict[str, Any]) -> Passkey:
    """Keep the passkey that the browser answered with; Refused unless it is for the challenge begun."""
    challenge = _spent_challenge(request, _adding(user))
    with _refusing():
        made = webauthn.verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=_host(url),
            expected_origin=url,
            require_user_verification=True,
        )
    kept = {
        "user": user,
        "name": name,
        "public_key": made.credential_public_key,
        "sign_count": made.sign_count,
    }
    passkey, is_new = Passkey.objects.get_or_create(credential=made.credential_id, defaults=kept)
    if not is_new:
        raise Conflict("passkey-known", "This passkey has been added before.", "Use another device.")
    return passkey


def begin_to_sign_in(request: HttpRequest, url: str) -> dict[str, Any]:
    """Return what the browser asks a device for: any passkey that it has for this address."""
    options = webauthn.generate_authentication_options(
        rp_id=_host(url),
        challenge=_new_challenge(request, _SIGN_IN),
        timeout=SECONDS * 1000,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


def check_sign_in(request: HttpRequest, url: str, answer: dict[str, Any]) -> User:
    """Return whose passkey signed this browser's challenge; Refused otherwise."""
    challenge = _spent_challenge(request, _SIGN_IN)
    with _refusing():
        credential = parse_authentication_credential_json(answer)
    passkey = Passkey.objects.select_related("user").filter(credential=credential.raw_id).first()
    if passkey is None or not passkey.user.is_active:
        raise Refused(
            "unknown-passkey", "No account here has this passkey.", "Sign in with your password.", status=401
        )
    with _refusing():
        if credential.response.user_handle != _handle(passkey.user):
            raise ValueError("the passkey names another account")
        used = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=_host(url),
            expected_origin=url,
            credential_public_key=bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
        # The condition in the UPDATE: of two requests with the same count one finds the row.
        unused = Passkey.objects.filter(pk=passkey.pk, sign_count=passkey.sign_count)
        if not unused.update(sign_count=used.new_sign_count, used_at=timezone.now()):
            raise ValueError("the passkey was used at the same moment")
    return passkey.user


def _host(url: str) -> str:
    """Return the name to which a passkey is bound; Refused where browsers have no passkeys."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and host != "localhost":
        raise Refused(
            "not-https",
            "Browsers use passkeys over HTTPS only, or at http://localhost.",
            "Open the platform at such an address, or sign in with your password.",
        )
    return host


def _handle(user: User) -> bytes:
    """Return what devices know an account by; it tells nothing of the person."""
    return str(user.pk).encode()


def _adding(user: User) -> str:
    return f"add to {user.pk}"


def _new_challenge(request: HttpRequest, purpose: str) -> bytes:
    challenge = secrets.token_bytes(32)
    request.session[_CHALLENGE] = [purpose, challenge.hex(), time.time()]
    return challenge


def _spent_challenge(request: HttpRequest, purpose: str) -> bytes:
    """Return the session's challenge, which is good once, soon, and for what it was made for."""
    wanted, challenge, at = request.session.pop(_CHALLENGE, ("", "", 0.0))
    if wanted != purpose or not 0 <= time.time() - at <= SECONDS:
        raise Refused(
            "no-challenge",
            "The passkey came after more than five minutes, or twice.",
            "Begin again.",
            status=401,
        )
    return bytes.fromhex(challenge)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever the library raises at what a stranger may send
        log.warning("passkey: %s: %r", type(error).__name__, first_line(error))
        raise Refused(
            "wrong-passkey",
            "This passkey is not right.",
            "Try again at the address where you added it, or sign in with your password.",
            status=401,
        ) from error
