from __future__ import annotations

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0014_protocol_version_3")]

    operations: ClassVar = [migrations.RemoveField("study", "code_key")]
