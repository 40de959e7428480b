"""Parameters behind the question mark of an address."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from unpooled_server.errors import Refused

PHENOTYPE = OpenApiParameter("phenotype", str, description="one of the study's; the first if not given")


def number(request: Request, name: str, default: int, most: int) -> int:
    """A whole number from 0 to `most`; `default` if it is not given."""
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) > most:
        raise Refused("bad-field", f"{name}: want a number up to {most}.", fields={name: f"want 0 to {most}"})
    return int(text)
