from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

from unpooled_server.migrations._settling import nobody_joined, raise_plan, settle_others


def settle_version_2(apps: Any, schema_editor: Any) -> None:
    """Raise plans that nobody has joined; say of other studies that have not ended what can be done.

    A coordinator's list has another digest by now: of a draft it has to be uploaded again, and invitations
    to other studies promise what is no longer there.
    """
    for study in nobody_joined(apps, 2):
        if study.state == "draft" or not study.list_ready:
            raise_plan(study, plan={"panel_digest": ""} if study.list_ready else {}, list_ready=False)
    settle_others(apps, 2)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("unpooled_server", "0013_code_key")]

    operations: ClassVar = [migrations.RunPython(settle_version_2, migrations.RunPython.noop)]
