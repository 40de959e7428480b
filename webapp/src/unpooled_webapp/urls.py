from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView

from unpooled_webapp import application, health

urlpatterns = [
    path("health", health.health),
    path("api/v1/cohort/", include("unpooled_server.cohort_api.urls")),
    path("api/v1/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/", include("unpooled_webapp.api.urls")),
    # Every other address is one of the browser application's own; it says itself if there is nothing.
    re_path(r"^(?!api/|static/)", application.page),
]
