from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from unpooled_webapp import health

urlpatterns = [
    path("health", health.health),
    path("api/v1/cohort/", include("unpooled_server.cohort_api.urls")),
    path("api/v1/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/", include("unpooled_webapp.api.urls")),
    path("", include("unpooled_webapp.pages.urls")),
]
