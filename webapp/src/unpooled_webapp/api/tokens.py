"""Your API tokens. With a session only: a token makes no others."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.errors import Missing
from unpooled_webapp import tokens
from unpooled_webapp.api.access import given, person, row_number
from unpooled_webapp.api.serializers import ErrorAnswer
from unpooled_webapp.models import ApiToken, Scope


class ApiTokenRow(serializers.ModelSerializer[ApiToken]):
    """A token, without its text."""

    id = serializers.IntegerField(read_only=True)
    scope = serializers.ChoiceField(Scope.choices, read_only=True)

    class Meta:
        model = ApiToken
        fields: ClassVar = ["id", "name", "scope", "created_at", "expires_at", "used_at"]


class NewApiToken(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=80, help_text="what it is for")
    scope = serializers.ChoiceField(Scope.choices)
    days = serializers.IntegerField(
        min_value=1, max_value=tokens.DAYS, help_text="after which it is good for nothing"
    )


class IssuedApiToken(ApiTokenRow):
    token = serializers.CharField(read_only=True, help_text="shown this once")

    class Meta(ApiTokenRow.Meta):
        fields: ClassVar = [*ApiTokenRow.Meta.fields, "token"]


class TokensView(APIView):
    @extend_schema(responses=ApiTokenRow(many=True))
    def get(self, request: Request) -> Response:
        """Your API tokens, newest first."""
        return Response(ApiTokenRow(person(request).api_tokens.all(), many=True).data)

    @extend_schema(request=NewApiToken, responses={201: IssuedApiToken, 409: ErrorAnswer})
    def post(self, request: Request) -> Response:
        """Create an API token. The answer holds its text, this once."""
        token, text = tokens.issue(person(request), **given(request, NewApiToken))
        return Response({**ApiTokenRow(token).data, "token": text}, status=201)


class TokenView(APIView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, token: str) -> Response:
        """Revoke an API token: from now on it lets nobody in."""
        deleted, _ = person(request).api_tokens.filter(pk=row_number(token)).delete()
        if not deleted:
            raise Missing("no-such-token", "You have no such token.")
        return Response(status=204)
