"""One round from complete to aggregated. Anybody may do each part again; the last UPDATE has one winner."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from django.db import transaction
from django.utils import timezone

from unpooled import step as steps
from unpooled.algorithms import algorithm
from unpooled.algorithms.presence import Presence
from unpooled.errors import ProtocolError, UnpooledError
from unpooled.plan import Plan
from unpooled.protocol import masking
from unpooled.protocol.messages import Enrolment, ReleaseRequest
from unpooled.protocol.sealing import Box
from unpooled.step import Rows, Step
from unpooled_server import doorbell, store
from unpooled_server.compensator_client import Compensator, compensator
from unpooled_server.models import Asked, Round, RowFile, Share, Study
from unpooled_server.names import LIVE, UNFINISHED, Phase, RoundState
from unpooled_server.services.guarding import guarded
from unpooled_server.services.joining import locked, roster_of
from unpooled_server.services.metering import compensator_meter
from unpooled_server.services.transitions import PLATFORM, fail, is_working, note, touch

LOST = "masked bytes were lost after their release ({}); duplicate the study"


def kinds(plan: Plan) -> Sequence[type[Step]]:
    """The steps that a study under this plan may ask."""
    return (*algorithm(plan.test).steps, Presence)


def open_rounds(study: Study, asked: Iterable[Step]) -> None:
    """Ask steps of all cohorts, inside the transaction that they follow from.

    BoundError if a sum could overflow.
    """
    plan = study.plan
    opened = [_round(study, plan, step) for step in asked]
    Round.objects.bulk_create(opened)
    Asked.objects.bulk_create(one.asked for one in opened)


def _round(study: Study, plan: Plan, step: Step) -> Round:
    scheme = plan.scheme(step.ring_bits)
    steps.check_fits(step, scheme, plan.cohorts)
    message, whole, salt = (
        steps.encode_for_cohorts(step),
        steps.encode(step),
        os.urandom(masking.SALT_BYTES),
    )
    opened = Round(
        study=study,
        step_name=step.name,
        turn=step.turn,
        salt=salt,
        question=masking.question(salt, message, bytes.fromhex(study.panel_digest)),
        scheme=scheme.label,
        words=steps.words(step, scheme),
    )
    opened.asked = Asked(round=opened, message=message, step=b"" if whole == message else whole)
    return opened


def advance(round_id: int) -> None:
    """Carry a complete round as far as it goes now. Safe to call at any time, by any number of workers."""
    try:
        current = Round.objects.select_related("study").get(pk=round_id)
    except Round.DoesNotExist:
        return
    study = current.study
    if not is_working(study) or current.state not in (RoundState.COMPLETE, RoundState.RELEASED):
        return
    with guarded(study, _title(current, study)):
        _advance(current, study)


def _advance(current: Round, study: Study) -> None:
    if current.state == RoundState.COMPLETE and not _mark_released(current, study):
        return
    shares = list(Share.objects.filter(round=current).select_related("cohort"))
    peer = compensator()
    if not study.enrolled:
        _enrol(study, peer)
    began = time.monotonic()
    masks = _release(study, current, shares, peer)
    current.release_seconds = time.monotonic() - began
    try:
        step, total = _total(current, study, shares, masks)
    except store.LostFile as error:
        # Unless another worker has summed the round meanwhile, and deleted what nobody needs any more.
        if Round.objects.filter(pk=current.pk, state=RoundState.RELEASED).exists():
            fail(study.pk, LOST.format(error))
        return
    outcomes = list(step.aggregate(total))
    current.sum_seconds = time.monotonic() - began - current.release_seconds
    _conclude(current, study, outcomes)
    for share in shares:
        _path(share).unlink(missing_ok=True)


def _mark_released(current: Round, study: Study) -> bool:
    """Record, before anything is asked of the compensator, that it may have been asked.

    From the first such mark on the roster is final, and shares that get lost cannot be sent again.
    """
    with transaction.atomic():
        # Under the lock nobody joins, accepts or fixes the roster anew, and a study that ended stays so: of
        # one that was aborted meanwhile no seed may come to the compensator after it was told to forget.
        if not is_working(locked(study.pk)):
            return False
        shares = Share.objects.filter(round=current)
        lost = [share for share in shares if not store.share_is_there(_path(share), share.size)]
        if lost:
            _ask_again(current, lost)
            return False
        now = timezone.now()
        if Round.objects.filter(pk=current.pk, state=RoundState.COMPLETE).update(
            state=RoundState.RELEASED, released_at=now
        ):
            if study.enrolled_at is None:
                Study.objects.filter(pk=study.pk, enrolled_at=None).update(enrolled_at=now)
            return True
    return Round.objects.filter(pk=current.pk, state=RoundState.RELEASED).exists()


def _ask_again(current: Round, lost: Iterable[Share]) -> None:
    """Shares whose bytes are gone, of a round that was never released, are asked for once more."""
    if Round.objects.filter(pk=current.pk, state=RoundState.COMPLETE).update(
        state=RoundState.OPEN, complete_at=None
    ):
        for share in lost:
            share.delete()
            note(current.study_id, PLATFORM, f"asks {share.cohort.name} again: its share was lost on disk")


def _enrol(study: Study, peer: Compensator) -> None:
    """Hand all boxes to the compensator, once, before the first release."""
    fresh = Study.objects.get(pk=study.pk)
    if fresh.enrolled:
        return
    roster, plan = roster_of(fresh), fresh.plan
    if roster is None:
        raise ProtocolError("the roster is not complete")
    boxes = tuple(
        Box(cohort.name, bytes(cohort.box_sealed), bytes(cohort.box_signature))
        for cohort in sorted(fresh.members(), key=lambda cohort: cohort.name)
    )
    peer.enrol(Enrolment(study.pk, plan.hash(), roster, boxes), compensator_meter(study.pk, Phase.JOINING))
    if Study.objects.filter(pk=study.pk, enrolled=False).update(enrolled=True):
        note(study.pk, PLATFORM, "the sealed seeds are with the compensator")


def _release(study: Study, current: Round, shares: Iterable[Share], peer: Compensator) -> bytes:
    """The sum of the masks of exactly the committed uploads; the same request again gets the same answer."""
    uploads = tuple(sorted((share.cohort.name, bytes.fromhex(share.nonce)) for share in shares))
    request = ReleaseRequest(
        study.pk, current.pk, bytes(current.question), current.scheme, current.words, uploads
    )
    return peer.release(request, compensator_meter(study.pk, Phase.ROUNDS))


def _total(
    current: Round, study: Study, shares: Iterable[Share], masks: bytes
) -> tuple[Step, dict[str, np.ndarray]]:
    """The step and the sums over all cohorts: masked shares added up, less the sum of their masks."""
    plan = study.plan
    asked = Asked.objects.filter(round=current).first()
    if asked is None:
        raise store.LostFile("what was asked is gone")
    step = steps.decode(bytes(asked.step) or bytes(asked.message), kinds(plan))
    scheme = masking.scheme(current.scheme)
    total = scheme.zeros(current.words)
    for share in shares:
        total = scheme.add(
            total, scheme.from_bytes(store.load_share(_path(share), share.size), current.words)
        )
    total = scheme.subtract(total, scheme.from_bytes(masks, current.words))
    return step, steps.unpack(step, total, scheme, plan.cohorts, bytes(current.salt))


def _conclude(current: Round, study: Study, outcomes: Iterable[Step | Rows]) -> None:
    """Store what follows from a round. Rows lie on disk before the transaction that names them."""
    rows: list[Rows] = []
    following: list[Step] = []
    for outcome in outcomes:
        if isinstance(outcome, Rows):
            rows.append(outcome)
        else:
            following.append(outcome)
    for number, part in enumerate(rows):
        store.keep_rows(store.rows_path(study.pk, current.pk, number), part.columns)
    with transaction.atomic():
        # The lock makes rounds that end together see each other, so that the last one knows that it is.
        if locked(study.pk).state not in LIVE:
            return
        won = Round.objects.filter(pk=current.pk, state=RoundState.RELEASED).update(
            state=RoundState.AGGREGATED,
            aggregated_at=timezone.now(),
            release_seconds=current.release_seconds,
            sum_seconds=current.sum_seconds,
        )
        if not won:
            return
        RowFile.objects.bulk_create(
            RowFile(study=study, round=current, number=number, table=part.table, columns=list(part.columns))
            for number, part in enumerate(rows)
        )
        Asked.objects.filter(round=current).delete()
        open_rounds(study, following)
        if not Round.objects.filter(study=study, state__in=UNFINISHED).exists():
            touch(study.pk, last_sum_at=timezone.now())
            doorbell.ring_study(study.pk)


def _path(share: Share) -> Path:
    return store.share_path(share.study_id, share.round_id, share.cohort_id, share.nonce)


def _title(current: Round, study: Study) -> str:
    try:
        return next(kind.title for kind in kinds(study.plan) if kind.name == current.step_name)
    except (StopIteration, UnpooledError):
        return current.step_name
