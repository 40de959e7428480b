"""`unpooled manage operators`: a trial to every operator, and the secrets of their webhooks."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from unpooled_webapp.notices import webhooks
from unpooled_webapp.operating import alarms


class Command(BaseCommand):
    help = "Send a trial to each address of UNPOOLED_OPERATORS, and show the secrets of webhooks."

    def handle(self, *args: Any, **options: Any) -> None:
        for address in settings.UNPOOLED_OPERATORS:
            is_told = alarms.tell(address, "trial", "This is a trial of what operators are told.")
            secret = f"   {webhooks.secret(alarms.channel(address))}" if "://" in address else ""
            self.stdout.write(f"{address}: {'told' if is_told else 'NOT told'}{secret}")
