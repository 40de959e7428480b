from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations
from django.utils import timezone

NOT_STARTED = (
    "The study's plan is of protocol version 2, and the platform was upgraded to version 3. Nothing was "
    "computed yet: duplicate the study, and invite the cohorts to the copy."
)
STARTED = (
    "The study was begun with protocol version 2, by a release before this one, and only that can finish it: "
    "go back to it with the backup of before the upgrade. Or abort it, and duplicate the study."
)


def settle_version_2(apps: Any, schema_editor: Any) -> None:
    """Raise plans that nobody has joined; say of other studies that have not ended what can be done.

    A coordinator's list has another digest by now: of a draft it has to be uploaded again, and invitations
    to other studies promise what is no longer there. As in `0006`, studies that have started are held.
    """
    old = apps.get_model("unpooled_server", "Study").objects.filter(plan_json__version=2)
    for study in old.filter(state__in=["draft", "open"]):
        if not (_has_joined(study) or (study.state == "open" and study.list_ready)):
            study.plan_json |= {"version": 3} | ({"panel_digest": ""} if study.list_ready else {})
            _change(study, list_ready=False)
    for study in old.filter(state__in=["open", "ready"]):
        _say(apps, study, "failed", NOT_STARTED, ended_at=timezone.now())
    for study in old.filter(state__in=["running", "paused"]):
        _say(apps, study, "paused", STARTED, pause_kind="release")


def _has_joined(study: Any) -> bool:
    return any(cohort.public_key for cohort in study.cohorts.all())


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


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0013_code_key")]

    operations: ClassVar = [migrations.RunPython(settle_version_2, migrations.RunPython.noop)]
