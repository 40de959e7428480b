from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0008_refused_field")]

    operations: ClassVar = [
        migrations.AddField("cohort", "doing", models.CharField(blank=True, default="", max_length=12)),
        migrations.AddField("cohort", "doing_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "cohort", "compared_by", models.CharField(blank=True, default="", max_length=150)
        ),
        migrations.AddField("cohort", "compared_at", models.DateTimeField(null=True)),
        migrations.AddField("study", "compared_by", models.CharField(blank=True, default="", max_length=150)),
        migrations.AddField("study", "compared_at", models.DateTimeField(null=True)),
        migrations.AddField("study", "foreseen", models.JSONField(blank=True, default=dict)),
        migrations.AddField("study", "paused_at", models.DateTimeField(null=True)),
        migrations.AddField("study", "paused_seconds", models.FloatField(default=0.0)),
    ]
