"""Doorbells. A task re-reads the state and does one thing; to run one twice does no harm."""

from __future__ import annotations

from celery import shared_task

from unpooled_server.services import rounds, studies, sweeping


@shared_task(ignore_result=True)
def advance_round(round_id: int) -> None:
    rounds.advance(round_id)


@shared_task(ignore_result=True)
def advance_study(study_id: str) -> None:
    studies.advance(study_id)


@shared_task(ignore_result=True)
def sweep() -> None:
    sweeping.sweep()
