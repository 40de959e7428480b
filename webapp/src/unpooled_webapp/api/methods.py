"""What a study can do, from the registry of algorithms."""

from __future__ import annotations

import dataclasses
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled.algorithms import ALGORITHMS, METHODS, usual
from unpooled.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS
from unpooled_webapp.api import serializers

_DEFAULTS: dict[str, Any] = {"phenotype": "", "cohorts": MIN_COHORTS} | {
    field.name: field.default
    for field in dataclasses.fields(Plan)
    if field.default is not dataclasses.MISSING and field.name not in ("panel_digest", "version")
}


class MethodsView(APIView):
    @extend_schema(responses=serializers.Method(many=True))
    def get(self, request: Request) -> Response:
        """The tests of variants and the ways to normalize tables, with what a plan can ask of each."""
        found = [
            {
                "name": method.name,
                "title": method.title,
                "of_tables": method.name in METHODS,
                "traits": method.traits,
                "files": list(method.files),
                "options": sorted(method.options),
                "usual": {**_DEFAULTS, **usual(method.name), "test": method.name},
            }
            for method in ALGORITHMS.values()
        ]
        return Response(serializers.Method(found, many=True).data)
