from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0017_protocol_version_5")]

    operations: ClassVar = [
        migrations.AddField("branch", "path", models.CharField(max_length=200, null=True)),
        migrations.AddField("branch", "asked", models.PositiveIntegerField(default=0)),
        migrations.AddField("branch", "begun", models.PositiveIntegerField(default=0)),
    ]
