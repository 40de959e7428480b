"""Methods that a study can use, from the registry of algorithms."""

from __future__ import annotations

import dataclasses
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from unpooled.described.file_list import about
from unpooled.methods import ALGORITHMS, METHODS, usual
from unpooled.methods.algorithm import Method
from unpooled.plan.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS
from unpooled_webapp.api import plan_forms, plan_options
from unpooled_webapp.api.access import OpenToTokens

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
                "unlike_pool": method.unlike_pool,
                "of_tables": method.name in METHODS,
                "compares": method.is_compared,
                "traits": method.traits,
                "files": [_file(file, method) for file in method.files],
                "options": [plan_options.described(option) for option in method.all_options],
                "usual": _usual(method),
                "templates": method.templates,
            }
            for method in ALGORITHMS.values()
        ]
        return Response(plan_forms.Method(found, many=True).data)
