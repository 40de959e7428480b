from __future__ import annotations

import importlib
from types import ModuleType

from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.errors import Refused
from unpooled_webapp import accounts, audit, first_run, second_factor
from unpooled_webapp.api import account_forms, serializers
from unpooled_webapp.api.access import given, person, public_url

REFUSAL = "provider-refusal"


def signed_in(request: Request, user: User) -> Response:
    """Begin a person's session, and answer with who that is."""
    login(request._request, user)
    get_token(request._request)
    return Response(account_forms.row(user))


def _single_sign_on() -> ModuleType:
    """Load what speaks with the provider, and Authlib with it, which few platforms need."""
    if not accounts.provider_name():
        raise Refused("no-provider", "This platform has no single sign-on.", "Use your password.", status=404)
    return importlib.import_module("unpooled_webapp.single_sign_on")


class SessionView(APIView):
    """Sign in and out."""

    permission_classes = (AllowAny,)

    @extend_schema(
        request=account_forms.SignIn, responses={200: account_forms.Person, 429: serializers.ErrorAnswer}
    )
    def post(self, request: Request) -> Response:
        """Sign in. The answer sets the session's cookie and the one for X-CSRFToken."""
        values = given(request, account_forms.SignIn)
        user = accounts.check_sign_in(
            request._request, values["username"], values["password"], values.get("code", "")
        )
        return signed_in(request, user)

    @extend_schema(responses={200: account_forms.Person, 401: serializers.ErrorAnswer})
    def get(self, request: Request) -> Response:
        """Return the person who is signed in."""
        get_token(request._request)
        return Response(account_forms.row(person(request)))

    @extend_schema(
        request=account_forms.ChangedAccount,
        responses={200: account_forms.Person, 409: serializers.ErrorAnswer},
    )
    def patch(self, request: Request) -> Response:
        """Change how you are called on pages. You sign in with your user name as before."""
        user, values = person(request), given(request, account_forms.ChangedAccount)
        if "display_name" in values:
            accounts.set_display_name(user, values["display_name"])
        return Response(account_forms.row(user))

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Sign out."""
        logout(request._request)
        return Response(status=204)


class ProviderView(APIView):
    """Single sign-on: the organisation's own provider says who somebody is."""

    permission_classes = (AllowAny,)

    @extend_schema(responses=account_forms.Provider)
    def get(self, request: Request) -> Response:
        """Tell what the provider is called, and why the last sign-in through it failed."""
        refusal = request.session.pop(REFUSAL, None)
        return Response({"name": accounts.provider_name(), "refusal": refusal})

    @extend_schema(
        request=None,
        responses={
            200: account_forms.ProviderPage,
            **dict.fromkeys((404, 429, 502), serializers.ErrorAnswer),
        },
    )
    def post(self, request: Request) -> Response:
        """Begin to sign in, or, for somebody who is signed in, to connect their account with the provider."""
        back = f"{public_url(request)}{reverse('provider-back')}"
        return Response({"url": _single_sign_on().begin(request._request, back)})


class ProviderBackView(APIView):
    """The address to which the provider sends a browser back."""

    permission_classes = (AllowAny,)

    @extend_schema(responses={302: None})
    def get(self, request: Request) -> HttpResponseRedirect:
        """Sign in whom the provider vouches for. Where it does not, the next page says why."""
        was_signed_in = request.user.is_authenticated
        try:
            user = _single_sign_on().finish(request._request)
        except Refused as refusal:
            request.session[REFUSAL] = refusal.body()["error"]
        else:
            login(request._request, user)
            what = "connected" if was_signed_in else "signed in"
            audit.record(user.username, what, accounts.provider_name())
        return HttpResponseRedirect("/account/profile" if was_signed_in else "/")


class PasswordView(APIView):
    @extend_schema(request=account_forms.ChangedPassword, responses={204: None, 429: serializers.ErrorAnswer})
    def post(self, request: Request) -> Response:
        """Change your own password. Your other sessions end."""
        user, values = person(request), given(request, account_forms.ChangedPassword)
        accounts.change_password(request._request, user, values["old"], values["new"])
        update_session_auth_hash(request._request, user)
        return Response(status=204)


class SecondFactorView(APIView):
    """The codes of an app, with which you sign in besides your password."""

    @extend_schema(request=None, responses={200: account_forms.BegunFactor, 409: serializers.ErrorAnswer})
    def post(self, request: Request) -> Response:
        """Make a secret for an authenticator app. Nothing changes until a code confirms it."""
        return Response(account_forms.BegunFactor(second_factor.begin(person(request))).data)

    @extend_schema(
        request=account_forms.Code,
        responses={
            200: account_forms.RecoveryCodes,
            409: serializers.ErrorAnswer,
            429: serializers.ErrorAnswer,
        },
    )
    def put(self, request: Request) -> Response:
        """Turn the second factor on. The answer has the codes for when the app is lost, this once."""
        codes = second_factor.confirm(person(request), given(request, account_forms.Code)["code"])
        return Response({"codes": codes})


class SecondFactorOffView(APIView):
    @extend_schema(request=account_forms.Code, responses={204: None, 429: serializers.ErrorAnswer})
    def post(self, request: Request) -> Response:
        """Turn the second factor off, with a code of the app or one for when it is lost."""
        user = person(request)
        second_factor.check(user, given(request, account_forms.Code)["code"])
        second_factor.remove(user)
        return Response(status=204)


class FirstRunView(APIView):
    """The first administrator."""

    permission_classes = (AllowAny,)

    @extend_schema(responses=account_forms.FirstRun)
    def get(self, request: Request) -> Response:
        """Tell whether this platform still lacks an administrator."""
        return Response({"needed": first_run.is_needed()})

    @extend_schema(
        request=account_forms.FirstAdministrator,
        responses={200: account_forms.Person, 409: serializers.ErrorAnswer, 429: serializers.ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Create the first administrator, with the token that `unpooled up` printed, and sign in."""
        accounts.limit_address(request._request)
        values = given(request, account_forms.FirstAdministrator)
        user = first_run.create_administrator(values["token"], values["username"], values["password"])
        return signed_in(request, user)
