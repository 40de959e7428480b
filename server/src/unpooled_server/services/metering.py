"""Who was heard when, and how many bytes passed between the server and each party."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from unpooled_server.compensator_client import Meter
from unpooled_server.models import Cohort, Traffic
from unpooled_server.names import COMPENSATOR, Phase


def count(study_id: str, party: str, phase: Phase, received: int, sent: int, content: int = 0) -> None:
    """Add to the bytes that the server received from, and sent to, a party.

    `content` is what the request brought, without its headers.
    """
    row = Traffic.objects.filter(study_id=study_id, party=party, phase=phase)
    more = {
        "received": received,
        "sent": sent,
        "requests": 1,
        "content": content,
        "messages": int(content > 0),
    }
    added = {name: F(name) + number for name, number in more.items()}
    if row.update(**added):
        return
    try:
        with transaction.atomic():
            Traffic.objects.create(study_id=study_id, party=party, phase=phase, **more)
    except IntegrityError:  # created by somebody else in the meantime, or the study was deleted
        row.update(**added)


def heard(
    cohort: Cohort, instance: str, doing: str, phase: Phase, received: int, sent: int, content: int
) -> None:
    """A cohort's request is answered."""
    with transaction.atomic():
        _is_at(cohort, doing, instance=instance)
        count(cohort.study_id, cohort.name, phase, received, sent, content)


def is_at(cohort: Cohort, doing: str) -> None:
    """A cohort's client has told what it is doing, with a request that takes long."""
    if doing != cohort.doing:
        _is_at(cohort, doing)


def _is_at(cohort: Cohort, doing: str, **changes: str) -> None:
    now = timezone.now()
    is_news = bool(doing) and doing != cohort.doing
    told = {"doing": doing, "doing_at": now} if is_news else {}
    Cohort.objects.filter(pk=cohort.pk).update(heard_at=now, **told, **changes)
    cohort.doing = doing or cohort.doing


def compensator_meter(study_id: str, phase: Phase) -> Meter:
    """Counts what passes between the server and the compensator."""
    return lambda sent, received: count(study_id, COMPENSATOR, phase, received, sent)
