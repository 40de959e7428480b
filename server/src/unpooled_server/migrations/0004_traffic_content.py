from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0003_round_turn")]

    operations: ClassVar = [
        migrations.AddField("traffic", "messages", models.PositiveBigIntegerField(default=0)),
        migrations.AddField("traffic", "content", models.PositiveBigIntegerField(default=0)),
    ]
