"""One round from complete to aggregated. Anybody may do each part again; the last UPDATE has one winner."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
from django.utils import timezone

from unpooled.asking import driver
from unpooled.asking import question as questions
from unpooled.asking.question import Question
from unpooled.errors import UnpooledError
from unpooled.methods import questions_of
from unpooled.protocol import codec, masking
from unpooled.protocol.messages import ReleaseRequest, Shown, Told
from unpooled_server import traces
from unpooled_server.compensator_client import Compensator, compensator
from unpooled_server.errors import OtherRelease
from unpooled_server.models import Asked, Branch, Round, Share, Study
from unpooled_server.names import LIVE, Phase, RoundState
from unpooled_server.services import branches, dealings, helping, masked, sessions
from unpooled_server.services.guarding import guarded
from unpooled_server.services.joining import locked
from unpooled_server.services.metering import compensator_meter
from unpooled_server.services.transitions import PLATFORM, fail, is_working, note, touch
from unpooled_server.storage import store

LOST = "masked bytes were lost after their release ({}); repeat the study"


def advance(round_id: int) -> None:
    """Carry a complete round as far as it goes now. Safe to call at any time, by any number of workers."""
    try:
        current = Round.objects.select_related("study", "branch").get(pk=round_id)
    except Round.DoesNotExist:
        return
    study = current.study
    if not is_working(study) or current.state not in (RoundState.COMPLETE, RoundState.RELEASED):
        return
    with traces.step("a round", study=study.pk, round=round_id), guarded(study, _title(current, study)):
        _advance(current, study)


def _advance(current: Round, study: Study) -> None:
    if study.is_encrypted and helping.are_missing(current):
        return
    shares = _mark_released(current, study) if current.state == RoundState.COMPLETE else _shares(current)
    if not shares:
        return
    peer = None if study.plan.in_pairs else compensator()
    began = time.monotonic()
    told: bytes | Shown
    try:
        if current.circuit and peer is not None:
            question, found, told = _bits(current, study, shares, peer)
        else:
            question, found, told = _sums(current, study, shares, peer)
    except store.LostFile as error:
        # Not if another worker has summed the round in the meantime, and deleted what is no longer needed.
        if Round.objects.filter(pk=current.pk, state=RoundState.RELEASED).exists():
            fail(study.pk, LOST.format(error))
        return
    branch, came = current.branch, [driver.sums_bytes(question, found)]
    del question, found  # they can be large, and what the branch does with them is, too
    if branch is None:
        raise OtherRelease("older than this one", branches.RELEASE)
    if branch.is_told:
        if isinstance(told, Shown):
            store.keep_bytes(store.shown_path(study.pk, branch.asks_at), codec.encode(told))
        total = came[0] if isinstance(told, Shown) else told
        pieces = codec.pieces(Told(current.pk, bytes(current.salt), total))
        current.told = store.keep_told(study.pk, branch.asks_at, pieces)
        del total, pieces
    del told
    place = branch.asked
    try:
        progress = branches.gone_on(study, branch.pk, bytes(branch.waits_for), came.pop())
    except branches.OvertakenError:
        return
    current.sum_seconds = time.monotonic() - began - current.release_seconds
    _conclude(current, study, branch, progress)
    masked.drop(current, shares)
    if branch.path == "" and all(share.keeps for share in shares):
        # Each cohort goes on from its state at this question, or at the one before if that one is lost.
        store.drop_told(study.pk, place - 1)


def _shares(current: Round) -> list[Share]:
    return list(Share.objects.filter(round=current).select_related("cohort"))


def _mark_released(current: Round, study: Study) -> list[Share]:
    """Record, before anything is asked of the compensator, that it may have been asked; the shares, if so.

    From the first such mark on the roster is final, and shares that get lost cannot be sent again.
    """
    with locked(study.pk) as fresh:
        # Under the lock nobody joins, accepts or changes the roster, and a study that has ended stays ended:
        # once the compensator was told to forget an aborted study, none of its seeds may reach it again.
        if not is_working(fresh):
            return []
        shares = _shares(current)
        # Encrypted ones are not needed any more, and what is lost of the helps is lost.
        needed = [] if study.is_encrypted else shares
        lost = [share for share in needed if not store.share_is_there(masked.path(share), share.size)]
        if current.circuit and not dealings.is_there(current):
            # Who deals does so before it answers: it is to do both again.
            dealer = dealings.dealer(study, current.pk)
            lost += [share for share in needed if share.cohort.name == dealer and share not in lost]
        if lost:
            _ask_again(current, lost)
            return []
        now = timezone.now()
        if Round.objects.filter(pk=current.pk, state=RoundState.COMPLETE).update(
            state=RoundState.RELEASED, released_at=now
        ):
            if study.enrolled_at is None:
                Study.objects.filter(pk=study.pk, enrolled_at=None).update(enrolled_at=now)
            return shares
    return shares if Round.objects.filter(pk=current.pk, state=RoundState.RELEASED).exists() else []


def _ask_again(current: Round, lost: Iterable[Share]) -> None:
    """Shares whose bytes are gone, of a round that was never released, are asked for once more."""
    if Round.objects.filter(pk=current.pk, state=RoundState.COMPLETE).update(
        state=RoundState.OPEN, complete_at=None
    ):
        for share in lost:
            share.delete()
            note(current.study_id, PLATFORM, f"asks {share.cohort.name} again: its share was lost on disk")
        touch(current.study_id)  # cohorts that wait for a question see it by that


def _sums(
    current: Round, study: Study, shares: Sequence[Share], peer: Compensator | None
) -> tuple[Question, dict[str, np.ndarray], bytes]:
    """The question of a round and its sums over all cohorts, also as the words that they were read from."""
    masks = _release(study, current, shares, peer) if peer else None  # those of pairs add up to nothing
    return _total(current, study, shares, masks)


def _release(study: Study, current: Round, shares: Iterable[Share], peer: Compensator) -> bytes:
    """The sum of the masks of exactly the committed uploads; the same request again gets the same answer."""
    request = ReleaseRequest(
        study.pk, current.pk, bytes(current.question), current.scheme, current.words, masked.uploads(shares)
    )
    began = time.monotonic()
    masks = peer.release(request, compensator_meter(study.pk, Phase.ROUNDS))
    current.release_seconds = time.monotonic() - began
    return masks


def _total(
    current: Round, study: Study, shares: Iterable[Share], masks: bytes | None
) -> tuple[Question, dict[str, np.ndarray], bytes]:
    """The same from the masks: masked shares added up, less the sum of their masks."""
    plan, scheme = study.plan, masking.scheme(current.scheme)
    question = masked.asked(current, plan)
    total = (helping if study.is_encrypted else masked).total(current, shares)
    if masks is not None:
        scheme.subtract_from(total, scheme.from_bytes(masks, current.words))
    del masks  # these can be long, as are the numbers that come now
    sums = questions.unpack(question, total, scheme, plan.cohorts, bytes(current.salt))
    return question, sums, scheme.to_bytes(total)


def _bits(
    current: Round, study: Study, shares: Sequence[Share], peer: Compensator
) -> tuple[Question, dict[str, np.ndarray], Shown]:
    """The question of a round, and on which side of their bounds its sums lie: nobody reads these."""
    meter = compensator_meter(study.pk, Phase.ROUNDS)
    found = sessions.compare(current, study, shares, peer, meter)
    current.release_seconds = sum(current.turn_seconds)
    return found


def _conclude(current: Round, study: Study, branch: Branch, progress: branches.Progress) -> None:
    """Store what follows from a round, if nobody else has."""
    with locked(study.pk) as fresh:
        # The lock makes rounds that end together see each other, so that the last one knows that it is.
        if fresh.state not in LIVE:
            return
        won = Round.objects.filter(pk=current.pk, state=RoundState.RELEASED).update(
            state=RoundState.AGGREGATED,
            aggregated_at=timezone.now(),
            release_seconds=current.release_seconds,
            sum_seconds=current.sum_seconds,
            told=current.told,
        )
        if not won:
            branches.forget(study, progress)
        else:
            asked = Asked.objects.filter(round=current)
            branches.drop_files(study, asked.values_list("file", flat=True))
            asked.delete()
            branches.store_next(study, branch, progress)


def _title(current: Round, study: Study) -> str:
    try:
        return next(kind.title for kind in questions_of(study.plan) if kind.name == current.step_name)
    except (StopIteration, UnpooledError):
        return current.step_name
