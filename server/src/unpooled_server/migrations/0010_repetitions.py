from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0009_stages")]

    operations: ClassVar = [
        migrations.RemoveField("study", "frozen"),
        migrations.AddField(
            "study",
            "repeats",
            models.OneToOneField(
                null=True,
                on_delete=models.deletion.SET_NULL,
                related_name="repetition",
                to="unpooled_server.study",
            ),
        ),
    ]
