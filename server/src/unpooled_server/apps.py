from __future__ import annotations

from django.apps import AppConfig


class ServerConfig(AppConfig):
    name = "unpooled_server"
    label = "unpooled_server"
    verbose_name = "Unpooled"
    default_auto_field = "django.db.models.BigAutoField"
