"""Stage of each cohort, and for whom a study waits: decided here, and shown by browser, log and clients."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, Expression, OuterRef, Q, QuerySet
from django.utils import timezone

from unpooled.protocol.stages import Doing, Stage
from unpooled_server.models import Cohort, Round, Share, Study
from unpooled_server.names import BEFORE_START, LIVE, OVER, CohortState, PauseKind, RoundState, StudyState
from unpooled_server.reads.prepared import Prepared

MISSING = (Stage.OFFLINE, Stage.STOPPED)
"""Stages in which nothing comes from a cohort until somebody there acts."""

COORDINATOR = "the coordinator"
_OPERATOR = "the platform's operator"
_GIVE_OTHER_FILES, _DECIDE, _START = "give other files", "decide about the lists of variants", "start it"


@dataclass(frozen=True)
class Standing:
    """A cohort at this moment."""

    cohort: Cohort
    stage: Stage
    since: datetime | None
    """Since when it is at this stage; None where that is nobody's concern."""
    owes: int
    """Questions that it has not answered."""

    @property
    def to(self) -> str:
        """Action that the study waits for, if it waits for this cohort."""
        is_apart = self.cohort.list_apart and self.stage == Stage.STOPPED
        return _GIVE_OTHER_FILES if is_apart else self.stage.to


@dataclass(frozen=True)
class Wait:
    """Somebody for whom a study waits: "Graz and Munich to join"."""

    who: tuple[str, ...]
    to: str
    since: datetime | None

    @property
    def said(self) -> str:
        *others, last = self.who
        return f"{', '.join(others)} and {last} to {self.to}" if others else f"{last} to {self.to}"


def silent(now: datetime) -> Q:
    """Find the cohorts of which `is_silent` is true."""
    return Q(heard_at=None) | Q(heard_at__lt=now - _longest_silence())


def is_silent(cohort: Cohort, now: datetime) -> bool:
    """Tell whether a client that lives would have been heard meanwhile."""
    return cohort.heard_at is None or now - cohort.heard_at > _longest_silence()


def _longest_silence() -> timedelta:
    return timedelta(seconds=settings.UNPOOLED_AWAY_SECONDS)


def standings(study: Study) -> list[Standing]:
    """Return where each cohort stands, ordered by name."""
    now = timezone.now()
    opened = _asked(study.pk).count()
    # Of a round whose shares are encrypted, which is complete, a cohort owes its help.
    is_open, helped = Q(shares__round__state=RoundState.OPEN), Q(shares__is_whole=True)
    answered = Count("shares", filter=is_open | Q(shares__round__state=RoundState.COMPLETE) & helped)
    # A GROUP BY forgets the order.
    cohorts = study.cohorts.annotate(answered=answered).order_by("name")
    return [_standing(study, cohort, opened - cohort.answered, now) for cohort in cohorts]


def stopped(study: Study) -> int:
    """Count the cohorts whose client has stopped on a problem; 0 once the study is over."""
    now = timezone.now()
    stages = [_stage(cohort, study, 0, now) for cohort in study.cohorts.all()]  # as a list has fetched them
    return 0 if study.state in OVER else stages.count(Stage.STOPPED)


def _standing(study: Study, cohort: Cohort, owes: int, now: datetime) -> Standing:
    owes = max(owes, 0) if cohort.public_key else 0
    stage = _stage(cohort, study, owes, now)
    is_at_work = owes and stage in (Stage.COMPUTING, Stage.SENDING)
    since = _asked_since(cohort, study) if is_at_work else _since(cohort, stage)
    return Standing(cohort, stage, since, owes)


def _asked(study_id: Any) -> QuerySet[Round]:
    states = (RoundState.OPEN, RoundState.COMPLETE)
    return Round.objects.filter(study=study_id, state__in=states, study__state__in=LIVE)


def _asked_since(cohort: Cohort, study: Study) -> datetime | None:
    """When the oldest question was asked that it has not answered; None if it has just answered all."""
    return next((opened for (opened,) in _oldest_question(cohort.pk, study.pk)), None)


@Prepared
def _oldest_question(cohort_id: Expression, study_id: Expression) -> QuerySet[Any, Any]:
    answered = Share.objects.filter(round=OuterRef("pk"), cohort=cohort_id)
    settled = answered.filter(Q(round__state=RoundState.OPEN) | Q(is_whole=True))
    unanswered = _asked(study_id).exclude(Exists(settled))
    return unanswered.order_by("opened_at").values_list("opened_at")[:1]


def _stage(cohort: Cohort, study: Study, owes: int, now: datetime) -> Stage:
    if cohort.revoked:
        return Stage.REVOKED
    if study.state in OVER:
        return Stage.DONE if study.state == StudyState.DONE else _after_the_end(cohort)
    if not cohort.public_key:
        return Stage.INVITED
    if (cohort.problem or cohort.list_apart) and cohort.doing in ("", Doing.STOPPED):
        return Stage.STOPPED
    is_choosing = cohort.doing == Doing.CHOOSING and not cohort.accepted
    if is_silent(cohort, now) and not is_choosing:
        # A client that hears that its list stands apart ends, and tells nothing: that is known already.
        return Stage.STOPPED if cohort.list_apart else Stage.OFFLINE
    if cohort.doing == Doing.CHECKING:
        return Stage.CHECKING
    if not cohort.ready:
        return _before_it_is_ready(cohort)
    if study.state in BEFORE_START:
        return Stage.READY
    if not owes:
        return Stage.WAITING
    return Stage.SENDING if cohort.doing == Doing.SENDING else Stage.COMPUTING


