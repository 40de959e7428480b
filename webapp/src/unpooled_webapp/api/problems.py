"""One form of error for every endpoint: code, message, remedy, and the fields that are wrong."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from unpooled_server.cohort_api.bodies import unreadable
from unpooled_server.errors import Missing, Refused


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler."""
    refusal = _refusal(error)
    if refusal is None:
        return None
    set_rollback()
    headers = {"WWW-Authenticate": "Session"} if refusal.status == 401 else {}
    return Response(refusal.body(), status=refusal.status, headers=headers)


def _refusal(error: Exception) -> Refused | None:
    match error:
        case Refused():
            return error
        case Http404():
            return Missing("not-found", "There is nothing here.")
        case RequestDataTooBig():
            return Refused("too-large", "The message is too large.", status=413)
        case UnreadablePostError():
            return unreadable(error)
        case PermissionDenied():
            return Refused("forbidden", "You may not do this.", status=403)
        case exceptions.ValidationError():
            fields = _flat(error.detail)
            return Refused("invalid", "Some fields are wrong.", "Correct these fields.", fields=fields)
        case exceptions.APIException():
            detail = str(error.detail)
            code = error.get_codes()
            return Refused(str(code), detail, status=error.status_code)
    return None


def _flat(detail: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(detail, dict):
        merged: dict[str, str] = {}
        for field, inner in detail.items():
            merged |= _flat(inner, f"{prefix}.{field}" if prefix else str(field))
        return merged
    if isinstance(detail, list):
        return {prefix: " ".join(map(str, detail))}
    return {prefix: str(detail)}
