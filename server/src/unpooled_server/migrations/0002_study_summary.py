# ruff: noqa: RUF012  # generated

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("unpooled_server", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="summary",
            field=models.JSONField(null=True),
        ),
    ]
