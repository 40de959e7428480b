"""A study over generated cohorts, and their files to try clients with."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.http import FileResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled_webapp import accounts
from unpooled_webapp.api import serializers
from unpooled_webapp.api.access import person, require_coordinator
from unpooled_webapp.api.studies import detail
from unpooled_webapp.demonstration import example, service


class DemoView(APIView):
    @extend_schema(responses=serializers.Demo)
    def get(self, request: Request) -> Response:
        """Tell whether you may run a demo here, and whether one can run."""
        if not (service.is_permitted() and accounts.may_coordinate(person(request))):
            return Response({"permitted": False, "lacking": "", "running": False})
        return Response({"permitted": True, "lacking": service.lacking(), "running": service.is_running()})

    @extend_schema(request=None, responses={201: serializers.StudyDetail, 409: serializers.ErrorAnswer})
    def post(self, request: Request) -> Response:
        """Start a study of three generated cohorts, whose clients run on the server's machine."""
        user = person(request)
        require_coordinator(user)
        return detail(request, service.begin(user), 201)


class ExampleView(APIView):
    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY, 403: serializers.ErrorAnswer})
    def get(self, request: Request) -> HttpResponseBase:
        """Three generated cohorts as PLINK files in a ZIP, with a README that says how to take part."""
        require_coordinator(person(request))
        made = example.archive(Path(settings.UNPOOLED_HOME))
        return FileResponse(made.open("rb"), as_attachment=True, filename=made.name)
