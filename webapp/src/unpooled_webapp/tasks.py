"""Tasks of a worker for people, beside the studies."""

from __future__ import annotations

import logging

from celery import shared_task

from unpooled_server.errors import logged_if_away
from unpooled_webapp.notices import delivering

log = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def deliver_notices() -> None:
    with logged_if_away(log, "notices"):
        delivering.deliver_due()
