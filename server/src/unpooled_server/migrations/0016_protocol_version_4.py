from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models

from unpooled_server.migrations._settling import nobody_joined, raise_plan, settle_others


def settle_version_3(apps: Any, schema_editor: Any) -> None:
    """Raise plans that nobody has joined; say of other studies that have not ended what can be done."""
    for study in nobody_joined(apps, 3):
        raise_plan(study)
    settle_others(apps, 3)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0015_no_code_key")]

    operations: ClassVar = [
        migrations.AddField("round", "shuffle", models.BinaryField(blank=True, default=b"")),
        migrations.RunPython(settle_version_3, migrations.RunPython.noop),
    ]
