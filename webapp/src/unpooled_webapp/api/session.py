from __future__ import annotations

from django.contrib.auth import login, logout
from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_webapp import accounts
from unpooled_webapp.api import serializers
from unpooled_webapp.api.access import person


class SessionView(APIView):
    """Sign in and out."""

    permission_classes = (AllowAny,)

    @extend_schema(request=serializers.SignIn, responses={200: serializers.Person})
    def post(self, request: Request) -> Response:
        """Sign in. The answer sets the session's cookie and the one for X-CSRFToken."""
        form = serializers.SignIn(data=request.data)
        form.is_valid(raise_exception=True)
        values = form.validated_data
        user = accounts.check_sign_in(request._request, values["username"], values["password"])
        login(request._request, user)
        get_token(request._request)
        return Response({"username": user.username, "role": accounts.role(user)})

    @extend_schema(responses={200: serializers.Person, 401: serializers.ErrorAnswer})
    def get(self, request: Request) -> Response:
        """Who is signed in."""
        get_token(request._request)
        user = person(request)
        return Response({"username": user.username, "role": accounts.role(user)})

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Sign out."""
        logout(request._request)
        return Response(status=204)
