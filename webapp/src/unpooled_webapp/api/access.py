"""Access of people to studies, to see or to change them. Others do not learn that a study exists."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from unpooled_server.errors import Missing, Refused
from unpooled_server.models import Cohort, Study
from unpooled_server.reads import selectors
from unpooled_webapp import accounts
from unpooled_webapp.api.authentication import Session, Token


class OpenToTokens(APIView):
    """An address that programs may use with an API token. All others want a session."""

    authentication_classes = (Token, Session)


def person(request: Request) -> User:
    """The signed-in person; the default permission has made sure that there is one."""
    user = request.user
    if not isinstance(user, User):
        raise Refused("not-signed-in", "Sign in first.", status=401)
    return user


def visible(request: Request, study: str) -> Study:
    """A study that this person may see."""
    found = selectors.visible_studies(person(request)).filter(pk=study).first()
    if found is None:
        raise Missing("no-such-study", "There is no such study, or it is not yours.")
    return found


def own(request: Request, study: str) -> Study:
    """A study that this person may change."""
    found = visible(request, study)
    if not accounts.may_change(person(request), found):
        raise Refused("observer", "You may watch this study, not change it.", status=403)
    return found


def row_number(text: str) -> int:
    """The number in an address; 0, which no row has, for anything else."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else 0


def cohort_of(study: Study, name: str) -> Cohort:
    found = study.cohorts.filter(name=name).first()
    if found is None:
        raise Missing("no-such-cohort", f"No cohort {name[:80]!r} is invited to this study.")
    return found


class IsAdministrator(BasePermission):
    message = "Only an administrator may do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.user, User) and request.user.is_superuser


def require_coordinator(user: User) -> None:
    if not accounts.may_coordinate(user):
        raise Refused("not-a-coordinator", "Your account may watch studies, not create them.", status=403)


def public_url(request: Request) -> str:
    """The address that people and cohorts reach this server at."""
    return settings.UNPOOLED_PUBLIC_URL or request._request.build_absolute_uri("/").rstrip("/")


def given(request: Request, form: type[BaseSerializer[Any]]) -> dict[str, Any]:
    """Read the body of a request; ValidationError, with the fields, if it is not as `form` has it."""
    checked = form(data=request.data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)
