from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0022_keys_of_pairs")]

    operations: ClassVar = [
        migrations.AddField("share", "is_whole", models.BooleanField(default=True)),
    ]
