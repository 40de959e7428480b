"""Tasks of a worker for people, beside the studies."""

from __future__ import annotations

import logging
import threading
import time

from celery import shared_task
from django.db import close_old_connections

from unpooled_server.errors import logged_if_away
from unpooled_webapp.notices import delivering
from unpooled_webapp.operating import alarms

log = logging.getLogger(__name__)

INTERVAL = 15.0


@shared_task(ignore_result=True)
def deliver_notices() -> None:
    """Tell people what became of their studies, and operators what is wrong."""
    with logged_if_away(log, "notices"):
        delivering.deliver_due()
    alarms.look(time.time())


def keep_delivering(stop: threading.Event) -> None:
    """Deliver on a thread of its own in a worker without a broker: a slow receiver holds up no study."""
    while not stop.wait(INTERVAL):
        try:
            deliver_notices()
        except Exception:
            log.exception("notices could not be delivered")
        finally:
            close_old_connections()
