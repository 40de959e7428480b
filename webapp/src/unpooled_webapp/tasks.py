"""Tasks of a worker for people, beside the studies."""

from __future__ import annotations

import logging
import threading
import time

from celery import shared_task
from django.db import close_old_connections

from unpooled_server import traces
from unpooled_server.errors import logged_if_away
from unpooled_server.services import studies
from unpooled_server.services.transitions import PLATFORM
from unpooled_webapp import audit
from unpooled_webapp.notices import delivering
from unpooled_webapp.operating import alarms

log = logging.getLogger(__name__)

INTERVAL = 15.0


@shared_task(ignore_result=True)
@traces.step("notices")
def deliver_notices() -> None:
    """Tell people of their studies, and operators what is wrong; delete what is kept no longer."""
    with logged_if_away(log, "notices"):
        delivering.deliver_due()
        for study in studies.delete_what_is_kept_no_longer():
            audit.record(PLATFORM, "deleted after UNPOOLED_KEEP_DAYS", study)
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
