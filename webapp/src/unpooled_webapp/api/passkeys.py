"""Passkeys: how you sign in with one, and those of your account."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.errors import Missing
from unpooled_webapp import accounts
from unpooled_webapp.api import account_forms
from unpooled_webapp.api.access import given, person, public_url, row_number
from unpooled_webapp.api.serializers import ErrorAnswer
from unpooled_webapp.api.session import signed_in
from unpooled_webapp.models import Passkey

REFUSALS = dict.fromkeys((401, 429), ErrorAnswer)


class PasskeyRow(serializers.ModelSerializer[Passkey]):
    id = serializers.IntegerField(read_only=True)

    class Meta:
        model = Passkey
        fields: ClassVar = ["id", "name", "created_at", "used_at"]


class PasskeyOptions(serializers.Serializer[Any]):
    options = serializers.DictField(help_text="for the browser's `parse…OptionsFromJSON`")


class PasskeyAnswer(serializers.Serializer[Any]):
    credential = serializers.DictField(help_text="the browser's `PublicKeyCredential`, by its `toJSON`")


class NewPasskey(PasskeyAnswer):
    name = serializers.CharField(max_length=80, help_text="of the device that holds it")


def _passkeys() -> ModuleType:
    """Load what checks passkeys, and the library with it, once somebody uses one."""
    from unpooled_webapp import passkeys

    return passkeys


class SignInView(APIView):
    """Sign in with a passkey, in place of password and second factor."""

    permission_classes = (AllowAny,)

    @extend_schema(request=None, responses={200: PasskeyOptions, 429: ErrorAnswer})
    def post(self, request: Request) -> Response:
        """Begin. The answer is what the browser asks a device for, within five minutes."""
        accounts.limit_address(request._request)
        return Response({"options": _passkeys().begin_to_sign_in(request._request, public_url(request))})

    @extend_schema(request=PasskeyAnswer, responses={200: account_forms.Person, **REFUSALS})
    def put(self, request: Request) -> Response:
        """Sign in with what the device answered."""
        answer = given(request, PasskeyAnswer)["credential"]
        user = _passkeys().check_sign_in(request._request, public_url(request), answer)
        accounts.take_back_address(request._request)
        return signed_in(request, user)


class PasskeysView(APIView):
    @extend_schema(responses=PasskeyRow(many=True))
    def get(self, request: Request) -> Response:
        """Your passkeys, oldest first."""
        return Response(PasskeyRow(person(request).passkeys.all(), many=True).data)

    @extend_schema(request=account_forms.Proof, responses={200: PasskeyOptions, **REFUSALS})
    def post(self, request: Request) -> Response:
        """Begin to add a passkey, with your password. The answer is what the browser asks a device for."""
        known = given(request, account_forms.Proof)
        user = accounts.check_sign_in(
            request._request, person(request).username, known["password"], known.get("code", "")
        )
        return Response({"options": _passkeys().begin_to_add(request._request, user, public_url(request))})

    @extend_schema(request=NewPasskey, responses={201: PasskeyRow, 409: ErrorAnswer, **REFUSALS})
    def put(self, request: Request) -> Response:
        """Add the passkey that the device answered with, within five minutes."""
        made = given(request, NewPasskey)
        passkey = _passkeys().add(
            request._request, person(request), public_url(request), made["name"], made["credential"]
        )
        return Response(PasskeyRow(passkey).data, status=201)


class PasskeyView(APIView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, passkey: str) -> Response:
        """Remove a passkey: from now on nobody signs in with it."""
        deleted, _ = person(request).passkeys.filter(pk=row_number(passkey)).delete()
        if not deleted:
            raise Missing("no-such-passkey", "You have no such passkey.")
        return Response(status=204)
