from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models

from unpooled_server.migrations._settling import nobody_joined, raise_plan, settle_others


def settle_version_4(apps: Any, schema_editor: Any) -> None:
    """Raise plans that nobody has joined; say of other studies that have not ended what can be done."""
    for study in nobody_joined(apps, 4):
        raise_plan(study)
    settle_others(apps, 4)


def mark_sent(apps: Any, schema_editor: Any) -> None:
    """Mark the studies whose boxes the compensator may have: it was asked for a first sum."""
    studies = apps.get_model("unpooled_server", "Study").objects
    studies.filter(enrolled_at__isnull=False).update(boxes_sent=True)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0016_protocol_version_4")]

    operations: ClassVar = [
        migrations.AddField("cohort", "witness", models.BinaryField(blank=True, default=b"")),
        migrations.AddField("study", "boxes_sent", models.BooleanField(default=False)),
        migrations.RunPython(mark_sent, migrations.RunPython.noop),
        migrations.RunPython(settle_version_4, migrations.RunPython.noop),
    ]
