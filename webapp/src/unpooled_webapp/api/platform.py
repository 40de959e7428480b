"""The platform's standing, for administrators."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_server.names import StudyState
from unpooled_server.services import sweeping
from unpooled_webapp.api.access import IsAdministrator
from unpooled_webapp.operating.probes import CHECKS
from unpooled_webapp.operating.standing import standing

CHECK_NAMES = list(CHECKS)


class Check(serializers.Serializer[Any]):
    name = serializers.ChoiceField(CHECK_NAMES)
    is_ok = serializers.BooleanField()


class ClientStanding(serializers.Serializer[Any]):
    name = serializers.CharField()
    release = serializers.CharField(help_text="empty: it has not told")
    heard_at = serializers.DateTimeField(allow_null=True)
    is_silent = serializers.BooleanField()


class StudyStanding(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    owner = serializers.CharField()
    state = serializers.ChoiceField(StudyState.choices)
    reason = serializers.CharField()
    oldest_round = serializers.DateTimeField(allow_null=True)
    is_stuck = serializers.BooleanField(help_text="its oldest round has waited for long")
    clients = ClientStanding(many=True)


class PlatformStanding(serializers.Serializer[Any]):
    checks = Check(many=True)
    workers = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="those that answer through the broker; null: there is no broker",
    )
    swept_at = serializers.DateTimeField(
        allow_null=True, help_text="when a worker last looked at all studies"
    )
    disk_total = serializers.IntegerField()
    disk_free = serializers.IntegerField()
    studies = StudyStanding(many=True)


class PlatformView(APIView):
    permission_classes = (IsAdministrator,)

    @extend_schema(responses=PlatformStanding)
    def get(self, request: Request) -> Response:
        """Tell if all that the platform needs is there, and list the studies that are not over."""
        return Response(PlatformStanding(standing()).data)


class SweepView(APIView):
    permission_classes = (IsAdministrator,)

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """Look at all studies now, as a worker does every 15 seconds."""
        sweeping.look_at_all()
        return Response(status=204)
