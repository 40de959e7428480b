"""Admission of requests: the token names study and cohort; one client at a time; every byte is counted."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Expression, Model, QuerySet
from django.http import FileResponse, HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from structlog.contextvars import bind_contextvars

from unpooled.protocol import VERSION, stages
from unpooled_server.cohort_api import bodies, waiting
from unpooled_server.cohort_api.held import HELD, NothingNew, Waits
from unpooled_server.errors import Conflict, Refused, Unauthorized
from unpooled_server.models import Cohort, Study
from unpooled_server.names import Phase
from unpooled_server.reads.prepared import Prepared
from unpooled_server.services import metering, sweeping
from unpooled_server.services.invitations import token_hash
from unpooled_server.services.joining import require_admitted

log = logging.getLogger(__name__)

# After it another client may take a cohort's place: one that waits for questions is heard twice as often.
SILENCE = timedelta(seconds=60)
# Bytes of Server, Date and Connection, which the HTTP server adds where Django does not see them.
SERVER_HEADERS = 110


def _fields(model: type[Model], *names: str) -> list[str]:
    """Return the names of these fields, in the order in which the model takes their values."""
    return [field.attname for field in model._meta.concrete_fields if field.attname in names]


# What most requests look at; the rest is read when it is asked for, such as the plan of a thousand columns.
_OF_STUDY = _fields(Study, "id", "state", "reason", "pause_kind")
_OF_COHORT = _fields(
    Cohort, "id", "study_id", "name", "revoked", "token_hash", "instance", "heard_at", "doing", "problem"
)


@Prepared
def _by_token(token_hash: Expression) -> QuerySet[Any, Any]:
    columns = [*_OF_COHORT, *(f"study__{name}" for name in _OF_STUDY)]
    return Cohort.objects.filter(token_hash=token_hash).values_list(*columns)


_OUR_CLIENT = (
    f"unpooled-client {version('unpooled-server')}, the server's own release, which the coordinator has"
)

View = Callable[..., HttpResponseBase]


def endpoint(phase: Phase, *methods: str) -> Callable[[View], View]:
    """Make a view of (request, cohort, …) into one that a token admits to."""

    def decorate(view: View) -> View:
        @csrf_exempt  # no cookie admits here, so there is nothing to forge
        @functools.wraps(view)
        def answer(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
            try:
                if request.method not in methods:
                    raise Refused("method", f"Only {', '.join(methods)} here.", status=405)
                _require_our_protocol(request)
                cohort = _admitted(request)
            except Refused as refusal:
                return _refusal(refusal)
            cohort.release = _release(request)
            bind_contextvars(study=cohort.study_id, cohort=cohort.pk)  # for the log
            visit = _Visit(phase, _instance(request), _doing(request))
            request.visit = visit  # type: ignore[attr-defined]
            try:
                response = view(request, cohort, **arguments)
                # Where a thread has waited; what changes something has looked.
                if request.method == "GET" and HELD not in request.META:
                    require_admitted(cohort)
            except NothingNew as found:
                return Waits(cohort, visit.instance, visit.doing, found)
            except Refused as refusal:
                response = _refusal(refusal)
            if not waiting.has_place(request):
                response["Retry-After"] = str(waiting.RETRY_AFTER)
            if not visit.is_counted:
                heard(request, cohort, response)
            if visit.doing != stages.Doing.LOOKING:
                sweeping.is_back(cohort)
            return response

        return answer

    return decorate


@dataclass
class _Visit:
    """Facts known about an admitted request."""

    phase: Phase
    instance: str
    doing: str
    is_counted: bool = False


def heard(request: HttpRequest, cohort: Cohort, response: HttpResponseBase) -> None:
    """Write down that a cohort was heard, and the bytes of the request and of its answer."""
    visit: _Visit = request.visit  # type: ignore[attr-defined]
    sent, received = _response_bytes(response), _request_bytes(request)
    metering.heard(cohort, visit.instance, visit.doing, visit.phase, received, sent, _content_bytes(request))
    visit.is_counted = True


def takes_long(request: HttpRequest, cohort: Cohort) -> None:
    """Write down at once what the client is doing: the answer will come later."""
    visit: _Visit = request.visit  # type: ignore[attr-defined]
    metering.is_at(cohort, visit.doing)


def _refusal(refusal: Refused) -> JsonResponse:
    response = JsonResponse(refusal.body(), status=refusal.status)
    if refusal.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _require_our_protocol(request: HttpRequest) -> None:
    """Refuse a client of another protocol version before anything else: its masks would not fit.

    The first clients did not name theirs.
    """
    spoken = request.headers.get("Unpooled-Protocol", "1")
    if spoken == str(VERSION):
        return
    if spoken.isdecimal() and len(spoken) < 9 and int(spoken) > VERSION:
        raise Refused(
            "server-too-old",
            f"This server is too old for this client: it speaks protocol {VERSION}, the client {spoken}.",
            f"Install {_OUR_CLIENT}. Or ask the server's operator to upgrade.",
            status=426,
        )
    raise Refused(
        "client-too-old",
        f"This client is too old for this server: it speaks protocol {spoken[:9]}, the server {VERSION}.",
        f"Install {_OUR_CLIENT}: what this one has kept stays. A study that an earlier release began is "
        "finished with that release, or duplicated.",
        status=426,
    )


def _admitted(request: HttpRequest) -> Cohort:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise Unauthorized("no-token", "This address needs an invitation's token.")
    cohort = _named_by(token)
    if cohort is None:
        raise Unauthorized(
            "unknown-token",
            "This invitation is not known here, or was reissued.",
            "Ask the coordinator for the current invitation.",
        )
    if cohort.revoked:
        raise Unauthorized(
            "revoked-token", "This invitation was revoked.", "Ask the coordinator for a new invitation."
        )
    if _is_other_client(cohort, _instance(request)):
        raise Conflict(
            "second-client",
            f"Another client answers for {cohort.name} at the moment.",
            "Stop the other one, or wait a minute after it has ended.",
        )
    return cohort


def _named_by(token: str) -> Cohort | None:
    """The cohort, with its study, that a token names."""
    for row in _by_token(token_hash(token)):
        cohort = Cohort.from_db(DEFAULT_DB_ALIAS, _OF_COHORT, row[: len(_OF_COHORT)])
        cohort.study = Study.from_db(DEFAULT_DB_ALIAS, _OF_STUDY, row[len(_OF_COHORT) :])
        return cohort
    return None


def _instance(request: HttpRequest) -> str:
    return bodies.hex_header(request, "Unpooled-Client", 32, "no-client")


def _release(request: HttpRequest) -> str:
    """Return the release of the client, as it names itself; empty of one that does not."""
    found = re.fullmatch("unpooled-client/([0-9A-Za-z.+-]{1,40})", request.headers.get("User-Agent", ""))
    return found[1] if found else ""


def _doing(request: HttpRequest) -> str:
    """The client's word for what it is doing; empty if it tells none that is known."""
    told = request.headers.get(stages.HEADER, "")
    return told if told in set(stages.Doing) else ""


def _is_other_client(cohort: Cohort, instance: str) -> bool:
    if not cohort.instance or cohort.instance == instance or cohort.heard_at is None:
        return False
    return timezone.now() - cohort.heard_at < SILENCE


def _request_bytes(request: HttpRequest) -> int:
    head = len(request.method or "") + len(request.get_full_path()) + 12
    head += sum(len(name) + len(value) + 4 for name, value in request.headers.items())
    return head + _content_bytes(request)


def _content_bytes(request: HttpRequest) -> int:
    return int(request.headers.get("Content-Length") or 0)


def _response_bytes(response: HttpResponseBase) -> int:
    head = 17 + SERVER_HEADERS + sum(len(name) + len(value) + 4 for name, value in response.headers.items())
    if isinstance(response, FileResponse):
        return head + int(response.headers.get("Content-Length") or 0)
    return head + len(getattr(response, "content", b""))
