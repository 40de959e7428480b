"""The Celery application: `celery -A unpooled_webapp.celery worker --beat`."""

from __future__ import annotations

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, setup_logging, worker_init, worker_ready

from unpooled.memory.allocator import map_large_blocks, share_one_heap

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "unpooled_webapp.settings")
app = Celery("unpooled")
app.set_default()  # for every thread of the web process, not only for the one that imports this
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["unpooled_server", "unpooled_webapp"])


@celeryd_init.connect
def keep_memory_together(**_: Any) -> None:
    """A worker's threads take large tables in turn, as those of `unpooled worker` do."""
    share_one_heap()
    map_large_blocks()


@setup_logging.connect
def log_as_all_processes_do(**_: Any) -> None:
    """Keep Celery from a format of its own: whoever listens to this signal sets the logs up instead of it."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@worker_init.connect
def compare_home(**_: Any) -> None:
    """Refuse to start with the files of one platform on the database of another."""
    from unpooled_webapp import installation

    installation.check_at_start()


@worker_ready.connect
def look_for_work(**_: Any) -> None:
    """A worker that starts looks at once for what the one before it left undone."""
    app.send_task("unpooled_server.tasks.sweep", expires=14)
