from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.models import CASCADE


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0019_protocol_version_6")]

    operations: ClassVar = [
        migrations.AddField("study", "code_key", models.BinaryField(blank=True, default=b"")),
        migrations.AddField("study", "code_keys", models.BinaryField(blank=True, default=b"")),
        migrations.CreateModel(
            "Coded",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("column", models.PositiveIntegerField()),
                ("points", models.BinaryField()),
                (
                    "cohort",
                    models.ForeignKey(on_delete=CASCADE, related_name="coded", to="unpooled_server.cohort"),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cohort", "column"), name="one_batch_of_points_of_a_column"
                    )
                ]
            },
        ),
    ]
