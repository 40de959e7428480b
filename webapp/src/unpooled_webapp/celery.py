"""The Celery application: `celery -A unpooled_webapp.celery worker --beat`."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, worker_init, worker_ready

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


@worker_init.connect
def compare_home(**_: Any) -> None:
    """Refuse to start with the files of one platform on the database of another."""
    from unpooled_webapp import installation

    installation.check_at_start()


@worker_ready.connect
def look_for_work(**_: Any) -> None:
    """A worker that starts looks at once for what the one before it left undone."""
    app.send_task("unpooled_server.tasks.sweep", expires=14)