def _after_the_end(cohort: Cohort) -> Stage:
    return Stage.STOPPED if cohort.problem else Stage.ENDED


def _before_it_is_ready(cohort: Cohort) -> Stage:
    """Derive the stage of a cohort from what only its client can know, and what it has sent so far."""
    told = {Doing.ACCEPTED: Stage.ACCEPTED, Doing.CHOOSING: Stage.CHOOSING, Doing.SENDING: Stage.SENDING}
    if cohort.doing in told:
        return told[Doing(cohort.doing)]
    return Stage.JOINED if cohort.state == CohortState.JOINED else Stage.ACCEPTED


def _since(cohort: Cohort, stage: Stage) -> datetime | None:
    match stage:
        case Stage.INVITED:
            return cohort.invited_at
        case Stage.JOINED:
            return cohort.joined_at
        case Stage.OFFLINE:
            return cohort.heard_at
        case Stage.STOPPED:
            return cohort.problem_at
        case Stage.ACCEPTED | Stage.CHOOSING | Stage.CHECKING | Stage.SENDING:
            return cohort.doing_at
    return None


def awaited(study: Study, found: Iterable[Standing]) -> list[Standing]:
    """The cohorts without which a study does not go on now."""
    if study.state in OVER:
        return []
    part = [standing for standing in found if standing.cohort.public_key or not standing.cohort.revoked]
    if study.state in BEFORE_START:
        lacking = [standing for standing in part if not standing.cohort.public_key]
        # Nobody can accept before the roster is complete.
        return lacking or [each for each in part if not each.cohort.ready or each.stage in MISSING]
    return [standing for standing in part if standing.owes]


def waits(study: Study, found: Iterable[Standing]) -> list[Wait]:
    """List for whom a study waits, to do what, and since when; those who keep it longest first.

    While all cohorts compute it waits for nobody.
    """
    found = list(found)
    if study.state in OVER:
        return []
    theirs = awaited(study, found)
    if study.state in LIVE:
        missing = [standing for standing in found if standing.stage in MISSING]
        all_compute = len(theirs) == len(found)
        answering = [] if all_compute else [each for each in theirs if each not in missing]
        theirs = [*missing, *answering]
    return [*_of_others(study, [each.cohort for each in found]), *_grouped(theirs)]


def _grouped(found: Iterable[Standing]) -> Iterator[Wait]:
    by_deed: dict[str, list[Standing]] = {}
    for standing in found:
        by_deed.setdefault(standing.to, []).append(standing)
    for to, group in by_deed.items():
        since = [standing.since for standing in group if standing.since]
        yield Wait(tuple(standing.cohort.name for standing in group), to, min(since, default=None))


def asked_of_the_coordinator(study: Study) -> str:
    """Tell the coordinator what the study waits for them to do; empty if nothing. Cohorts may be fetched
    beforehand.
    """
    if study.state in OVER:
        return ""
    waits = _of_others(study, list(study.cohorts.all()))
    return next((_said_to_you(wait.to) for wait in waits if wait.who == (COORDINATOR,)), "")


def _said_to_you(to: str) -> str:
    return f"Waits for you to {to}"


def _of_others(study: Study, cohorts: Collection[Cohort]) -> Iterator[Wait]:
    """Waits for those who are no cohort."""
    if study.state in (StudyState.DRAFT, StudyState.OPEN):
        invited = sum(bool(cohort.public_key or not cohort.revoked) for cohort in cohorts)
        if (lacking := study.plan_json["cohorts"] - invited) > 0:
            yield Wait((COORDINATOR,), invite(lacking), None)
        elif _lists_need_a_decision(study, cohorts):
            yield Wait((COORDINATOR,), _DECIDE, None)
    elif study.state == StudyState.READY and not study.auto_start:
        yield Wait((COORDINATOR,), _START, study.ready_at)
    elif study.state == StudyState.PAUSED and study.pause_kind in _RESUMED_BY:
        who, to = _RESUMED_BY[PauseKind(study.pause_kind)]
        yield Wait((who,), to, study.paused_at)


def _lists_need_a_decision(study: Study, cohorts: Iterable[Cohort]) -> bool:
    """Tell whether the lists of variants do not fit together, and no single cohort can mend that."""
    is_asked = bool(study.lists_said) and not study.lists_accepted
    return is_asked and not any(cohort.list_apart for cohort in cohorts)


_RESUMED_BY = {
    PauseKind.ASKED: (COORDINATOR, "resume it"),
    PauseKind.COMPENSATOR: ("the compensator", "answer"),
    PauseKind.DISK: (_OPERATOR, "make room on the disk"),
    PauseKind.RELEASE: (_OPERATOR, "bring back the release that began it"),
}


def invite(cohorts: int) -> str:
    return f"invite {cohorts} cohort{'s' * (cohorts > 1)}"


WAITED_FOR = (
    invite(1),
    invite(2),
    *dict.fromkeys(text for pair in _RESUMED_BY.values() for text in pair),
    _GIVE_OTHER_FILES,
    _DECIDE,
    _START,
)
"""Parties that are waited for, and what they are to do, beside what `Stage` says; an example for each wording
of a number.
"""

ASKED_OF_THE_COORDINATOR = tuple(
    _said_to_you(to) for to in (invite(1), invite(2), _DECIDE, _START, _RESUMED_BY[PauseKind.ASKED][1])
)
"""All that `asked_of_the_coordinator` can say, in the same way."""
