"""Invitations: a token admits one cohort to one study. It is shown once and stored hashed."""

from __future__ import annotations

import hashlib
import re
import secrets

from django.db import IntegrityError
from django.utils import timezone

from unpooled.protocol import sealing
from unpooled.protocol.invitation import Invitation
from unpooled_server.errors import Conflict, Refused
from unpooled_server.models import Cohort, Study
from unpooled_server.names import BEFORE_START, LIVE, RESERVED, StudyState
from unpooled_server.services.joining import forget_list, hand_over, locked, reopen
from unpooled_server.services.transitions import move, note, touch

_NAME = re.compile(r"[^\W_][\w .,()&'-]{0,78}[\w.)]?")


def new_token() -> str:
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    # Nobody guesses 256 random bits: neither salt nor slow hash would add anything.
    return hashlib.sha256(token.encode()).hexdigest()


def invite(study: Study, name: str, server: str, who: str) -> str:
    """Invite a cohort; the invitation's text, which is shown only once."""
    if name.lower() in RESERVED:
        raise Refused(
            "bad-name",
            f"{name} is what the platform calls one of its own parties.",
            "Name the cohort by its place.",
            fields={"name": "is taken by the platform"},
        )
    if not _NAME.fullmatch(name):
        raise Refused(
            "bad-name",
            "A cohort's name has 1 to 80 letters, digits, blanks and . , ( ) & ' -",
            fields={"name": "letters, digits, blanks and simple punctuation"},
        )
    token = new_token()
    try:
        with locked(study.pk) as fresh:
            _require_room(fresh)
            Cohort.objects.create(study=study, name=name, token_hash=token_hash(token))
            move(
                study.pk,
                [StudyState.DRAFT],
                StudyState.OPEN,
                who,
                "opened the study for cohorts",
                opened_at=timezone.now(),
            )
            touch(study.pk)
            note(study.pk, who, f"invited {name}")
    except IntegrityError:
        raise Conflict("name-taken", f"{name} is invited already.", "Reissue its invitation.") from None
    return _text(study, token, server)


def _require_room(study: Study) -> None:
    if study.state not in (StudyState.DRAFT, StudyState.OPEN):
        raise Conflict("not-open", f"The study is {study.state}: it takes no more cohorts.")
    if study.awaits_list:
        raise Conflict(
            "no-list", "The plan uses a list of variants that has not been uploaded yet.", "Upload it."
        )
    if study.members().count() >= study.plan_json["cohorts"]:
        raise Conflict("all-invited", f"All {study.plan_json['cohorts']} cohorts are invited already.")


def _text(study: Study, token: str, server: str) -> str:
    key = bytes.fromhex(study.plan_json["compensator_key"])
    return Invitation(server, study.pk, token, sealing.fingerprint(key)).to_text()


def reissue(study: Study, cohort: Cohort, server: str, who: str) -> str:
    """A new invitation for a cohort; the former one admits nobody any more. What the cohort did stays."""
    token = new_token()
    with locked(study.pk) as fresh:
        if fresh.state not in (*BEFORE_START, *LIVE):
            raise Conflict("study-over", f"The study is {fresh.state}.")
        if cohort.revoked:
            _require_room(fresh)
        Cohort.objects.filter(pk=cohort.pk).update(
            token_hash=token_hash(token), revoked=False, instance="", heard_at=None
        )
        touch(study.pk)
        note(study.pk, who, f"reissued the invitation of {cohort.name}")
    return _text(study, token, server)


def revoke(study: Study, cohort: Cohort, who: str) -> None:
    """Admit nobody with this invitation any more. After the start the study waits for the cohort."""
    with locked(study.pk) as fresh:
        if fresh.enrolled_at is None and fresh.state in (*BEFORE_START, *LIVE):
            # Before the first release the others can go on with somebody else in its place.
            forget_list(
                Cohort.objects.filter(pk=cohort.pk),
                revoked=True,
                public_key="",
                compared_by="",
                compared_at=None,
            )
            hand_over(fresh, cohort.list_digest)
            if cohort.public_key:
                reopen(fresh, f"the roster is fixed again: the invitation of {cohort.name} was revoked")
        else:
            Cohort.objects.filter(pk=cohort.pk).update(revoked=True)
        touch(study.pk)
        note(study.pk, who, f"revoked the invitation of {cohort.name}")


def withdraw(study: Study, cohort: Cohort, who: str) -> None:
    """Remove a cohort that never joined."""
    with locked(study.pk) as fresh:
        if Cohort.objects.get(pk=cohort.pk).public_key:
            raise Conflict("has-joined", f"{cohort.name} has joined.", "Revoke its invitation instead.")
        cohort.delete()
        touch(fresh.pk)
        note(fresh.pk, who, f"withdrew the invitation of {cohort.name}")
