"""Events of a study, and the people who are told of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from unpooled_server.models import Study
from unpooled_server.names import PauseKind, StudyState
from unpooled_server.reads import selectors
from unpooled_server.services import transitions
from unpooled_webapp.models import Channel, Delivery, Event, Following, Outcome

_EVENTS = {StudyState.DONE: Event.DONE, StudyState.PAUSED: Event.PAUSED, StudyState.FAILED: Event.FAILED}


def listen() -> None:
    transitions.moved.connect(on_moved, dispatch_uid="notices")


def on_moved(study_id: str, state: StudyState, pause_kind: PauseKind, **_: Any) -> None:
    """Put what is to be told into the queue.

    A study pauses a minute after a cohort was last heard, and often it is back in the next. That is told only
    if it lasts; when the study goes on before, there is nothing to tell.
    """
    with transaction.atomic():  # an error here must not spoil the transaction around it
        untried = Delivery.objects.filter(
            study=study_id, event=Event.WAITED, outcome=Outcome.WAITING, tries=0
        )
        untried.delete()
        now = timezone.now()
        if state == StudyState.PAUSED and pause_kind == PauseKind.AWAY:
            _queue(study_id, Event.WAITED, now, now + timedelta(seconds=settings.UNPOOLED_WAITED_SECONDS))
        elif event := _EVENTS.get(state):
            _queue(study_id, event, now, now)


def _queue(study_id: str, event: Event, time: datetime, due_at: datetime) -> None:
    study = Study.objects.get(pk=study_id)
    Delivery.objects.bulk_create(
        Delivery(channel=channel, study=study, event=event, time=time, due_at=due_at)
        for channel in channels_of(study)
        if event in channel.events
    )


def channels_of(study: Study) -> list[Channel]:
    """The channels of those who want to be told of this study, and may see it."""
    follows = Q(user__in=Following.objects.filter(study=study).values("user"))
    owns = Q(all_own=True, user=study.owner_id)
    wanted = Channel.objects.filter(follows | owns, user__is_active=True).select_related("user")
    return [channel for channel in wanted if may_be_told(channel.user, study)]


def may_be_told(user: User, study: Study) -> bool:
    return user.is_active and selectors.visible_studies(user).filter(pk=study.pk).exists()
