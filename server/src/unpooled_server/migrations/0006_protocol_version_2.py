from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models
from django.utils import timezone

NOT_STARTED = (
    "The study's plan is of protocol version 1, and the platform was upgraded to version 2. Nothing was "
    "computed yet: duplicate the study, and invite the cohorts to the copy."
)
STARTED = (
    "The study was begun with protocol version 1, by a release before this one, and only that can finish it: "
    "go back to it with the backup of before the upgrade. Or abort it, and duplicate the study."
)


def settle_version_1(apps: Any, schema_editor: Any) -> None:
    """Raise plans that nobody has joined; say of other studies that have not ended what can be done.

    Those that have started are held, not ended: an end has the compensator delete their seeds, and nobody
    could go back to the release before.
    """
    old = apps.get_model("unpooled_server", "Study").objects.filter(plan_json__version=1)
    for study in old.filter(state__in=["draft", "open"], frozen=False):
        study.plan_json["version"] = 2
        _change(study)
    for study in old.filter(state__in=["open", "ready"]):
        _say(apps, study, "failed", NOT_STARTED, ended_at=timezone.now())
    for study in old.filter(state__in=["running", "paused"]):
        _say(apps, study, "paused", STARTED, pause_kind="release")


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
    dependencies: ClassVar = [("unpooled_server", "0005_branches")]

    operations: ClassVar = [
        migrations.AlterField(
            "study",
            "pause_kind",
            models.CharField(
                blank=True,
                choices=[
                    ("", "Not paused"),
                    ("asked", "Paused by its coordinator"),
                    ("away", "A cohort stays away"),
                    ("problem", "A cohort reports a problem"),
                    ("compensator", "The compensator does not answer"),
                    ("disk", "The platform cannot write to its disk"),
                    ("release", "Another release began it"),
                ],
                default="",
                max_length=16,
            ),
        ),
        migrations.RunPython(settle_version_1, migrations.RunPython.noop),
    ]
