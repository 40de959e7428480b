from __future__ import annotations

from typing import ClassVar

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("unpooled_webapp", "0002_notices_and_tokens"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("who", models.CharField(max_length=255)),
                ("what", models.CharField(max_length=255)),
                ("subject", models.TextField()),
                ("status", models.PositiveSmallIntegerField()),
                ("digest", models.CharField(max_length=64)),
            ],
        ),
    ]
