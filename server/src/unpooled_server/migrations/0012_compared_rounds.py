from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0011_longer_names_of_results")]

    operations: ClassVar = [
        migrations.AddField("round", "circuit", models.CharField(blank=True, default="", max_length=40)),
        migrations.AddField("round", "turn_seconds", models.JSONField(blank=True, default=list)),
    ]
