"""Forms of the API's requests and answers about people and their passwords."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers

from unpooled_webapp import accounts, second_factor
from unpooled_webapp.api.serializers import Problem


class Password(serializers.CharField):
    """A password, every character of it: blanks at its ends are part of it wherever it is typed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=1000, write_only=True, trim_whitespace=False, **options)


class DisplayName(serializers.CharField):
    """Display name of a person on pages; printable, so that nothing in it is hidden."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=80, allow_blank=True, required=False, **options)

    def to_internal_value(self, data: Any) -> str:
        text: str = super().to_internal_value(data)
        if not text.isprintable():
            raise serializers.ValidationError("One line of letters, digits and punctuation.")
        return text


class Proof(serializers.Serializer[Any]):
    """Password and code: they show that it is somebody's own account."""

    password = Password()
    code = serializers.CharField(
        max_length=40, required=False, help_text="of the second factor, where the account has one"
    )


class SignIn(Proof):
    username = serializers.CharField(max_length=150)


class Code(serializers.Serializer[Any]):
    code = serializers.CharField(max_length=40)


class BegunFactor(serializers.Serializer[Any]):
    secret = serializers.CharField(help_text="to be typed into an authenticator app; in base 32")
    picture = serializers.ListField(
        child=serializers.CharField(), help_text="the same as a QR code's rows, 1 where it is dark"
    )


class RecoveryCodes(serializers.Serializer[Any]):
    codes = serializers.ListField(
        child=serializers.CharField(), help_text="each signs in once in place of the app's code"
    )


class Person(serializers.Serializer[Any]):
    username = serializers.CharField()
    display_name = serializers.CharField(help_text="empty: the person is called by the user name")
    role = serializers.ChoiceField(accounts.ROLES)
    has_password = serializers.BooleanField(help_text="without one the person signs in through the provider")
    has_second_factor = serializers.BooleanField()
    is_connected = serializers.BooleanField(help_text="the person may sign in through the provider")


READ = ("second_factor", "provider_account")
"""Rows of other tables that tell something of a person."""


def row(user: User) -> dict[str, object]:
    """A person, as the forms above describe one."""
    return {
        "username": user.username,
        "display_name": user.first_name,
        "role": accounts.role(user),
        "has_password": user.has_usable_password(),
        "has_second_factor": second_factor.is_on(user),
        "is_connected": hasattr(user, "provider_account"),
    }


class ChangedAccount(serializers.Serializer[Any]):
    display_name = DisplayName()


class ChangedPassword(serializers.Serializer[Any]):
    old = Password()
    new = Password()


class Provider(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="of the organisation's single sign-on; empty where there is none")
    refusal = Problem(allow_null=True, help_text="why the last sign-in through it failed; told once")


class ProviderPage(serializers.Serializer[Any]):
    url = serializers.CharField(help_text="where the browser goes next")


class FirstRun(serializers.Serializer[Any]):
    needed = serializers.BooleanField(help_text="there is no administrator yet")


class FirstAdministrator(serializers.Serializer[Any]):
    token = serializers.CharField(max_length=100, help_text="from the address that `unpooled up` printed")
    username = serializers.RegexField(accounts.USERNAME)
    password = Password()


class NewPerson(serializers.Serializer[Any]):
    username = serializers.RegexField(accounts.USERNAME)
    display_name = DisplayName()
    password = Password()
    role = serializers.ChoiceField(accounts.ROLES)


class ChangedPerson(serializers.Serializer[Any]):
    display_name = DisplayName()
    password = Password(required=False)
    role = serializers.ChoiceField(accounts.ROLES, required=False)
    active = serializers.BooleanField(required=False)
    drop_second_factor = serializers.BooleanField(
        required=False, help_text="for somebody who has lost app and codes"
    )
