"""Tells a worker that there is something to do. The database is the queue: a lost ring loses time only."""

from __future__ import annotations

import logging
from functools import partial

from celery import current_app
from django.conf import settings
from django.db import transaction

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
    """Ring through the broker; without one the embedded worker looks into the database by itself."""
    if not settings.UNPOOLED_BROKER_URL:
        return
    try:
        current_app.send_task(task, (argument,), ignore_result=True, retry=False)
    except Exception as error:  # whatever the broker's library raises: the sweep rings again
        log.warning("could not ring for %s: %s", argument, type(error).__name__)
