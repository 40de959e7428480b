from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0007_lists_compared")]

    operations: ClassVar = [
        migrations.AddField(
            "study", "refused_field", models.CharField(blank=True, default="", max_length=80)
        ),
    ]
