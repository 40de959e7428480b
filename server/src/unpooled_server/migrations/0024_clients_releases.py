from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0023_encrypted")]

    operations: ClassVar = [
        migrations.AddField("cohort", "release", models.CharField(blank=True, default="", max_length=40)),
    ]
