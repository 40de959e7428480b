"""Shares: on disk first, then the row, then the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Expression, OuterRef, QuerySet
from django.utils import timezone

from unpooled.errors import ProtocolError
from unpooled.protocol import masking
from unpooled.protocol.encrypted import carrier
from unpooled_server.bells import doorbell
from unpooled_server.errors import (
    Conflict,
    Missing,
    Refused,
    Unauthorized,
    Unavailable,
    is_full,
    no_room,
)
from unpooled_server.models import Cohort, Round, Share
from unpooled_server.names import RoundState
from unpooled_server.reads.prepared import Prepared
from unpooled_server.services.joining import require_admitted, require_not_over
from unpooled_server.services.transitions import touch
from unpooled_server.storage import store


class Awaited(NamedTuple):
    """Form that the share of a round must have."""

    scheme: str
    words: int
    circuit: str
    """Empty where the sums are read."""


def awaited(cohort: Cohort, round_id: int) -> Awaited | None:
    """Return what a round waits for from this cohort; None if its share is in already."""
    for scheme, words, circuit, state, is_answered, plan in _asked(cohort.pk, cohort.study_id, round_id):
        if is_answered:
            return None
        require_not_over(cohort.study)
        if state != RoundState.OPEN:
            raise Conflict("round-closed", f"Round {round_id} takes no shares any more.")
        cohort.study.plan_json = plan  # else it would be read when it is asked for
        return Awaited(scheme, words, circuit)
    require_not_over(cohort.study)
    raise Missing("no-such-round", f"This study has no round {round_id}.")


@Prepared
def _asked(cohort_id: Expression, study_id: Expression, round_id: Expression) -> QuerySet[Any, Any]:
    """Query what is asked in a round, whether it is open or answered by the cohort, and the study's plan."""
    answered = Exists(Share.objects.filter(round=OuterRef("pk"), cohort=cohort_id))
    found = Round.objects.filter(pk=round_id, study=study_id).annotate(answered=answered)
    return found.values_list("scheme", "words", "circuit", "state", "answered", "study__plan_json")


def share_bytes(cohort: Cohort, wanted: Awaited) -> int:
    """The exact length of a share, which follows from the question."""
    if cohort.study.is_encrypted:
        return carrier.upload_bytes(wanted.scheme, wanted.words)
    return wanted.words * masking.scheme(wanted.scheme).word_bytes


def keep(path: Path, blocks: Iterator[bytes], size: int, what: str) -> None:
    """Stream a share or a dealing to disk; store.OtherBytes if its name is of other bytes already."""
    try:
        store.keep_share(path, blocks, size)
    except store.OtherBytes:
        raise
    except ProtocolError as error:
        raise Refused("truncated", str(error), "Send it again.") from error
    except OSError as error:
        raise not_stored(what, error) from error


def not_stored(what: str, error: OSError) -> Refused:
    if is_full(error):
        return no_room()
    return Unavailable("disk", f"The {what} cannot be stored ({error.strerror}).", "Send it later.")


def commit(
    cohort: Cohort,
    round_id: int,
    nonce: str,
    blocks: Iterator[bytes],
    size: int,
    together: Callable[[], None] = lambda: None,
    *,
    keeps: bool = False,
) -> bool:
    """Store a share durably; whether it is this one that counts (False: another was there first).

    What else is to be written for the same request goes `together` into the share's transaction: every
    commit costs a flush of the disk.
    """
    # The bytes go first: a row without its bytes would be an acknowledged share that is lost.
    path = store.share_path(cohort.study_id, round_id, cohort.pk, nonce)
    try:
        keep(path, blocks, size, "share")
    except store.OtherBytes as error:
        raise Conflict("nonce-used", str(error), "Send it again under a fresh nonce.") from error
    try:
        with transaction.atomic():
            _enter(cohort, round_id, nonce, size, keeps)
            together()
    except Unauthorized:
        _drop_unless_committed(cohort, round_id, nonce)
        raise
    except IntegrityError:  # another upload of this cohort has the row, or the round is no longer open
        committed = _drop_unless_committed(cohort, round_id, nonce)
        if committed is None:
            raise Conflict("round-closed", "This round is asked again.") from None
        return False
    # A cohort that answers has got over what it last reported.
    if cohort.problem:
        Cohort.objects.filter(pk=cohort.pk).update(problem="", problem_name="", problem_at=None)
    return True


def _drop_unless_committed(cohort: Cohort, round_id: int, nonce: str) -> Share | None:
    """The cohort's share of a round, if there is one. Bytes under this nonce stay only if they are its."""
    committed = Share.objects.filter(round_id=round_id, cohort=cohort).first()
    if committed is None or committed.nonce != nonce:
        store.kept().delete([store.share_path(cohort.study_id, round_id, cohort.pk, nonce)])
    return committed


def _enter(cohort: Cohort, round_id: int, nonce: str, size: int, keeps: bool) -> None:
    # The lock makes concurrent shares of one round see each other, so that the last one completes it.
    if not _open_and_locked(round_id):
        raise IntegrityError
    require_admitted(cohort)
    Share.objects.create(
        study_id=cohort.study_id,
        round_id=round_id,
        cohort=cohort,
        nonce=nonce,
        size=size,
        keeps=keeps,
        is_whole=not cohort.study.is_encrypted,
    )
    # Counted, not added up: an upload that was repeated must not count twice.
    [(shares,)] = _shares(round_id)
    if shares == cohort.study.plan_json["cohorts"]:
        Round.objects.filter(pk=round_id, state=RoundState.OPEN).update(
            state=RoundState.COMPLETE, complete_at=timezone.now()
        )
        if cohort.study.is_encrypted:
            touch(cohort.study_id)  # cohorts wait for each other's shares
        else:
            doorbell.ring_round(round_id)


@Prepared
def _open_and_locked(round_id: Expression) -> QuerySet[Any, Any]:
    """The round, if it is open; until the transaction's end no other one gets it."""
    return Round.objects.select_for_update().filter(pk=round_id, state=RoundState.OPEN).values_list("pk")


@Prepared
def _shares(round_id: Expression) -> QuerySet[Any, Any]:
    """Query the number of shares of a round."""
    return Round.objects.filter(pk=round_id).values_list(Count("shares"))
