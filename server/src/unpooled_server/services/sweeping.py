"""Every 15 seconds: finds what nobody was told about, and whom the studies wait for."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from django.db.models import Q
from django.utils import timezone

from unpooled_server import traces
from unpooled_server.bells import doorbell
from unpooled_server.models import Cohort, Study
from unpooled_server.names import PauseKind, StudyState
from unpooled_server.reads import selectors
from unpooled_server.services.transitions import pause, resume
from unpooled_server.storage import store

# Seconds that a ring which got lost may cost, and a worker that was killed.
INTERVAL = 15.0


def age() -> float | None:
    """Return the seconds since the last sweep, of whichever worker; None before the first."""
    return store.kept().age(_stamp())


def _stamp() -> Path:
    return store.kept().root / "swept"


@traces.step("the sweep")
def sweep() -> None:
    """Look at all studies, and note that it was done."""
    look_at_all()
    store.kept().touch(_stamp())
    store.kept().tidy()


def look_at_all() -> None:
    now = timezone.now()
    for round_id in selectors.rounds_to_advance():
        doorbell.ring_round(round_id)
    for study_id, _ in selectors.studies_to_advance():
        doorbell.ring_study(study_id)
    for study_id in selectors.studies_to_clean():
        doorbell.ring_study(study_id)
    for study in Study.objects.filter(state=StudyState.RUNNING):
        pause_if_away(study, now)
    for study in Study.objects.filter(state=StudyState.PAUSED):
        resume_if_back(study)


def pause_if_away(study: Study, now: datetime) -> None:
    """Pause a study while a question waits for a cohort that has not been heard of for long."""
    away = selectors.away(study, now)
    if away:
        pause(study.pk, PauseKind.AWAY, f"Waiting for {', '.join(away)}.")


def resume_if_back(study: Study) -> None:
    """Go on where the reason of a pause is gone."""
    if study.pause_kind == PauseKind.AWAY and not selectors.away(study, timezone.now()):
        resume(study.pk, [PauseKind.AWAY])
    if study.pause_kind == PauseKind.PROBLEM and not study.cohorts.filter(~Q(problem="")).exists():
        resume(study.pk, [PauseKind.PROBLEM])


def is_back(cohort: Cohort) -> None:
    """A cohort was heard: its study may have waited for nobody else."""
    if cohort.study.state == StudyState.PAUSED:
        resume_if_back(cohort.study)
