from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import IntConverter, StringConverter

from unpooled_server.cohort_api import views


class RoundNumber(IntConverter):
    """A number that a database can hold."""

    regex = "[0-9]{1,18}"


class PlaceInStudy(StringConverter):
    """The label of a place: it names a file."""

    regex = "[0-9]{1,9}(?:[.][0-9]{1,9})*"


register_converter(RoundNumber, "round")
register_converter(PlaceInStudy, "place")

urlpatterns = [
    path("study", views.study),
    path("join", views.join),
    path("accept", views.accept),
    path("keys", views.keys),
    path("sealed", views.sealed),
    path("boxes", views.boxes),
    path("repetition", views.repetition),
    path("problem", views.problem),
    path("timing", views.timing),
    path("traffic", views.traffic),
    path("panel/digest", views.panel_digest),
    path("panel/list", views.panel_list),
    path("panel", views.panel),
    path("list", views.coordinator_list),
    path("questions", views.questions),
    path("told/<place:place>", views.told),
    path("shown/<place:place>", views.shown),
    path("shares/<round:round_id>", views.share),
    path("shares/<round:round_id>/all", views.all_shares),
    path("helps/<round:round_id>", views.help_to_read),
    path("codes/<round:column>", views.codes),
    path("dealings/<round:round_id>", views.dealing),
    path("results/<str:name>", views.result),
]
