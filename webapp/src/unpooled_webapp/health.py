from __future__ import annotations

from importlib.metadata import version

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from unpooled.protocol import VERSION
from unpooled_webapp import installation

# The release is no secret: a client of another protocol is told it before it shows a token.
_VERSIONS = {"protocol": VERSION, "release": version("unpooled-webapp")}


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Tell whether the platform answers and reaches its database, and its versions: anybody may ask."""
    try:
        installation.require_own_home()
    except installation.OtherHome:
        return JsonResponse({"status": "other home"} | _VERSIONS, status=503)
    except Exception:  # whatever the database's driver raises
        return JsonResponse({"status": "no database"} | _VERSIONS, status=503)
    return JsonResponse({"status": "ok"} | _VERSIONS)
