from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0010_repetitions")]

    operations: ClassVar = [
        migrations.AlterField("resultfile", "name", models.CharField(max_length=255)),
    ]
