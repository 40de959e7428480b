from __future__ import annotations

import importlib

from django.apps import AppConfig
from django.conf import settings


class WebappConfig(AppConfig):
    name = "unpooled_webapp"

    def ready(self) -> None:
        importlib.import_module("unpooled_webapp.notices.events").listen()
        importlib.import_module("unpooled_webapp.operating.reports").begin()
        importlib.import_module("unpooled_server.traces").begin()
        if settings.UNPOOLED_BROKER_URL:
            importlib.import_module("unpooled_webapp.celery")  # else doorbells would ring nowhere
