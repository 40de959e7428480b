"""Doorbells. A task re-reads the state and does one thing; to run one twice does no harm."""

from __future__ import annotations

import logging

from celery import shared_task

from unpooled_server.bells import doorbell
from unpooled_server.errors import logged_if_away
from unpooled_server.services import rounds, studies, sweeping

log = logging.getLogger(__name__)


@shared_task(name=doorbell.ROUND, ignore_result=True)
def advance_round(round_id: int) -> None:
    with logged_if_away(log, f"work on {round_id}"):
        rounds.advance(round_id)


@shared_task(name=doorbell.STUDY, ignore_result=True)
def advance_study(study_id: str) -> None:
    with logged_if_away(log, f"work on {study_id}"):
        studies.advance(study_id)


@shared_task(ignore_result=True)
def sweep() -> None:
    with logged_if_away(log, "the sweep"):
        sweeping.sweep()
