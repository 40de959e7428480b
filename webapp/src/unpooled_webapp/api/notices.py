"""Notifications: where you are told, of what, of which studies, and what came of it. With a session only."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.errors import Conflict, Missing
from unpooled_webapp import accounts
from unpooled_webapp.api.access import given, person, row_number, visible
from unpooled_webapp.api.serializers import ErrorAnswer
from unpooled_webapp.models import Channel, ChannelKind, Delivery, Event, Following, Outcome
from unpooled_webapp.notices import webhooks

MOST = 10  # channels of one person
LAST = 20  # deliveries that are listed


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


def _own(request: Request, channel: str) -> Channel:
    found = person(request).channels.filter(pk=row_number(channel)).first()
    if found is None:
        raise Missing("no-such-channel", "You have no such address for notifications.")
    return found


class ChannelsView(APIView):
    @extend_schema(responses=Channels)
    def get(self, request: Request) -> Response:
        """List the channels on which you are told what became of your studies."""
        rows = ChannelRow(person(request).channels.all(), many=True).data
        return Response({"sends_mail": bool(settings.UNPOOLED_MAIL_URL), "channels": rows})

    @extend_schema(request=NewChannel, responses={201: IssuedChannel, 409: ErrorAnswer})
    def post(self, request: Request) -> Response:
        """Be told by mail or webhook. The answer holds the secret of a webhook, this once."""
        user, values = person(request), given(request, NewChannel)
        if values["kind"] == ChannelKind.MAIL and not settings.UNPOOLED_MAIL_URL:
            raise Conflict("no-mail", "This platform sends no mail.", "Ask its operator, or use a webhook.")
        if user.channels.count() >= MOST:
            raise Conflict("too-many-channels", f"You have {MOST} addresses already.", "Remove one first.")
        found = {"kind": values["kind"], "address": values["address"]}
        if user.channels.filter(**found).exists():
            raise Conflict(
                "address-taken", "You are told there already.", fields={"address": "is there already"}
            )
        channel = Channel.objects.create(user=user, nonce=secrets.token_hex(32), **values)
        secret = webhooks.secret(channel) if channel.kind == ChannelKind.WEBHOOK else ""
        return Response({**ChannelRow(channel).data, "secret": secret}, status=201)


class ChannelView(APIView):
    @extend_schema(request=ChangedChannel, responses=ChannelRow)
    def patch(self, request: Request, channel: str) -> Response:
        """Change of what, and of which studies, you are told there."""
        found = _own(request, channel)
        for name, value in given(request, ChangedChannel).items():
            setattr(found, name, value)
        found.save()
        return Response(ChannelRow(found).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, channel: str) -> Response:
        """Be told there no more. What was not delivered yet is not."""
        _own(request, channel).delete()
        return Response(status=204)


class TrialView(APIView):
    @extend_schema(request=None, responses={202: DeliveryRow, 429: ErrorAnswer})
    def post(self, request: Request, channel: str) -> Response:
        """Send a trial there, by the way that all notices go."""
        found = _own(request, channel)
        accounts.limit_trials(person(request))
        delivery = Delivery.objects.create(channel=found, event=Event.TRIAL)
        return Response(DeliveryRow(delivery).data, status=202)


class DeliveriesView(APIView):
    @extend_schema(responses=DeliveryRow(many=True))
    def get(self, request: Request) -> Response:
        """The last notices to you, newest first, and what came of them."""
        rows = Delivery.objects.filter(channel__user=person(request)).select_related("channel", "study")[
            :LAST
        ]
        return Response(DeliveryRow(rows, many=True).data)


class FollowingView(APIView):
    @extend_schema(request=None, responses={204: None})
    def put(self, request: Request, study: str) -> Response:
        """Be told of this study, at all addresses that you have given."""
        Following.objects.get_or_create(user=person(request), study=visible(request, study))
        return Response(status=204)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, study: str) -> Response:
        """Be told of this study no more, except where you are told of all that you coordinate."""
        Following.objects.filter(user=person(request), study=visible(request, study)).delete()
        return Response(status=204)
