"""A study's sealed seeds on their way to the compensator, and each cohort's sealed witness on its way back.

That comes before the first question: by the witness a cohort makes the second check of each answer. Until the
first sum is asked for, roster and plan may still change; then the study enrols anew.
"""

from __future__ import annotations

from unpooled.protocol import oprf
from unpooled.protocol.messages import Enrolment, Witnesses
from unpooled.protocol.sealing import Box
from unpooled_server.compensator_client import compensator
from unpooled_server.models import Cohort, Study
from unpooled_server.names import LIVE, Phase
from unpooled_server.reads.selectors import whole_roster
from unpooled_server.services.joining import locked
from unpooled_server.services.metering import compensator_meter
from unpooled_server.services.transitions import PLATFORM, is_working, note


def enrol(study: Study) -> bool:
    """Enrol a study that has started; False if it was changed, or has ended, meanwhile."""
    if study.plan.in_pairs:  # the cohorts have sealed to each other, and fetch that by themselves
        return bool(Study.objects.filter(pk=study.pk, started_at=study.started_at).update(enrolled=True))
    message = _enrolment(study)
    if message is None:
        return False
    found = compensator().enrol(message, compensator_meter(study.pk, Phase.JOINING))
    return _keep(study, found, message.code_key + found.code_key)


def _enrolment(study: Study) -> Enrolment | None:
    """Collect all boxes of a study, and record, before they leave, that the compensator may have them."""
    with locked(study.pk) as fresh:
        # Under the lock nobody accepts, and a study that has ended stays ended: once the compensator was told
        # to forget an aborted study, none of its seeds may reach it again.
        if not is_working(fresh) or fresh.started_at != study.started_at:
            return None
        roster = whole_roster(fresh)
        boxes = tuple(
            Box(cohort.name, bytes(cohort.box_sealed), bytes(cohort.box_signature))
            for cohort in sorted(fresh.members(), key=lambda cohort: cohort.name)
        )
        key = bytes(fresh.code_key)
        if fresh.plan.searched and not key:
            key = oprf.random_key()
        Study.objects.filter(pk=study.pk).update(boxes_sent=True, code_key=key)
    public = oprf.public_key(key) if fresh.plan.searched else b""
    return Enrolment(study.pk, fresh.plan.hash(), roster, boxes, public)


def _keep(study: Study, witnesses: Witnesses, code_keys: bytes) -> bool:
    """Keep what the compensator has answered, unless another set of boxes is on its way."""
    with locked(study.pk) as fresh:
        if fresh.state not in LIVE or fresh.started_at != study.started_at:
            return False
        if not fresh.enrolled:
            for name, sealed in witnesses.sealed:
                Cohort.objects.filter(study=study, name=name).update(witness=sealed)
            Study.objects.filter(pk=study.pk).update(enrolled=True, code_keys=code_keys)
            note(study.pk, PLATFORM, "the sealed seeds are with the compensator")
    return True
