"""A database and a home folder belong together: in one lies what cohorts sent, in the other that they did.

A web application and a worker with different homes over one database would find each other's shares lost,
and ask for them again until the study fails. So both hold a marker, and every process compares them at its
start.
"""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import DatabaseError

from unpooled.errors import UnpooledError
from unpooled_server.errors import StoreAway, UnfitStore
from unpooled_server.services import keeping
from unpooled_webapp.models import Installation

log = logging.getLogger(__name__)

_THE_ONE = 1


class OtherHome(UnpooledError):
    """This process is not to touch this database."""


def require_own_home() -> None:
    """OtherHome if the database is another home folder's. One that is nobody's is this one's from now on."""
    known = Installation.objects.filter(pk=_THE_ONE).first()
    if known is None:
        known, _ = Installation.objects.get_or_create(pk=_THE_ONE, defaults={"home": keeping.mark()})
    if keeping.marker() != known.home:
        where = settings.UNPOOLED_STORE or settings.UNPOOLED_HOME
        raise OtherHome(
            f"The database belongs to another home folder than {where}. Web application and workers share "
            f"one: set UNPOOLED_HOME, or UNPOOLED_STORE, to it. If {where} is that folder, restored without "
            f"its file `installation`, write {known.home} into that file, then start again."
        )


def check_at_start() -> None:
    """The same for a process that serves. Without database or store it goes on: they may come back."""
    try:
        keeping.check()
        require_own_home()
    except (OtherHome, UnfitStore) as error:
        raise SystemExit(str(error)) from None
    except (DatabaseError, StoreAway) as error:
        log.error("the home folder could not be compared with the database: %s", error)
