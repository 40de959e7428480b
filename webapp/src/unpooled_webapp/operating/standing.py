"""The platform as its administrators see it: is all there, and which studies are not over?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.db.models import F, Min, Q
from django.utils import timezone

from unpooled_server.models import Study
from unpooled_server.names import LIVE, OVER, UNFINISHED
from unpooled_server.reads import stages
from unpooled_server.services import keeping, sweeping
from unpooled_webapp.operating import probes

_PATIENCE = 1.0
"""Seconds for workers to answer: whoever looks waits for as long."""


def standing() -> dict[str, Any]:
    """Return how the platform stands now."""
    age = sweeping.age()
    total, free = keeping.disk()
    checks = {name: said == probes.OK for name, said in probes.outcomes().items()}
    return {
        "checks": [{"name": name, "is_ok": is_ok} for name, is_ok in checks.items()],
        "workers": _workers() if checks["broker"] else [],
        "swept_at": None if age is None else timezone.now() - timedelta(seconds=age),
        "disk_total": total,
        "disk_free": free,
        "studies": [_row(study) for study in _unfinished()],
    }


def _workers() -> list[str] | None:
    """Name the workers that answer through the broker; None where there is no broker."""
    if not settings.UNPOOLED_BROKER_URL:
        return None
    answers = current_app.control.ping(timeout=_PATIENCE) or []
    return sorted(name for answer in answers for name in answer)


def _unfinished() -> Any:
    """Find the studies that are not over, those with the oldest round first."""
    unfinished = Q(rounds__state__in=UNFINISHED, state__in=LIVE)
    found = Study.objects.exclude(state__in=OVER).annotate(oldest=Min("rounds__opened_at", filter=unfinished))
    ordered = found.order_by(F("oldest").asc(nulls_last=True), "-changed_at")
    return ordered.select_related("owner").prefetch_related("cohorts")


def _row(study: Any) -> dict[str, Any]:
    now = timezone.now()
    age = (now - study.oldest).total_seconds() if study.oldest else None
    return {
        "id": study.pk,
        "name": study.name,
        "owner": study.owner.get_username(),
        "state": study.state,
        "reason": study.reason,
        "oldest_round": study.oldest,
        "is_stuck": age is not None and age > settings.UNPOOLED_WAITED_SECONDS,
        "clients": [
            {
                "name": cohort.name,
                "release": cohort.release,
                "heard_at": cohort.heard_at,
                "is_silent": stages.is_silent(cohort, now),
            }
            for cohort in study.cohorts.all()
            if cohort.public_key and not cohort.revoked
        ],
    }
