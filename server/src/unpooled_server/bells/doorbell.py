"""Tells a worker that there is something to do. The database is the queue: a lost ring loses time only.

Two implementations: Celery, and Null for the embedded worker, which looks into the database by itself.
"""

from __future__ import annotations

import functools
import logging
from typing import Protocol

from celery import current_app
from django.conf import settings
from django.db import transaction

log = logging.getLogger(__name__)


ROUND, STUDY = "unpooled.advance-round", "unpooled.advance-study"
"""Names of the tasks, so that whoever rings need not import them."""


class Doorbell(Protocol):
    def round(self, round_id: int) -> None:
        """A round can go on."""

    def study(self, study_id: str) -> None:
        """A study can go on."""


class NullDoorbell:
    """Nobody to tell: the embedded worker looks by itself."""

    def round(self, round_id: int) -> None: ...
    def study(self, study_id: str) -> None: ...


class CeleryDoorbell:
    """Rings through the broker; a broker that is down is no reason to fail, the sweep rings again."""

    def round(self, round_id: int) -> None:
        self._ring(ROUND, round_id)

    def study(self, study_id: str) -> None:
        self._ring(STUDY, study_id)

    def _ring(self, task: str, argument: object) -> None:
        try:
            current_app.send_task(task, (argument,), ignore_result=True, retry=False)
        except Exception as error:  # whatever the broker's library raises: the sweep covers for it
            log.warning("could not ring for %s: %s", argument, type(error).__name__)


@functools.cache
def _doorbell(broker: str) -> Doorbell:
    return CeleryDoorbell() if broker else NullDoorbell()


def ring_round(round_id: int) -> None:
    """Ring for a round once the transaction is committed."""
    transaction.on_commit(lambda: _doorbell(settings.UNPOOLED_BROKER_URL).round(round_id))


def ring_study(study_id: str) -> None:
    """Ring for a study once the transaction is committed."""
    transaction.on_commit(lambda: _doorbell(settings.UNPOOLED_BROKER_URL).study(study_id))
