from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from unpooled.protocol import VERSION
from unpooled_webapp import installation


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Tell whether the platform answers and reaches its database. Say nothing else: anybody may ask."""
    try:
        installation.require_own_home()
    except installation.OtherHome:
        return JsonResponse({"status": "other home", "protocol": VERSION}, status=503)
    except Exception:  # whatever the database's driver raises
        return JsonResponse({"status": "no database", "protocol": VERSION}, status=503)
    return JsonResponse({"status": "ok", "protocol": VERSION})
