"""Schema parts common to every operation: the refusals that anybody may get."""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework.permissions import AllowAny, IsAuthenticated

from unpooled_webapp.api.serializers import ErrorAnswer


class Operation(AutoSchema):
    """An operation with its own answers, and the refusals that follow from what it takes."""

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        found = super()._get_response_bodies(direction)
        if direction == "response":
            for status in self._refusals() - set(found):
                found[status] = self._get_response_for_code(ErrorAnswer, status)
        return dict(sorted(found.items()))

    def _get_response_for_code(self, serializer: Any, *of: Any, **further: Any) -> Any:
        """Describe an answer; all refusals are one answer of many codes, which stands in the schema once."""
        described = super()._get_response_for_code(serializer, *of, **further)  # type: ignore[no-untyped-call]
        if serializer is not ErrorAnswer:
            return described
        refused = ResolvedComponent("Refused", ResolvedComponent.RESPONSE, described, ErrorAnswer)  # type: ignore[no-untyped-call]
        self.registry.register_on_missing(refused)
        return refused.ref

    def _refusals(self) -> set[str]:
        refusals = {"503"}  # the database is away
        permissions = set(self.view.permission_classes)
        if AllowAny not in permissions:
            refusals.add("401")
        if permissions - {AllowAny, IsAuthenticated}:
            refusals.add("403")
        if "{" in self.path:
            refusals.add("404")
        if any(parameter["in"] == "query" for parameter in self._get_parameters()):
            refusals.add("400")
        if self.method != "GET":
            refusals |= {"401", "403"}  # a stranger's body is too large; no token against forgery
            if self.method != "DELETE" and self.get_request_serializer() is not None:
                refusals |= {"400", "408", "413", "415"}
        return refusals
