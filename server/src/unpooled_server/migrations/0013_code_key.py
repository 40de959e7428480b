from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0012_compared_rounds")]

    operations: ClassVar = [
        migrations.AddField("study", "code_key", models.BinaryField(blank=True, default=b"")),
    ]
