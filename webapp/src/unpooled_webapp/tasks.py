"""Tasks of a worker for people, beside the studies."""

from __future__ import annotations

import logging

from celery import shared_task

from unpooled_server.errors import DATABASE_AWAY, first_line
from unpooled_webapp.notices import delivering

log = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def deliver_notices() -> None:
    try:
        delivering.deliver_due()
    except DATABASE_AWAY as error:
        log.error("notices: the database does not answer (%s)", first_line(error))
