"""Forms of the API's requests and answers about notifications."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers

from unpooled_webapp.models import Channel, ChannelKind, Delivery, Event, Outcome
from unpooled_webapp.notices import webhooks

EVENTS = [(event.value, event.label) for event in Event if event != Event.TRIAL]


class Events(serializers.ListField):
    """Events that a channel is told of, each once."""

    child = serializers.ChoiceField(EVENTS)

    def to_internal_value(self, data: Any) -> list[str]:
        return sorted(set(super().to_internal_value(data)))


class ChannelRow(serializers.ModelSerializer[Channel]):
    id = serializers.IntegerField(read_only=True)
    kind = serializers.ChoiceField(ChannelKind.choices, read_only=True)
    events = Events(read_only=True)

    class Meta:
        model = Channel
        fields: ClassVar = ["id", "kind", "address", "events", "all_own"]


class Channels(serializers.Serializer[Any]):
    """Channels on which you are told what became of your studies."""

    sends_mail = serializers.BooleanField(help_text="whether the platform's operator has set up mail")
    channels = ChannelRow(many=True)


class NewChannel(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(ChannelKind.choices)
    address = serializers.CharField(
        max_length=500, help_text="a mail address, or one that begins with https://"
    )
    events = Events(allow_empty=False)
    all_own = serializers.BooleanField(
        help_text="of every study that you coordinate; else only of those that you follow"
    )

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if values["kind"] == ChannelKind.MAIL:
            try:
                serializers.EmailField(max_length=254).run_validation(values["address"])
            except serializers.ValidationError as error:
                raise serializers.ValidationError({"address": error.detail}) from None
        else:
            _check_webhook(values["address"])
        return values


def _check_webhook(address: str) -> None:
    try:
        webhooks.destination(address)
    except webhooks.Undelivered as error:
        raise serializers.ValidationError({"address": f"This address {error}."}) from None


class ChangedChannel(serializers.Serializer[Any]):
    events = Events(allow_empty=False, required=False)
    all_own = serializers.BooleanField(required=False)


class IssuedChannel(ChannelRow):
    secret = serializers.CharField(
        read_only=True, help_text="that a webhook is signed with, shown this once; empty for mail"
    )

    class Meta(ChannelRow.Meta):
        fields: ClassVar = [*ChannelRow.Meta.fields, "secret"]


class DeliveryRow(serializers.ModelSerializer[Delivery]):
    """A notice, and what came of it."""

    event = serializers.ChoiceField(Event.choices, read_only=True)
    outcome = serializers.ChoiceField(Outcome.choices, read_only=True)
    address = serializers.CharField(source="channel.address", read_only=True)
    study_name = serializers.CharField(
        source="study.name", read_only=True, default="", help_text="empty: a trial"
    )
    tries = serializers.IntegerField(read_only=True)

    class Meta:
        model = Delivery
        fields: ClassVar = [
            *("id", "event", "time", "study", "study_name", "address", "outcome", "tries", "said", "due_at")
        ]
