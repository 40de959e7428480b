from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0002_demo")]

    operations: ClassVar = [
        migrations.AddField("round", "turn", models.PositiveSmallIntegerField(default=0)),
    ]
