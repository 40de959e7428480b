"""Notifications: where you are told, of what, of which studies, and what came of it. With a session only."""

from __future__ import annotations

import secrets

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.errors import Conflict, Missing
from unpooled_webapp import accounts
from unpooled_webapp.api import notice_forms, serializers
from unpooled_webapp.api.access import given, person, row_number, visible
from unpooled_webapp.models import Channel, ChannelKind, Delivery, Event, Following
from unpooled_webapp.notices import webhooks

MOST = 10  # channels of one person
LAST = 20  # deliveries that are listed


def _own(request: Request, channel: str) -> Channel:
    found = person(request).channels.filter(pk=row_number(channel)).first()
    if found is None:
        raise Missing("no-such-channel", "You have no such address for notifications.")
    return found


class ChannelsView(APIView):
    @extend_schema(responses=notice_forms.Channels)
    def get(self, request: Request) -> Response:
        """List the channels on which you are told what became of your studies."""
        rows = notice_forms.ChannelRow(person(request).channels.all(), many=True).data
        return Response({"sends_mail": bool(settings.UNPOOLED_MAIL_URL), "channels": rows})

    @extend_schema(
        request=notice_forms.NewChannel,
        responses={201: notice_forms.IssuedChannel, 409: serializers.ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Be told by mail or webhook. The answer holds the secret of a webhook, this once."""
        user, values = person(request), given(request, notice_forms.NewChannel)
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
        return Response({**notice_forms.ChannelRow(channel).data, "secret": secret}, status=201)


class ChannelView(APIView):
    @extend_schema(request=notice_forms.ChangedChannel, responses=notice_forms.ChannelRow)
    def patch(self, request: Request, channel: str) -> Response:
        """Change of what, and of which studies, you are told there."""
        found = _own(request, channel)
        for name, value in given(request, notice_forms.ChangedChannel).items():
            setattr(found, name, value)
        found.save()
        return Response(notice_forms.ChannelRow(found).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, channel: str) -> Response:
        """Be told there no more. What was not delivered yet is not."""
        _own(request, channel).delete()
        return Response(status=204)


class TrialView(APIView):
    @extend_schema(request=None, responses={202: notice_forms.DeliveryRow, 429: serializers.ErrorAnswer})
    def post(self, request: Request, channel: str) -> Response:
        """Send a trial there, by the way that all notices go."""
        found = _own(request, channel)
        accounts.limit_trials(person(request))
        delivery = Delivery.objects.create(channel=found, event=Event.TRIAL)
        return Response(notice_forms.DeliveryRow(delivery).data, status=202)


class DeliveriesView(APIView):
    @extend_schema(responses=notice_forms.DeliveryRow(many=True))
    def get(self, request: Request) -> Response:
        """The last notices to you, newest first, and what came of them."""
        rows = Delivery.objects.filter(channel__user=person(request)).select_related("channel", "study")[
            :LAST
        ]
        return Response(notice_forms.DeliveryRow(rows, many=True).data)


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
