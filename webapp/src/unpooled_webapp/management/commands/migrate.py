"""`unpooled manage migrate`: Django's, except that studies under way are not left behind by a new release.

`unpooled up` and the containers come by here as well.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from unpooled.errors import UnpooledError
from unpooled_server.services import upgrading
from unpooled_server.services.branches import RELEASE
from unpooled_webapp.commands.up import FAIL_RUNNING, FAIL_RUNNING_HELP


class StudiesUnderWay(UnpooledError):
    """This release is not to be started yet."""

    def __init__(self, found: list[upgrading.Begun]) -> None:
        super().__init__(
            "Nothing was changed: studies are under way that another release began, and this one, "
            f"{RELEASE}, cannot finish them.\n\n"
            + "".join(f"  {study}\n" for study in found)
            + "\nInstall the release that began them, and run it until they have ended. Or add "
            f"{FAIL_RUNNING}, which ends them: they fail, and their coordinators and cohorts read why."
        )


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(FAIL_RUNNING, action="store_true", help=FAIL_RUNNING_HELP)

    def handle(self, *args: Any, fail_running: bool, **options: Any) -> None:
        only_looks = options["plan"] or options["check_unapplied"]
        found = [] if only_looks else upgrading.begun_elsewhere()
        if found and not fail_running:
            raise StudiesUnderWay(found)
        super().handle(*args, **options)
        upgrading.end(found)  # by the tables as they are now
