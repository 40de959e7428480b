from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, JsonResponse

from unpooled.protocol import VERSION


def health(request: HttpRequest) -> JsonResponse:
    """Whether the platform answers and reaches its database. Says nothing else, for anybody may ask."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception:  # whatever the database's driver raises
        return JsonResponse({"status": "no database", "protocol": VERSION}, status=503)
    return JsonResponse({"status": "ok", "protocol": VERSION})
