"""Your API tokens. With a session only: a token makes no others."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.errors import Missing
from unpooled_webapp import tokens
from unpooled_webapp.api import serializers, token_forms
from unpooled_webapp.api.access import given, person, row_number


class TokensView(APIView):
    @extend_schema(responses=token_forms.ApiTokenRow(many=True))
    def get(self, request: Request) -> Response:
        """Your API tokens, newest first."""
        return Response(token_forms.ApiTokenRow(person(request).api_tokens.all(), many=True).data)

    @extend_schema(
        request=token_forms.NewApiToken,
        responses={201: token_forms.IssuedApiToken, 409: serializers.ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Create an API token. The answer holds its text, this once."""
        token, text = tokens.issue(person(request), **given(request, token_forms.NewApiToken))
        return Response({**token_forms.ApiTokenRow(token).data, "token": text}, status=201)


class TokenView(APIView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, token: str) -> Response:
        """Revoke an API token: from now on it lets nobody in."""
        deleted, _ = person(request).api_tokens.filter(pk=row_number(token)).delete()
        if not deleted:
            raise Missing("no-such-token", "You have no such token.")
        return Response(status=204)
