from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.db import migrations, models


def name_row_files(apps: Any, schema_editor: Any) -> None:
    """Rows of studies that have ended, but of which no pictures are drawn yet, keep their files."""
    row_files = apps.get_model("unpooled_server", "RowFile").objects
    for row_file in row_files.all():
        row_files.filter(pk=row_file.pk).update(name=f"{row_file.round_id}-{row_file.number}")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0004_traffic_content")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Branch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("place", models.PositiveIntegerField(default=0)),
                ("procedure", models.CharField(max_length=80)),
                ("release", models.CharField(max_length=40)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asking", "Waits for the sums of a round"),
                            ("waiting", "Waits for branches of its own"),
                            ("due", "What it waited for is there"),
                            ("ended", "Ended"),
                            ("taken", "Ended, and its value was taken"),
                        ],
                        default="asking",
                        max_length=16,
                    ),
                ),
                ("waits_for", models.BinaryField(blank=True, default=b"")),
                (
                    "parent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="children",
                        to="unpooled_server.branch",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="branches",
                        to="unpooled_server.study",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study", "state"], name="unpooled_se_study_i_7342ea_idx"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Kept",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("asked", models.BinaryField(blank=True, default=b"")),
                ("data", models.BinaryField()),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="kept",
                        to="unpooled_server.branch",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(fields=("branch", "number"), name="one_of_a_number_is_kept"),
                ],
            },
        ),
        migrations.AddField(
            "round",
            "branch",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rounds",
                to="unpooled_server.branch",
            ),
        ),
        migrations.RemoveField("asked", "step"),
        migrations.AddField(
            "rowfile", "name", models.CharField(default="", max_length=40), preserve_default=False
        ),
        migrations.RunPython(name_row_files, migrations.RunPython.noop),
        migrations.RemoveField("rowfile", "round"),
        migrations.RemoveField("rowfile", "number"),
    ]
