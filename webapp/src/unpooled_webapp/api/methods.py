"""Methods that a study can use, from the registry of algorithms."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled.described.file_list import about
from unpooled.methods import ALGORITHMS, METHODS, completed, usual
from unpooled.methods.algorithm import Method, VariantMethod
from unpooled.plan.plan import NO_KEY, Plan, PlanError
from unpooled.protocol.messages import MIN_COHORTS
from unpooled_server.services.foreseeing import foreseen
from unpooled_webapp.api import plan_forms, plan_options, progress_forms
from unpooled_webapp.api.access import OpenToTokens, given, person, require_coordinator

_NOT_ASKED = ("panel_digest", "version", "options")
_DEFAULTS: dict[str, Any] = {"phenotype": "", "cohorts": MIN_COHORTS} | {
    field.name: field.default
    for field in dataclasses.fields(Plan)
    if field.default is not dataclasses.MISSING and field.name not in _NOT_ASKED
}


def _usual(method: Method) -> dict[str, Any]:
    """The plan of somebody who says nothing."""
    options = {option.name: option.to_json(option.default) for option in method.all_options}
    return {**_DEFAULTS, **options, **usual(method.name), "test": method.name}


def _needed(method: Method) -> list[str]:
    """Fields of a plan that its author has to say something in, or it is refused."""
    asked: dict[str, Any] = {"schema": ["column"]}
    if isinstance(method, VariantMethod):
        asked = {"phenotype": "trait"} if method.needs_phenotype else {}
    try:
        completed({**_usual(method), **asked, "compensator_key": NO_KEY.hex()})
    except PlanError as error:
        return [*(asked | error.problems)]
    return [*asked]


def _file(name: str, method: Method) -> dict[str, str]:
    said = about(name, method)
    return {"name": name, "title": said.label, "hint": said.hint}


class MethodsView(OpenToTokens):
    @extend_schema(responses=plan_forms.Method(many=True))
    def get(self, request: Request) -> Response:
        """The tests of variants and the ways to normalize tables, with what a plan can ask of each."""
        found = [
            {
                "name": method.name,
                "title": method.title,
                "purpose": method.purpose,
                "unlike_pool": method.unlike_pool,
                "of_tables": method.name in METHODS,
                "compares": method.is_compared,
                "traits": method.traits,
                "files": [_file(file, method) for file in method.files],
                "options": [plan_options.described(option) for option in method.all_options],
                "needed": _needed(method),
                "usual": _usual(method),
                "templates": method.templates,
            }
            for method in ALGORITHMS.values()
        ]
        return Response(plan_forms.Method(found, many=True).data)


class ForeseenView(APIView):
    @extend_schema(request=plan_forms.AskedPlan, responses=progress_forms.Foreseen)
    def post(self, request: Request) -> Response:
        """Foresee what a study by this plan would compute, send and take; refuse it as a new study."""
        require_coordinator(person(request))
        plan = given(request, plan_forms.AskedPlan)["plan"]
        found = foreseen(plan, one_operator=settings.UNPOOLED_ONE_OPERATOR)
        return Response(progress_forms.Foreseen(found).data)
