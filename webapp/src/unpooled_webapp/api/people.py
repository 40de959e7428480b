"""Accounts, for administrators."""

from __future__ import annotations

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.errors import Conflict, Missing
from unpooled_webapp import accounts, second_factor
from unpooled_webapp.api import account_forms, serializers
from unpooled_webapp.api.access import IsAdministrator, given, person


class PeopleView(APIView):
    permission_classes = (IsAdministrator,)

    @extend_schema(responses=account_forms.Person(many=True))
    def get(self, request: Request) -> Response:
        """All active accounts."""
        found = (
            User.objects.filter(is_active=True).select_related(*account_forms.READ).prefetch_related("groups")
        )
        return Response([account_forms.row(user) for user in found.order_by("username")])

    @extend_schema(
        request=account_forms.NewPerson, responses={201: account_forms.Person, 409: serializers.ErrorAnswer}
    )
    def post(self, request: Request) -> Response:
        """Create an account."""
        values = given(request, account_forms.NewPerson)
        accounts.check_new(values["username"], values["password"])
        accounts.check_display_name(values.get("display_name", ""))
        user = accounts.create(values["username"], values["password"], values["role"])
        accounts.set_display_name(user, values.get("display_name", ""))
        return Response(account_forms.row(user), status=201)


class PersonView(APIView):
    permission_classes = (IsAdministrator,)

    @extend_schema(
        request=account_forms.ChangedPerson,
        responses={200: account_forms.Person, 409: serializers.ErrorAnswer},
    )
    def patch(self, request: Request, username: str) -> Response:
        """Change a name, a role or a password, or close an account. Its studies stay.

        A second factor is turned off for whoever has lost it. With another password its sessions end, and its
        API tokens and passkeys are removed.
        """
        user = User.objects.filter(username=username).first()
        if user is None:
            raise Missing("no-such-person", "Nobody has this name.")
        values = given(request, account_forms.ChangedPerson)
        if user == person(request) and (values.get("active") is False or "role" in values):
            raise Conflict("yourself", "You cannot take your own rights away.")
        if "password" in values:
            accounts.check_password(values["password"], user)
            user.set_password(values["password"])
            # As sessions end: somebody else may know the old password, and have added a passkey with it.
            user.api_tokens.all().delete()
            user.passkeys.all().delete()
        if "display_name" in values:
            accounts.set_display_name(user, values["display_name"])
        if values.get("drop_second_factor"):
            second_factor.remove(user)
        user.is_active = values.get("active", user.is_active)
        user.save()
        if "role" in values:
            accounts.set_role(user, values["role"])
        return Response(account_forms.row(user))
