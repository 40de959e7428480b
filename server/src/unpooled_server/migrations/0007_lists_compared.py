from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models


def compare_again(apps: Any, schema_editor: Any) -> None:
    """Lists are compared before a study is ready: where that is still to come, it is open again."""
    studies = apps.get_model("unpooled_server", "Study").objects
    waiting = studies.filter(state__in=["open", "ready", "running", "paused"], begun=False, panel_digest="")
    waiting.filter(plan_json__panel_mode="names").update(state="open", lists_changed=True)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0006_protocol_version_2")]

    operations: ClassVar = [
        migrations.AddField("study", "lists_changed", models.BooleanField(default=False)),
        migrations.AddField("study", "lists_said", models.JSONField(blank=True, default=list)),
        migrations.AddField("study", "lists_share", models.PositiveIntegerField(default=0)),
        migrations.AddField("study", "lists_accepted", models.BooleanField(default=False)),
        migrations.AddField("cohort", "overlap", models.JSONField(null=True)),
        migrations.AddField("cohort", "list_apart", models.BooleanField(default=False)),
        migrations.RunPython(compare_again, migrations.RunPython.noop),
    ]
