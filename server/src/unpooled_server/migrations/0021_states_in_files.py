from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0020_code_keys")]

    operations: ClassVar = [
        migrations.AddField("branch", "last_files", models.JSONField(blank=True, default=list)),
        migrations.AddField("kept", "file", models.CharField(blank=True, default="", max_length=100)),
        migrations.AddField("asked", "file", models.CharField(blank=True, default="", max_length=100)),
        migrations.AddField("round", "told", models.BinaryField(blank=True, default=b"")),
        migrations.AddField("share", "keeps", models.BooleanField(default=False)),
        migrations.AlterField("round", "turn", models.PositiveIntegerField(default=0)),
    ]
