"""Response to errors in a study's own work: a pause that ends by itself, one more try, or the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError
from django.db.models import F

from unpooled.errors import ProtocolError, Refuse
from unpooled_server.compensator_client import CompensatorAway, CompensatorRefused
from unpooled_server.errors import OtherRelease, StoreAway
from unpooled_server.models import Study
from unpooled_server.names import PauseKind, StudyState
from unpooled_server.services.transitions import fail, pause, resume

log = logging.getLogger(__name__)

# With a sweep every 15 seconds a study that cannot go on is given up after a minute or so.
MAX_ATTEMPTS = 5
_BY_ITSELF = "The study goes on by itself once it does."


@contextmanager
def guarded(study: Study, doing: str) -> Iterator[None]:
    """Do a part of a study's work; `doing` names it for people."""
    try:
        yield
    except CompensatorAway as error:
        pause(study.pk, PauseKind.COMPENSATOR, f"{error}. {_BY_ITSELF}")
    except OtherRelease as error:
        pause(study.pk, PauseKind.RELEASE, str(error))
    except Refuse as error:
        fail(study.pk, f"{doing}: {error}", error.field)
    except (ProtocolError, CompensatorRefused) as error:
        fail(study.pk, f"{doing}: {error}")
    except DatabaseError:
        raise  # the database was away, or busy: nothing is said of the study
    except StoreAway as error:
        pause(study.pk, PauseKind.DISK, f"The platform cannot use its store: {error.strerror}. {_BY_ITSELF}")
    except OSError as error:
        log.exception("%s of study %s", doing, study.pk)
        pause(study.pk, PauseKind.DISK, f"The platform cannot use its disk ({error.strerror}). {_BY_ITSELF}")
    except Exception:
        log.exception("%s of study %s", doing, study.pk)
        _count_attempt(study, doing)
    else:
        _all_is_well(study)


def _count_attempt(study: Study, doing: str) -> None:
    """An error that nobody foresaw: try a few times, then end the study rather than hang without a word."""
    Study.objects.filter(pk=study.pk).update(attempts=F("attempts") + 1)
    if Study.objects.filter(pk=study.pk, attempts__gte=MAX_ATTEMPTS).exists():
        fail(study.pk, f"{doing}: the platform's program failed; its operator finds the reason in its log")


def _all_is_well(study: Study) -> None:
    if study.attempts:
        Study.objects.filter(pk=study.pk).update(attempts=0)
    if study.state == StudyState.PAUSED:
        resume(study.pk, [PauseKind.COMPENSATOR, PauseKind.DISK])
