"""Doorbells. A task re-reads the state and does one thing; to run one twice does no harm."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from celery import shared_task

from unpooled_server.bells import doorbell
from unpooled_server.errors import DATABASE_AWAY, first_line
from unpooled_server.services import rounds, studies, sweeping

log = logging.getLogger(__name__)


@contextmanager
def _with_database(what: object) -> Iterator[None]:
    """While it is away a line is enough: the sweep rings again."""
    try:
        yield
    except DATABASE_AWAY as error:
        log.error("work on %s: the database does not answer (%s)", what, first_line(error))


@shared_task(name=doorbell.ROUND, ignore_result=True)
def advance_round(round_id: int) -> None:
    with _with_database(round_id):
        rounds.advance(round_id)


@shared_task(name=doorbell.STUDY, ignore_result=True)
def advance_study(study_id: str) -> None:
    with _with_database(study_id):
        studies.advance(study_id)


@shared_task(ignore_result=True)
def sweep() -> None:
    with _with_database("the sweep"):
        sweeping.sweep()
