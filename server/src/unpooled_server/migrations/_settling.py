"""Treatment of studies that have not ended when the protocol's version is raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

NOT_STARTED = (
    "The study's plan is of protocol version {}, and the platform was upgraded to version {}. Nothing was "
    "computed yet: duplicate the study, and invite the cohorts to the copy."
)
STARTED = (
    "The study was begun with protocol version {}, by a release before this one, and only that can finish "
    "it: go back to it with the backup of before the upgrade. Or abort it, and duplicate the study."
)


def of_version(apps: Any, version: int) -> Any:
    return apps.get_model("unpooled_server", "Study").objects.filter(plan_json__version=version)


def nobody_joined(apps: Any, version: int) -> list[Any]:
    found = of_version(apps, version).filter(state__in=["draft", "open"])
    return [study for study in found if not any(cohort.public_key for cohort in study.cohorts.all())]


def raise_plan(study: Any, **changes: Any) -> None:
    """Give a study whose plan is by the last version one by the next, with what else changes of it."""
    study.plan_json |= {"version": study.plan_json["version"] + 1, **changes.pop("plan", {})}
    _change(study, **changes)


def settle_others(apps: Any, version: int, not_started: Sequence[str] = ("open", "ready")) -> None:
    """Say of studies that are still of this version, and have not ended, what can be done.

    Those that have started are held, not ended: an end has the compensator delete their seeds, and nobody
    could go back to the release before.
    """
    for study in of_version(apps, version).filter(state__in=not_started):
        reason = NOT_STARTED.format(version, version + 1)
        _say(apps, study, "failed", reason, ended_at=timezone.now())
    for study in of_version(apps, version).filter(state__in=["running", "paused"]):
        _say(apps, study, "paused", STARTED.format(version), pause_kind="release")


def _say(apps: Any, study: Any, state: str, reason: str, **changes: Any) -> None:
    _change(study, state=state, reason=reason, **changes)
    log = apps.get_model("unpooled_server", "LogEntry").objects
    log.create(study=study, who="platform", what=f"{state}: {reason}")


def _change(study: Any, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(study, name, value)
    study.version += 1
    study.changed_at = timezone.now()
    study.save()
