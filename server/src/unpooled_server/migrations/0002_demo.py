from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0001_initial")]

    operations: ClassVar = [
        migrations.AddField("study", "is_demo", models.BooleanField(default=False)),
    ]
