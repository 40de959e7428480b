from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models

from unpooled_server.migrations._settling import of_version, raise_plan, settle_others


def settle_version_1(apps: Any, schema_editor: Any) -> None:
    """Raise plans that nobody has joined; say of other studies that have not ended what can be done."""
    for study in of_version(apps, 1).filter(state__in=["draft", "open"], frozen=False):
        raise_plan(study)
    settle_others(apps, 1)


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
