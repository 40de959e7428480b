"""Forms of the API's requests and answers about API tokens."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers

from unpooled_webapp import tokens
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
