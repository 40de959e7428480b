from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

from unpooled_server.migrations._settling import settle_others


def settle_version_5(apps: Any, schema_editor: Any) -> None:
    """End drafts, too: they name the compensator's key, and that is of another kind now."""
    settle_others(apps, 5, ("draft", "open", "ready"))


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0018_places")]

    operations: ClassVar = [migrations.RunPython(settle_version_5, migrations.RunPython.noop)]
