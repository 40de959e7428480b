"""Notes that somebody has compared a key's fingerprint by telephone: who and when, and in the log."""

from __future__ import annotations

from django.utils import timezone

from unpooled.protocol import sealing
from unpooled_server.errors import Conflict
from unpooled_server.models import Cohort, Study
from unpooled_server.services.joining import locked
from unpooled_server.services.transitions import note


def cohort_compared(study: Study, cohort: Cohort, who: str, fingerprint: str, *, is_same: bool) -> None:
    """Note that the fingerprint of a cohort's key was compared, or take that back.

    `fingerprint` is the one that was compared: the cohort may have joined again meanwhile.
    """
    with locked(study.pk):
        now = Cohort.objects.get(pk=cohort.pk)
        _require_same(now.name, now.public_key, fingerprint)
        Cohort.objects.filter(pk=now.pk).update(**_noted(who, is_same))
        _note(study, who, now.name, fingerprint, is_same=is_same)


def compensator_compared(study: Study, who: str, fingerprint: str, *, is_same: bool) -> None:
    """The same of the compensator's key, which the plan names."""
    with locked(study.pk) as now:
        _require_same("The compensator", now.plan_json["compensator_key"], fingerprint)
        Study.objects.filter(pk=now.pk).update(**_noted(who, is_same))
        _note(study, who, "the compensator", fingerprint, is_same=is_same)


def _require_same(name: str, key: str, seen: str) -> None:
    if not key or sealing.fingerprint(bytes.fromhex(key)) != seen:
        raise Conflict(
            "other-key",
            f"{name} has another key now than the one that you compared.",
            "Compare the fingerprint that is shown now.",
        )


def _noted(who: str, is_same: bool) -> dict[str, object]:
    if is_same:
        return {"compared_by": who, "compared_at": timezone.now()}
    return {"compared_by": "", "compared_at": None}


def _note(study: Study, who: str, whose: str, key: str, *, is_same: bool) -> None:
    note(
        study.pk,
        who,
        f"compared the fingerprint of {whose} by telephone: {key}"
        if is_same
        else f"took back that the fingerprint of {whose} was compared: {key}",
    )
