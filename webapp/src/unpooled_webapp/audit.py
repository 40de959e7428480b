"""The platform's audit log: who asked to change what, and how that was answered.

Entries are only ever added, each with a digest of itself and of the one before: whoever keeps the last digest
elsewhere notices if an earlier entry is changed, or gone. A study's own log goes with the study; this stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Iterator
from typing import Any

from django.db import Error, transaction
from django.http import HttpRequest, HttpResponseBase

from unpooled_server.errors import DATABASE_AWAY
from unpooled_server.models import Study
from unpooled_webapp.middleware import COHORT_API, Middleware, come_again
from unpooled_webapp.models import AuditEntry, Installation

API = "/api/v1/"
_CHANGES_NOTHING = ("foreseen",)
"""Addresses that a form asks with POST because a plan is long."""
_SAFE = ("GET", "HEAD", "OPTIONS")

log = logging.getLogger(__name__)


class Damaged(ValueError):
    """An entry is not as it was written, or one before it is missing."""


def record(who: str, what: str, subject: str, status: int = 0) -> None:
    """Add an entry."""
    with transaction.atomic():
        # One at a time: an entry has the digest of the one before it.
        list(Installation.objects.select_for_update())
        last = AuditEntry.objects.order_by("-pk").first()
        entry = AuditEntry(who=who, what=what, subject=subject, status=status)
        entry.digest = _digest(last.digest if last else "", entry)
        entry.save(force_insert=True)


def lines() -> Iterator[dict[str, Any]]:
    """Give all entries, the oldest first; Damaged at the first that does not follow from those before it."""
    before = ""
    for entry in AuditEntry.objects.order_by("pk").iterator():
        before = _digest(before, entry)
        if before != entry.digest:
            raise Damaged(f"entry {entry.pk}, {entry}, was changed, or one before it is gone")
        yield {"number": entry.pk, **_content(entry), "digest": entry.digest}


def _content(entry: AuditEntry) -> dict[str, Any]:
    at = entry.at.isoformat(timespec="microseconds")
    return {"at": at, "who": entry.who, "what": entry.what, "subject": entry.subject, "status": entry.status}


def _digest(before: str, entry: AuditEntry) -> str:
    return hashlib.sha256(json.dumps([before, _content(entry)], sort_keys=True).encode()).hexdigest()


class Audit(Middleware):
    """Records each request of a known person that could change something."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        place = request.path.removeprefix(API)
        is_of_people = request.path.startswith(API) and not request.path.startswith(COHORT_API)
        if not is_of_people or request.method in _SAFE or place in _CHANGES_NOTHING:
            return self.get_response(request)
        try:
            before = _name(request)  # whoever signs out is nobody afterwards
        except DATABASE_AWAY as error:
            return come_again(request, error)
        response = self.get_response(request)
        # Strangers are in the log of requests: they could fill this one.
        if who := _name(request) or before:
            subject = _subject(request, response)
            try:
                record(who, f"{request.method} {_route(request)}", subject, response.status_code)
            except Error as error:  # what was done stays done
                log.error("not in the audit log (%s): %s %s %s", error, who, request.method, subject)
        return response

    def process_view(self, request: HttpRequest, view: Any, positional: Any, named: dict[str, Any]) -> None:
        # Before the view may delete it; where the database is away, the view says so.
        if request.method not in _SAFE and (study := named.get("study")):
            with contextlib.suppress(*DATABASE_AWAY):
                found = Study.objects.filter(pk=study).values_list("name", flat=True).first()
                request.name_of_study = found  # type: ignore[attr-defined]


def _name(request: HttpRequest) -> str:
    if not request.user.is_authenticated:
        return ""
    token = getattr(request, "auth", None)  # which the API's authentication leaves here
    return (
        f"{request.user.get_username()}, by the token {token.name}" if token else request.user.get_username()
    )


def _route(request: HttpRequest) -> str:
    match = request.resolver_match
    return match.route.removeprefix(API.lstrip("/")).replace("<str:", "<") if match else request.path


def _subject(request: HttpRequest, response: HttpResponseBase) -> str:
    """Name what a request was about: the parts of its address, the study's name, and what it made."""
    named = dict(request.resolver_match.kwargs) if request.resolver_match else {}
    made = getattr(response, "data", None)
    if response.status_code == 201 and isinstance(made, dict):
        named |= {key: made[key] for key in ("id", "username", "name", "cohort") if key in made}
    if name := getattr(request, "name_of_study", None):
        named["name"] = name
    return ", ".join(f"{key} {value}" for key, value in named.items())
