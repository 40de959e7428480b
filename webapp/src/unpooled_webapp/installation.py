"""A database and a home folder belong together: in one lies what cohorts sent, in the other that they did.

A web application and a worker with different homes over one database would find each other's shares lost,
and ask for them again until the study fails. So both hold a marker, and every process compares them at its
start.
"""

from __future__ import annotations

import logging
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError

from unpooled.errors import UnpooledError
from unpooled_webapp import environment
from unpooled_webapp.models import Installation

log = logging.getLogger(__name__)

_THE_ONE = 1


class OtherHome(UnpooledError):
    """This process is not to touch this database."""


def require_own_home() -> None:
    """OtherHome if the database is another home folder's. One that is nobody's is this one's from now on."""
    folder = Path(settings.UNPOOLED_HOME)
    marker = folder / "installation"
    known = Installation.objects.filter(pk=_THE_ONE).first()
    if known is None:
        own = environment.kept_secret(marker, 16)
        known, _ = Installation.objects.get_or_create(pk=_THE_ONE, defaults={"home": own})
    if not marker.exists() or marker.read_text().strip() != known.home:
        raise OtherHome(
            f"The database belongs to another home folder than {folder}. Web application and workers share "
            f"one: set UNPOOLED_HOME to it. If {folder} is that folder, restored without its file "
            f"`installation`, write {known.home} into {marker}, then start again."
        )


def check_at_start() -> None:
    """The same for a process that serves. Without a database it goes on, for that may come back."""
    try:
        require_own_home()
    except OtherHome as error:
        raise SystemExit(str(error)) from None
    except DatabaseError as error:
        log.error("the home folder could not be compared with the database: %s", error)
