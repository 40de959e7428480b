"""The only place where the state of a study changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import F
from django.dispatch import Signal
from django.utils import timezone

from unpooled_server.bells import doorbell
from unpooled_server.models import LogEntry, Round, Study
from unpooled_server.names import HELD, LIVE, OVER, PauseKind, RoundState, StudyState

PLATFORM = "platform"

moved = Signal()
"""Sent with `study_id`, `state` and `pause_kind` in the transaction that changes them. What goes wrong at who
listens is logged, and changes nothing here."""


def note(study_id: str, who: str, what: str) -> None:
    """Add a line to the study's log."""
    LogEntry.objects.create(study_id=study_id, who=who, what=what)


def touch(study_id: str, **changes: Any) -> None:
    """Change fields that cohorts and coordinators watch, and say that there is something new."""
    Study.objects.filter(pk=study_id).update(version=F("version") + 1, changed_at=timezone.now(), **changes)


def move(
    study_id: str,
    old: Iterable[StudyState],
    new: StudyState,
    who: str,
    what: str,
    kinds: Iterable[PauseKind] = tuple(PauseKind),
    **changes: Any,
) -> bool:
    """Move the study from an old state, and kind of pause, to the new state; tell whether this call did."""
    if new in OVER:
        changes["code_key"] = b""  # from now on nobody can make a code
    with transaction.atomic():
        # The old state stands in the WHERE: of two who move it at the same moment one finds no row.
        before = Study.objects.filter(pk=study_id, state__in=list(old), pause_kind__in=list(kinds))
        won = before.update(state=new, version=F("version") + 1, changed_at=timezone.now(), **changes)
        if won:
            note(study_id, who, what)
            _tell(study_id, new, changes.get("pause_kind", PauseKind.NONE))
            doorbell.ring_study(study_id)
    return bool(won)


def _tell(study_id: str, state: StudyState, pause_kind: PauseKind) -> None:
    # Robust: what goes wrong at a listener, such as a notice, must not take back the change of a study.
    moved.send_robust(sender=Study, study_id=study_id, state=state, pause_kind=pause_kind)


def fail(study_id: str, reason: str, field: str = "") -> bool:
    """End a study that cannot go on, with the reason that people read. `field` of the plan is to blame."""
    return move(
        study_id,
        [state for state in StudyState if state not in OVER],
        StudyState.FAILED,
        PLATFORM,
        f"failed: {reason}",
        reason=reason,
        refused_field=field,
        pause_kind=PauseKind.NONE,
        ended_at=timezone.now(),
    )


def pause(study_id: str, kind: PauseKind, reason: str, who: str = PLATFORM) -> bool:
    """Pause a running study; a study that is paused already keeps its first reason."""
    return move(
        study_id,
        [StudyState.RUNNING],
        StudyState.PAUSED,
        who,
        f"paused: {reason}",
        reason=reason,
        pause_kind=kind,
        paused_at=timezone.now(),
    )


def resume(study_id: str, kinds: Iterable[PauseKind], who: str = PLATFORM) -> bool:
    """Continue a study that is paused for one of these kinds of reason."""
    with transaction.atomic():
        now, study = timezone.now(), Study.objects.filter(pk=study_id)
        # Read before the move: whoever moves it first has the row, and the other's `since` is not used.
        since = study.values_list("paused_at", flat=True).first() or now
        won = move(
            study_id,
            [StudyState.PAUSED],
            StudyState.RUNNING,
            who,
            "goes on",
            kinds,
            paused_seconds=F("paused_seconds") + (now - since).total_seconds(),
            pause_kind=PauseKind.NONE,
            reason="",
        )
        if won:
            # These may have rung during the pause, when nothing was done about it.
            waiting = Round.objects.filter(
                study=study_id, state__in=[RoundState.COMPLETE, RoundState.RELEASED]
            )
            for round_id in waiting.values_list("pk", flat=True):
                doorbell.ring_round(round_id)
    return won


def is_working(study: Study) -> bool:
    """Tell whether rounds of this study may be released and summed now."""
    return study.state in LIVE and study.pause_kind not in HELD
