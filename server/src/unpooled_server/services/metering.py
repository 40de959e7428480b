"""Metering: who was heard when, and how many bytes passed between the server and each party."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter
from threading import Lock
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Expression, F, QuerySet
from django.db.models.expressions import Combinable
from django.utils import timezone

from unpooled.protocol.stages import Doing
from unpooled_server.compensator_client import Meter
from unpooled_server.models import Cohort, Study, Traffic
from unpooled_server.names import COMPENSATOR, Phase
from unpooled_server.reads.prepared import PreparedUpdate

# Else each request would write its cohort's row.
MOMENT = timedelta(seconds=1)
"""Interval in which a cohort is not noted again as heard."""
Link = tuple[str, str, Phase]
"""A study's id, a party and a phase."""
_COUNTED = ("received", "sent", "requests", "content", "messages")


@dataclass(frozen=True)
class _Visit:
    """A cohort's request that is answered."""

    cohort: int
    changes: dict[str, Any]
    """Values that the cohort's row gets."""
    link: Link
    counted: Counter[str]


# Threads append and take without a lock: a deque's `append` and `popleft` are atomic.
_unwritten: deque[_Visit] = deque()
_writing = Lock()


def count(study_id: str, party: str, phase: Phase, received: int, sent: int) -> None:
    """Add to the bytes that the server received from, and sent to, a party."""
    _add((study_id, party, phase), _counted(received, sent, content=0))


def heard(
    cohort: Cohort, instance: str, doing: str, phase: Phase, received: int, sent: int, content: int
) -> None:
    """A cohort's request is answered; `content` is what it brought, without its headers.

    Whoever is writing takes what the others have left with its own, and they do not wait: with a transaction
    for each request the threads of a process mostly wait for each other's lock on the database. In quick
    rounds a request that brings nothing, and says nothing new, is left to the next one that does.
    """
    # A share that is there is no longer being sent; of one that takes long `is_at` has told.
    told = "" if phase == Phase.ROUNDS and doing == Doing.SENDING else doing
    changes = {} if doing == Doing.LOOKING else _changes(cohort, instance, told)
    link = (cohort.study_id, cohort.name, phase)
    _unwritten.append(_Visit(cohort.pk, changes, link, _counted(received, sent, content)))
    if phase == Phase.ROUNDS and not changes and not content:
        return
    # Looked at again after each release: what came in between was left to the one who wrote.
    while _unwritten and _writing.acquire(blocking=False):
        try:
            _write([_unwritten.popleft() for _ in range(len(_unwritten))])
        finally:
            _writing.release()


def is_at(cohort: Cohort, doing: str) -> None:
    """Note what a cohort's client is doing, as told with a request that takes long."""
    if doing not in (cohort.doing, Doing.LOOKING):
        Cohort.objects.filter(pk=cohort.pk).update(**_changes(cohort, cohort.instance, doing))


def wait(clients: Iterable[tuple[Cohort, str, str]]) -> None:
    """Write down whose clients, by instance, wait for an answer, and what each is doing."""
    still = []
    with transaction.atomic():
        for cohort, instance, doing in clients:
            changes = {} if doing == Doing.LOOKING else _changes(cohort, instance, doing)
            cohort.instance = instance
            if changes.keys() == {"heard_at"}:
                still.append(cohort.pk)
            elif changes:
                Cohort.objects.filter(pk=cohort.pk).update(**changes)
        Cohort.objects.filter(pk__in=still).update(heard_at=timezone.now())


def compensator_meter(study_id: str, phase: Phase) -> Meter:
    """Counts what passes between the server and the compensator."""
    return lambda sent, received: count(study_id, COMPENSATOR, phase, received, sent)


def _changes(cohort: Cohort, instance: str, doing: str) -> dict[str, Any]:
    now, heard_at = timezone.now(), cohort.heard_at
    is_news = bool(doing) and doing != cohort.doing
    cohort.doing = doing or cohort.doing
    is_long_ago = heard_at is None or now - heard_at > MOMENT
    return (
        ({"instance": instance, "release": cohort.release} if instance != cohort.instance else {})
        | ({"heard_at": now} if is_long_ago else {})
        | ({"doing": doing, "doing_at": now} if is_news else {})
    )


def _counted(received: int, sent: int, content: int) -> Counter[str]:
    return Counter(dict(zip(_COUNTED, (received, sent, 1, content, int(content > 0)), strict=True)))


def _write(visits: list[_Visit]) -> None:
    changes: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    counted: defaultdict[Link, Counter[str]] = defaultdict(Counter)
    for visit in visits:
        changes[visit.cohort] |= visit.changes
        counted[visit.link] += visit.counted
    with transaction.atomic(savepoint=False):
        for cohort, fields in filter(itemgetter(1), changes.items()):
            Cohort.objects.filter(pk=cohort).update(**fields)
        for link, numbers in counted.items():
            _add(link, numbers)


def _add(link: Link, numbers: Counter[str]) -> None:
    added = [numbers[name] for name in _COUNTED]
    if _add_to(*link, *added):
        return
    study_id, party, phase = link
    if not Study.objects.filter(pk=study_id).exists():  # deleted before this was written down
        return
    try:
        with transaction.atomic():
            Traffic.objects.create(study_id=study_id, party=party, phase=phase, **numbers)
    except IntegrityError:  # created by somebody else in the meantime
        _add_to(*link, *added)


def _row_and_sums(
    study_id: Expression, party: Expression, phase: Expression, *added: Expression
) -> tuple[QuerySet[Traffic], dict[str, Combinable]]:
    row = Traffic.objects.filter(study=study_id, party=party, phase=phase)
    return row, {name: F(name) + number for name, number in zip(_COUNTED, added, strict=True)}


_add_to = PreparedUpdate(_row_and_sums, 3 + len(_COUNTED))
