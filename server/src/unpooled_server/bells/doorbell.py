"""Tells a worker that there is something to do. The database is the queue: a lost ring loses time only."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from functools import partial
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.db import transaction

from unpooled_server import traces

log = logging.getLogger(__name__)


ROUND, STUDY = "unpooled.advance-round", "unpooled.advance-study"
"""Names of the tasks, so that whoever rings need not import them."""


def ring_round(round_id: int) -> None:
    """Ring for a round that can go on, once the transaction is committed."""
    transaction.on_commit(partial(_ring, ROUND, round_id))


def ring_study(study_id: str) -> None:
    """Ring for a study that can go on, once the transaction is committed."""
    transaction.on_commit(partial(_ring, STUDY, study_id))


def _ring(task: str, argument: object) -> None:
    """Ring through the broker; without one, at the embedded worker on this machine."""
    if not settings.UNPOOLED_BROKER_URL:
        _ring_here()
        return
    try:
        current_app.send_task(task, (argument,), ignore_result=True, retry=False, headers=traces.headers())
    except Exception as error:  # whatever the broker's library raises: the sweep rings again
        log.warning("could not ring for %s: %s", argument, type(error).__name__)


def _pipe() -> Path:
    return Path(settings.UNPOOLED_HOME) / "doorbell"


def _ring_here() -> None:
    # Where there is no pipe, nobody listens, or so much is unread that one byte more would say nothing.
    with contextlib.suppress(OSError):
        pipe = os.open(_pipe(), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(pipe, b"\0")
        finally:
            os.close(pipe)


def listen(rung: threading.Event) -> bool:
    """Set `rung` whenever a process of this machine rings; False where it could not be heard."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkfifo(_pipe(), 0o600)
        # To write, too: a pipe that nobody has open to write reads as ended at once, again and again.
        pipe = os.open(_pipe(), os.O_RDWR)
    except (AttributeError, OSError) as error:  # Windows has none, nor has every file system
        log.info("looks into the database for what is to do: %s", error)
        return False

    def hear() -> None:
        while os.read(pipe, 1 << 16):
            rung.set()

    threading.Thread(target=hear, name="doorbell", daemon=True).start()
    return True
