from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0021_states_in_files")]

    operations: ClassVar = [
        migrations.AlterField("cohort", "public_key", models.CharField(blank=True, max_length=128)),
        migrations.AddField("cohort", "sealing_key", models.BinaryField(blank=True, default=b"")),
    ]
