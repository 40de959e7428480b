"""What the API takes and gives about people and their passwords."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from unpooled_webapp import accounts

USERNAME = r"^[\w.@+-]{1,150}$"


class Password(serializers.CharField):
    """A password, every character of it: blanks at its ends are part of it wherever it is typed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=1000, write_only=True, trim_whitespace=False, **options)


class SignIn(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    password = Password()


class Person(serializers.Serializer[Any]):
    username = serializers.CharField()
    role = serializers.ChoiceField(accounts.ROLES)


class ChangedPassword(serializers.Serializer[Any]):
    old = Password()
    new = Password()


class FirstRun(serializers.Serializer[Any]):
    needed = serializers.BooleanField(help_text="there is no administrator yet")


class FirstAdministrator(serializers.Serializer[Any]):
    token = serializers.CharField(max_length=100, help_text="from the address that `unpooled up` printed")
    username = serializers.RegexField(USERNAME)
    password = Password()


class NewPerson(serializers.Serializer[Any]):
    username = serializers.RegexField(USERNAME)
    password = Password()
    role = serializers.ChoiceField(accounts.ROLES)


class ChangedPerson(serializers.Serializer[Any]):
    password = Password(required=False)
    role = serializers.ChoiceField(accounts.ROLES, required=False)
    active = serializers.BooleanField(required=False)
